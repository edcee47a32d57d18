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

/// An atomic update reads and writes.
enum class access_kind : std::uint8_t { read, write, atomic_read, atomic_write, atomic_update };

constexpr bool is_atomic(access_kind kind) { return kind != access_kind::read && kind != access_kind::write; }
constexpr bool only_reads(access_kind kind) { return kind == access_kind::read || kind == access_kind::atomic_read; }
constexpr bool only_writes(access_kind kind) { return kind == access_kind::write || kind == access_kind::atomic_write; }

/// What of an access decides whether it conflicts with others.
struct access {
  access_kind kind;
  bool is_group_scope = false;  ///< of an atomic access: it is atomic for its own work-group only
};

/// Who of a work-group has accessed a byte: the last item, and the latest time at which another one did. Time 0: never.
struct group_accesses {
  stamp last;
  std::uint32_t others_time = 0;
};
using access_list = std::vector<group_accesses>;

/// The atomic accesses to a byte since the last plain write. An atomic access may conflict with any of them, because
/// atomic accesses do not order each other.
struct atomic_accesses {
  access_list reads[2], writes[2];  // of device scope, of group scope
};

/// The accesses to one byte. The numbers of lists are 1 + their place among all lists, or 0: there is none.
struct byte_log {
  stamp written;  // by the last plain write; time 0: never
  group_accesses read;
  std::uint32_t more_readers = 0;
  std::uint32_t atomics = 0;
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
  bool note(std::uint64_t address, std::uint32_t bytes, access now, const group_clock& clock, std::uint32_t item,
            conflict& found);
  void clear();

 private:
  static constexpr std::uint64_t page_bytes = 4096;
  using page = std::array<byte_log, page_bytes>;

  bool check(byte_log& log, access now, const group_clock& clock, std::uint32_t item, conflict& found);
  void note_reader(byte_log& log, stamp now, const group_clock& clock);
  page& page_of(std::uint64_t address);

  std::unordered_map<std::uint64_t, std::unique_ptr<page>> pages_;
  std::vector<std::unique_ptr<page>> spare_;
  std::uint64_t last_number_ = ~std::uint64_t{0};
  page* last_ = nullptr;
  std::vector<access_list> readers_;
  std::vector<atomic_accesses> atomics_;
};

}  // namespace emulator
