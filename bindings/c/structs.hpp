// SPDX-License-Identifier: Apache-2.0
/// \file
/// Structs of the C interface begin with their size, so that they can grow. A program that was compiled with an older
/// header passes a smaller struct: the fields that it lacks are 0.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include <fmt/format.h>

#include "bindings/c/calls.hpp"
#include "syclamp/c/engine.h"
#include "syclamp/error.hpp"

namespace syclamp::c {

/// The size that a struct had in the first version of the C interface. Specialise it for a struct that has grown.
template <typename Struct>
inline constexpr std::size_t first_size = sizeof(Struct);

template <>
inline constexpr std::size_t first_size<syclamp_device_info> = offsetof(syclamp_device_info, platform);

/// Checks the size of a caller's struct, and returns it. Nothing but the size has been read then.
template <typename Struct>
std::size_t checked_size(const Struct* given, const char* argument) {
  static_assert(std::is_trivially_copyable_v<Struct> && std::is_standard_layout_v<Struct>);
  static_assert(offsetof(Struct, struct_size) == 0);
  need(given, argument);
  const std::size_t size = given->struct_size;
  if (size < first_size<Struct> || size > sizeof(Struct))
    throw invalid_argument(
        fmt::format("{}: its struct_size is {}, but this library knows sizes from {} to {}; set it to sizeof the "
                    "struct, and do not "
                    "use a header that is newer than the library",
                    argument, size, first_size<Struct>, sizeof(Struct)));
  return size;
}

/// The size of the elements of a caller's array for results; 0: the caller wants none.
template <typename Struct>
std::size_t result_size(const Struct* results, std::size_t capacity, const char* argument) {
  return results == nullptr || capacity == 0 ? 0 : checked_size(results, argument);
}

/// Copies a caller's struct. Fields that it does not have are 0.
template <typename Struct>
Struct read_struct(const Struct* given, const char* argument) {
  const std::size_t size = checked_size(given, argument);
  Struct copy{};
  std::memcpy(&copy, given, size);
  return copy;
}

/// The same for options, which may be null.
template <typename Struct>
Struct read_options(const Struct* given, const char* argument) {
  return given == nullptr ? Struct{} : read_struct(given, argument);
}

/// Writes the fields that a caller's struct has, without its size.
template <typename Struct>
void write_struct(Struct* given, const Struct& values, std::size_t size) {
  constexpr std::size_t begin = sizeof(std::size_t);
  std::memcpy(reinterpret_cast<std::byte*>(given) + begin, reinterpret_cast<const std::byte*>(&values) + begin,
              size - begin);
  given->struct_size = size;
}

/// Element `index` of a caller's array of structs, whose elements have the size of the first one.
template <typename Struct>
auto* element(Struct* array, std::size_t index, std::size_t size) {
  using byte = std::conditional_t<std::is_const_v<Struct>, const std::byte, std::byte>;
  return reinterpret_cast<Struct*>(reinterpret_cast<byte*>(array) + index * size);
}

/// Copies element `index` of a caller's array.
template <typename Struct>
Struct read_element(const Struct* array, std::size_t index, std::size_t size, const char* argument) {
  const Struct copy = read_struct(element(array, index, size), argument);
  if (copy.struct_size != size)
    throw invalid_argument(
        fmt::format("{}[{}]: its struct_size is {}, but that of the first element is {}; set all to "
                    "sizeof the struct",
                    argument, index, copy.struct_size, size));
  return copy;
}

/// Refuses a field that is kept for later versions and is not 0.
template <typename Number>
void need_zero(Number reserved, const char* field) {
  if (reserved != 0)
    throw invalid_argument(
        fmt::format("{} is {}; set it to 0: this kind or version does not have it", field, reserved));
}

/// An enumeration value of the caller.
/// \param last  the last value of the enumeration
template <typename Enumeration>
Enumeration checked_enumeration(std::int32_t value, Enumeration last, const char* name) {
  if (value < 0 || value > static_cast<std::int32_t>(last))
    throw invalid_argument(
        fmt::format("{} is {}; it must be from 0 to {}", name, value, static_cast<std::int32_t>(last)));
  return static_cast<Enumeration>(value);
}

/// Copies a text into an array of a struct, cut to fit without cutting a character of UTF-8 in two.
template <std::size_t Size>
void copy_text(char (&target)[Size], std::string_view text) {
  std::size_t length = std::min(text.size(), Size - 1);
  if (length < text.size())
    while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xc0u) == 0x80u) --length;
  std::memcpy(target, text.data(), length);
  std::memset(target + length, 0, Size - length);
}

}  // namespace syclamp::c
