// SPDX-License-Identifier: Apache-2.0
// The format and the layout of arrays, whatever library they come from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <syclamp/element_type.hpp>

namespace syclamp::python {

/// The format of elements whose bits are a floating-point number, or an integer that stands for one.
/// \param stored      the floating-point format that the array's library names; nothing: there is none
/// \param bits        bits of an element
/// \param is_integer  true if the elements are unsigned integers
/// \param found       the array's dtype, for messages
/// \param argument    name of the argument, for messages
/// \param wanted      the format that the caller names
/// \throws invalid_argument if the format is not supported, or is another one than `wanted`
element_type resolve_type(std::optional<element_type> stored, unsigned bits, bool is_integer, const std::string& found,
                          const std::string& argument, std::optional<element_type> wanted);

/// The number of elements.
/// \throws invalid_argument if the array is not row-major without gaps
std::uint64_t count_contiguous(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides,
                               const std::string& argument);

}  // namespace syclamp::python
