// SPDX-License-Identifier: Apache-2.0
/// \file
/// The address of a tensor, with the format of its elements.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include <sycl/sycl.hpp>

#include <syclamp/array_view.hpp>
#include <syclamp/element_type.hpp>
#include <syclamp/export.hpp>

namespace SYCLAMP_NAMESPACE {

/// The address of a tensor's elements, their format, and whether they may be written. It does not own the memory. A
/// null address means that the tensor is absent.
///
/// Make it from a pointer whose type names the format, from a pointer and a format, or from a view or a `device_array`.
/// A pointer to const makes a read-only tensor, which can only be an input.
class element_pointer {
 public:
  /// Elements of `type` at `address` that may be written.
  element_pointer(void* address, element_type type) : address_(address), type_(type), writable_(address) {}
  /// Read-only elements of `type` at `address`.
  element_pointer(const void* address, element_type type) : address_(address), type_(type), is_read_only_(true) {}
  /// An absent tensor of `type`.
  element_pointer(std::nullptr_t, element_type type) : element_pointer(static_cast<void*>(nullptr), type) {}

  // NOLINTBEGIN(google-explicit-constructor): a pointer is used where this is
  /// Elements at `address`. The pointer's type names the format.
  element_pointer(float* address) : element_pointer(address, element_type::float32) {}
  /// \overload
  element_pointer(const float* address) : element_pointer(address, element_type::float32) {}
  /// \overload
  element_pointer(sycl::half* address) : element_pointer(address, element_type::float16) {}
  /// \overload
  element_pointer(const sycl::half* address) : element_pointer(address, element_type::float16) {}
#if defined(SYCL_EXT_ONEAPI_BFLOAT16_MATH_FUNCTIONS)  // a DPC++ extension; elsewhere name the type
  /// \overload
  element_pointer(sycl::ext::oneapi::bfloat16* address) : element_pointer(address, element_type::bfloat16) {}
  /// \overload
  element_pointer(const sycl::ext::oneapi::bfloat16* address) : element_pointer(address, element_type::bfloat16) {}
#endif

  /// The elements of a view. Keeps the number of elements.
  template <typename View>
    requires(!std::same_as<View, element_pointer> && std::convertible_to<const View&, const_array_view>)
  element_pointer(const View& view) : element_pointer(from_view(view)) {}
  // NOLINTEND(google-explicit-constructor)

  const void* address() const { return address_; }      ///< null if the tensor is absent
  void* writable_address() const { return writable_; }  ///< null if the elements are read-only
  element_type type() const { return type_; }           ///< storage format of the elements
  bool is_read_only() const { return is_read_only_; }   ///< true if made from a pointer to const
  std::uint64_t count() const { return count_; }        ///< number of elements of the view; 0 if made from a pointer

 private:
  template <typename View>
  static element_pointer from_view(const View& view) {
    if constexpr (std::convertible_to<const View&, array_view>) {
      const array_view elements = view;
      element_pointer pointer(elements.data(), elements.type());
      pointer.count_ = elements.count();
      return pointer;
    } else {
      const const_array_view elements = view;
      element_pointer pointer(elements.data(), elements.type());
      pointer.count_ = elements.count();
      return pointer;
    }
  }

  const void* address_;
  element_type type_;
  void* writable_ = nullptr;
  bool is_read_only_ = false;
  std::uint64_t count_ = 0;
};

}  // namespace SYCLAMP_NAMESPACE
