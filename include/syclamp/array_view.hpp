// SPDX-License-Identifier: Apache-2.0
/// \file
/// A typed look at somebody else's device memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sycl/sycl.hpp>

#include <syclamp/element_type.hpp>
#include <syclamp/export.hpp>

namespace SYCLAMP_NAMESPACE {

/// Elements in USM memory that the caller owns: a pointer, how many, and how they are stored.
///
/// The pointer needs no more than the alignment of one element. Memory aligned to 64 bytes is read fastest on GPUs.
class array_view {
 public:
  /// No elements.
  array_view() = default;

  /// `count` elements of `type` at `data`. The way for data whose C++ type does not say what it is (`uint16_t`,
  /// `void`).
  array_view(const void* data, std::uint64_t count, element_type type) : data_(data), count_(count), type_(type) {}

  array_view(const float* data, std::uint64_t count) : array_view(data, count, element_type::float32) {}
  array_view(const sycl::half* data, std::uint64_t count) : array_view(data, count, element_type::float16) {}
#if defined(SYCL_EXT_ONEAPI_BFLOAT16_MATH_FUNCTIONS)  // a DPC++ extension; elsewhere name the type
  array_view(const sycl::ext::oneapi::bfloat16* data, std::uint64_t count)
      : array_view(data, count, element_type::bfloat16) {}
#endif

  const void* data() const { return data_; }
  std::uint64_t count() const { return count_; }
  element_type type() const { return type_; }

 private:
  const void* data_ = nullptr;
  std::uint64_t count_ = 0;
  element_type type_ = element_type::float32;
};

}  // namespace SYCLAMP_NAMESPACE
