// SPDX-License-Identifier: Apache-2.0
// Who accessed each byte of memory last, and whether two accesses that nothing orders touch the same byte.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "tools/emulator/happens_before.hpp"

namespace emulator {

enum class access_kind : std::uint8_t { read, write, atomic };

/// Who of a work-group has read a byte: the last reader, and the latest time at which another one did. Time 0: never.
struct group_readers {
  stamp last;
  std::uint32_t others_time = 0;
};

/// The accesses to one byte.
struct byte_log {
  stamp written;  // time 0: never
  group_readers read;
  std::uint32_t more_readers = 0;  // of other groups: 1 + the place in the list of lists
  bool is_atomic = false;          // the last write was
};

/// A pair of accesses that conflict.
struct conflict {
  std::uint64_t address;
  std::uint32_t other_item;
  bool other_wrote;
};

/// Notes accesses, a page of bytes at a time, for as long as a kernel runs or a group lives.
class access_log {
 public:
  /// Notes an access. Returns true, and fills `found`, if it conflicts with an earlier one.
  bool note(std::uint64_t address, std::uint32_t bytes, access_kind kind, const group_clock& clock, std::uint32_t item,
            conflict& found);
  void clear();

 private:
  static constexpr std::uint64_t page_bytes = 4096;
  using page = std::array<byte_log, page_bytes>;

  bool check(byte_log& log, access_kind kind, const group_clock& clock, std::uint32_t item, conflict& found);
  void note_reader(byte_log& log, stamp now, const group_clock& clock);
  page& page_of(std::uint64_t address);

  std::unordered_map<std::uint64_t, std::unique_ptr<page>> pages_;
  std::vector<std::unique_ptr<page>> spare_;
  std::uint64_t last_number_ = ~std::uint64_t{0};
  page* last_ = nullptr;
  std::vector<std::vector<group_readers>> readers_;
};

}  // namespace emulator
