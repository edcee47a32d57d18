// SPDX-License-Identifier: Apache-2.0
// Integers of files: their lowest byte first, on every machine.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>

#include "syclamp/export.hpp"

namespace SYCLAMP_NAMESPACE {

template <std::unsigned_integral Integer>
void append_integer(std::string& to, Integer value) {
  for (std::size_t i = 0; i < sizeof value; ++i) to += static_cast<char>(value >> (8 * i) & 0xffu);
}

/// From the `sizeof(Integer)` bytes that begin at `from`.
template <std::unsigned_integral Integer>
Integer integer_at(const char* from) {
  Integer value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i)
    value |= static_cast<Integer>(static_cast<unsigned char>(from[i])) << (8 * i);
  return value;
}

}  // namespace SYCLAMP_NAMESPACE
