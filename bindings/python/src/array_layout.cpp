// SPDX-License-Identifier: Apache-2.0
#include "array_layout.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <syclamp/error.hpp>

namespace syclamp::python {

element_type resolve_type(std::optional<element_type> stored, unsigned bits, bool is_integer, const std::string& found,
                          const std::string& argument, std::optional<element_type> wanted) {
  if (stored && (!wanted || *wanted == *stored)) return *stored;
  if (stored)
    throw invalid_argument(fmt::format("{}: the array's dtype is {}, but dtype says {}; leave dtype out", argument,
                                       found, to_string(*wanted)));
  if (is_integer && wanted && bytes_per_element(*wanted) * 8 == bits) return *wanted;
  if (is_integer && (bits == 16 || bits == 8))
    throw invalid_argument(fmt::format(
        "{}: the array's dtype is {}; if its elements are {} numbers, pass syclamp.Array(array, dtype=\"{}\")",
        argument, found, bits == 16 ? "BF16" : "FP8", bits == 16 ? "bfloat16" : "float8_e4m3"));
  throw invalid_argument(fmt::format(
      "{}: the dtype {} is not supported; use float16, bfloat16, float32, float64, float8_e4m3 or float8_e5m2",
      argument, found));
}

std::uint64_t count_contiguous(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides,
                               const std::string& argument) {
  std::uint64_t count = 1;
  for (const std::int64_t length : shape) count *= static_cast<std::uint64_t>(length);
  if (strides.empty() || count <= 1) return count;
  std::int64_t expected = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] != 1 && strides[axis] != expected)
      throw invalid_argument(fmt::format(
          "{}: the array is not contiguous (shape {}, strides {} in elements); pass a contiguous array, for "
          "example numpy.ascontiguousarray(array) or tensor.contiguous()",
          argument, shape, strides));
    expected *= shape[axis];
  }
  return count;
}

}  // namespace syclamp::python
