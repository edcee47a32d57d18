// SPDX-License-Identifier: Apache-2.0
// Arrays with DLPack.
#pragma once

#include <optional>
#include <string>

#include <nanobind/nanobind.h>

#include "arrays.hpp"

namespace syclamp::python {

/// Imports an array by the table of functions of its type; nothing if the type has none that is understood.
std::optional<imported_array> from_exchange_table(nanobind::handle object, const std::string& argument,
                                                  std::optional<element_type> wanted);

/// Imports an array by its method `__dlpack__`; nothing if it has none.
std::optional<imported_array> from_dlpack(nanobind::handle object, const std::string& argument,
                                          std::optional<element_type> wanted);

}  // namespace syclamp::python
