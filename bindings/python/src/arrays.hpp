// SPDX-License-Identifier: Apache-2.0
// Arrays of Python's array libraries, imported without a copy.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nanobind/nanobind.h>

#include <syclamp/array_view.hpp>
#include <syclamp/element_type.hpp>
#include <syclamp/tensor_list.hpp>

#include "engine.hpp"

namespace syclamp::python {

/// An array of another library: its address and format, and a reference that keeps the memory alive.
struct imported_array {
  void* address = nullptr;
  std::uint64_t count = 0;
  element_type type = element_type::float32;
  bool is_read_only = false;
  bool is_host = false;  ///< memory of `malloc`, not of SYCL
  std::vector<std::int64_t> shape = {};
  std::shared_ptr<void> owner = {};
  std::optional<sycl::queue> queue = {};  ///< of device memory: the queue of its library, if the library tells it

  element_pointer pointer() const;
  array_view view() const { return {address, count, type}; }
};

/// Imports an array: an `Array`, or any object with DLPack, `__sycl_usm_array_interface__` or the buffer protocol.
/// \param object    the array
/// \param argument  name of the argument, for messages
/// \param type      the format of integers that stand for floating-point numbers, such as BF16 as uint16
/// \throws nb::type_error or invalid_argument that names the argument
imported_array import_array(nanobind::handle object, const std::string& argument,
                            std::optional<element_type> type = {});

/// The element type with a name such as "bfloat16".
/// \throws invalid_argument that lists the names
element_type element_type_from(std::string_view name);

/// Checks that the engine's device can use the array's memory, in order with the commands of the array's library.
/// \throws invalid_argument that names the argument
void check_memory(const engine_handle& engine, const imported_array& array, const std::string& argument);

/// A reference to a Python object that may be dropped by any thread.
std::shared_ptr<void> keep(nanobind::handle object);

/// Checks that the array may be written.
/// \throws invalid_argument that names the argument
void check_writable(const imported_array& array, const std::string& argument);

}  // namespace syclamp::python
