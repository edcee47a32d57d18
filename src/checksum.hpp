// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace syclamp {

/// FNV-1a. Guards against accidents, not against malice; a single changed byte always changes it.
constexpr std::uint64_t checksum(std::string_view bytes) {
  std::uint64_t value = 0xcbf29ce484222325u;
  for (const char byte : bytes) value = (value ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
  return value;
}

}  // namespace syclamp
