// SPDX-License-Identifier: Apache-2.0
/// \file
/// Typed views of device memory that the caller owns.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include <sycl/sycl.hpp>

#include <syclamp/element_type.hpp>
#include <syclamp/export.hpp>

namespace SYCLAMP_NAMESPACE {

/// Elements in USM memory that an operation may write: a pointer, their number, and how they are stored.
///
/// The pointer needs no more than the alignment of one element. Memory aligned to 64 bytes is read fastest on GPUs.
class array_view {
 public:
  /// No elements.
  array_view() = default;

  /// `count` elements of `type` at `data`. For data whose C++ type does not name the format (`uint16_t`, `void`).
  array_view(void* data, std::uint64_t count, element_type type) : data_(data), count_(count), type_(type) {}

  array_view(float* data, std::uint64_t count) : array_view(data, count, element_type::float32) {}
  array_view(sycl::half* data, std::uint64_t count) : array_view(data, count, element_type::float16) {}
#if defined(SYCL_EXT_ONEAPI_BFLOAT16_MATH_FUNCTIONS)  // a DPC++ extension; elsewhere name the type
  array_view(sycl::ext::oneapi::bfloat16* data, std::uint64_t count)
      : array_view(data, count, element_type::bfloat16) {}
#endif

  void* data() const { return data_; }
  std::uint64_t count() const { return count_; }
  element_type type() const { return type_; }

 private:
  void* data_ = nullptr;
  std::uint64_t count_ = 0;
  element_type type_ = element_type::float32;
};

/// As `array_view`, for elements that an operation only reads.
class const_array_view {
 public:
  /// No elements.
  const_array_view() = default;

  const_array_view(const void* data, std::uint64_t count, element_type type)
      : data_(data), count_(count), type_(type) {}

  const_array_view(const float* data, std::uint64_t count) : const_array_view(data, count, element_type::float32) {}
  const_array_view(const sycl::half* data, std::uint64_t count)
      : const_array_view(data, count, element_type::float16) {}
#if defined(SYCL_EXT_ONEAPI_BFLOAT16_MATH_FUNCTIONS)  // a DPC++ extension; elsewhere name the type
  const_array_view(const sycl::ext::oneapi::bfloat16* data, std::uint64_t count)
      : const_array_view(data, count, element_type::bfloat16) {}
#endif

  /// Whatever may be written may be read. A template, so that a `device_array` converts in one step, too.
  template <typename View>
    requires(!std::same_as<View, const_array_view> && std::convertible_to<const View&, array_view>)
  const_array_view(const View& view)  // NOLINT(google-explicit-constructor)
      : const_array_view(static_cast<const array_view&>(view)) {}
  const_array_view(const array_view& view)  // NOLINT(google-explicit-constructor)
      : const_array_view(view.data(), view.count(), view.type()) {}

  const void* data() const { return data_; }
  std::uint64_t count() const { return count_; }
  element_type type() const { return type_; }

 private:
  const void* data_ = nullptr;
  std::uint64_t count_ = 0;
  element_type type_ = element_type::float32;
};

}  // namespace SYCLAMP_NAMESPACE
