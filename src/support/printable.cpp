// SPDX-License-Identifier: Apache-2.0
#include "support/printable.hpp"

#include <cstdint>

#include <fmt/format.h>

namespace SYCLAMP_NAMESPACE {
namespace {

constexpr std::uint32_t no_character = 0xffffffff;

/// The character that a text begins with, and its length in bytes; `no_character` if that is no UTF-8.
std::uint32_t first_character(std::string_view text, std::size_t& length) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  length = 1;
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return lead;
  const std::size_t needed = lead >= 0xf0 && lead < 0xf5   ? 4
                             : lead >= 0xe0 && lead < 0xf0 ? 3
                             : lead >= 0xc2 && lead < 0xe0 ? 2
                                                           : 0;
  if (needed == 0 || text.size() < needed) return no_character;
  std::uint32_t value = lead & (0xffu >> (needed + 1));
  for (std::size_t i = 1; i < needed; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return no_character;
    value = value << 6 | (byte(i) & 0x3f);
  }
  constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < least[needed] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) return no_character;
  length = needed;
  return value;
}

bool is_command(std::uint32_t character) {
  const auto lies_in = [&](std::uint32_t first, std::uint32_t last) { return character >= first && character <= last; };
  return character < 0x20 || lies_in(0x7f, 0x9f) || lies_in(0x200e, 0x200f) || lies_in(0x2028, 0x202e) ||
         lies_in(0x2066, 0x2069);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    std::size_t length = 0;
    const std::uint32_t character = first_character(text, length);
    if (character == no_character) {
      safe += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    } else if (character == '\n') {
      safe += "\\n";
    } else if (is_command(character)) {
      safe += character < 0x100 ? fmt::format("\\x{:02x}", character) : fmt::format("\\u{:04x}", character);
    } else {
      safe += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return safe;
}

}  // namespace SYCLAMP_NAMESPACE
