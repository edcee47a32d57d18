// SPDX-License-Identifier: Apache-2.0
// Values of enumerations by their names in Python.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include <syclamp/cast.hpp>
#include <syclamp/clip_result.hpp>
#include <syclamp/error.hpp>

namespace syclamp::python {

/// The value with the name `wanted`.
/// \throws invalid_argument that names the argument and lists the names
template <typename Value>
Value value_named(const char* argument, std::string_view wanted,
                  std::initializer_list<std::pair<std::string_view, Value>> values) {
  std::string names;
  for (const auto& [name, value] : values) {
    if (name == wanted) return value;
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  throw invalid_argument(std::string(argument) + ": \"" + std::string(wanted) + "\" is not one of " + names);
}

inline norm_kind norm_named(std::string_view name) {
  return value_named<norm_kind>("norm", name,
                                {{"l2", norm_kind::l2}, {"l1", norm_kind::l1}, {"inf", norm_kind::l_infinity}});
}

inline rounding rounding_named(std::string_view name) {
  return value_named<rounding>("rounding", name,
                               {{"nearest", rounding::to_nearest}, {"stochastic", rounding::stochastic}});
}

}  // namespace syclamp::python
