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

/// A view of elements in USM memory that an operation may write: a pointer, a count and an element type. It does not
/// own the memory.
///
/// The pointer must be aligned to one element. On GPUs, memory aligned to 64 bytes is fastest.
class array_view {
 public:
  /// An empty view.
  array_view() = default;

  /// A view of `count` elements of `type` at `data`. Use it if the C++ type does not name the format (`uint16_t`,
  /// `void`).
  array_view(void* data, std::uint64_t count, element_type type) : data_(data), count_(count), type_(type) {}

  /// A view of `count` elements at `data`. The pointer's type names the format.
  array_view(float* data, std::uint64_t count) : array_view(data, count, element_type::float32) {}
  /// \overload
  array_view(sycl::half* data, std::uint64_t count) : array_view(data, count, element_type::float16) {}
#if defined(SYCL_EXT_ONEAPI_BFLOAT16_MATH_FUNCTIONS)  // a DPC++ extension; elsewhere name the type
  /// \overload
  array_view(sycl::ext::oneapi::bfloat16* data, std::uint64_t count)
      : array_view(data, count, element_type::bfloat16) {}
#endif

  void* data() const { return data_; }            ///< address of the first element; may be null
  std::uint64_t count() const { return count_; }  ///< number of elements
  element_type type() const { return type_; }     ///< storage format of the elements

 private:
  void* data_ = nullptr;
  std::uint64_t count_ = 0;
  element_type type_ = element_type::float32;
};

/// A view of elements in USM memory that an operation only reads. It does not own the memory.
class const_array_view {
 public:
  /// An empty view.
  const_array_view() = default;

  /// A view of `count` elements of `type` at `data`.
  const_array_view(const void* data, std::uint64_t count, element_type type)
      : data_(data), count_(count), type_(type) {}

  /// A view of `count` elements at `data`. The pointer's type names the format.
  const_array_view(const float* data, std::uint64_t count) : const_array_view(data, count, element_type::float32) {}
  /// \overload
  const_array_view(const sycl::half* data, std::uint64_t count)
      : const_array_view(data, count, element_type::float16) {}
#if defined(SYCL_EXT_ONEAPI_BFLOAT16_MATH_FUNCTIONS)  // a DPC++ extension; elsewhere name the type
  /// \overload
  const_array_view(const sycl::ext::oneapi::bfloat16* data, std::uint64_t count)
      : const_array_view(data, count, element_type::bfloat16) {}
#endif

  /// Converts a writable view, or anything that converts to one, such as a `device_array`.
  template <typename View>
    requires(!std::same_as<View, const_array_view> && std::convertible_to<const View&, array_view>)
  const_array_view(const View& view)  // NOLINT(google-explicit-constructor)
      : const_array_view(static_cast<const array_view&>(view)) {}
  const_array_view(const array_view& view)  // NOLINT(google-explicit-constructor)
      : const_array_view(view.data(), view.count(), view.type()) {}

  const void* data() const { return data_; }      ///< address of the first element; may be null
  std::uint64_t count() const { return count_; }  ///< number of elements
  element_type type() const { return type_; }     ///< storage format of the elements

 private:
  const void* data_ = nullptr;
  std::uint64_t count_ = 0;
  element_type type_ = element_type::float32;
};

}  // namespace SYCLAMP_NAMESPACE
