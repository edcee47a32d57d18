// SPDX-License-Identifier: Apache-2.0
// Arrays with the buffer protocol, and arrays that a dictionary describes.
#pragma once

#include <optional>
#include <string>

#include <nanobind/nanobind.h>

#include "arrays.hpp"

namespace syclamp::python {

/// Imports an array by the buffer protocol; nothing if it has no buffer.
std::optional<imported_array> from_buffer(nanobind::handle object, const std::string& argument,
                                          std::optional<element_type> wanted);

/// Imports an array by `__sycl_usm_array_interface__`; nothing if it has none.
std::optional<imported_array> from_usm_interface(nanobind::handle object, const std::string& argument,
                                                 std::optional<element_type> wanted);

/// Imports an array with a dtype of ml_dtypes by `__array_interface__`; nothing if it has another dtype.
std::optional<imported_array> from_array_interface(nanobind::handle object, const std::string& argument,
                                                   std::optional<element_type> wanted);

}  // namespace syclamp::python
