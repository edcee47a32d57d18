// SPDX-License-Identifier: Apache-2.0
// A kernel that is ready to run: calls inlined, registers numbered, every instruction with the function that executes
// it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/emulator/parser.hpp"

namespace emulator {

class warp;
struct instruction;

inline constexpr std::uint32_t warp_size = 32;
using lane_mask = std::uint32_t;  ///< bit i: lane i
/// Executes an instruction for the lanes of the mask.
using executor = void (*)(warp&, const instruction&, lane_mask);

enum class memory_space : std::uint8_t { generic, global, shared, local, kernel_parameter };
enum class memory_order : std::uint8_t { plain, relaxed, acquire, release, acq_rel };
enum class matrix_layout : std::uint8_t { row, column };

/// Addresses of shared and local memory as generic addresses. No allocation of the host lies there.
inline constexpr std::uint64_t shared_window = std::uint64_t{1} << 60, local_window = std::uint64_t{1} << 61;

struct instruction {
  enum class kind : std::uint8_t { plain, branch, indexed_branch, barrier, shuffle, exit };
  kind what = kind::plain;
  /// What becomes of operands that have no value. Compilers move them around and pack them beside others, as long as
  /// nothing is computed from them.
  enum class unset_flow : std::uint8_t { fault, copied, selected, packed, unpacked };
  unset_flow unset = unset_flow::fault;
  executor run = nullptr;
  std::vector<std::uint32_t> reads, writes;  ///< registers; constants are registers, too
  std::uint32_t guard = 0;                   ///< 0: none
  bool is_guard_negated = false;
  std::vector<std::uint32_t> targets;  ///< of a branch

  // Of an instruction that accesses memory.
  memory_space space = memory_space::generic;
  memory_order order = memory_order::plain;
  bool is_group_scope = false;  ///< orders work-items of its own group only
  bool is_sign_extended = false;
  std::uint8_t bytes = 0, count = 0;  ///< of each element; elements
  std::int64_t offset = 0;
  matrix_layout layout = matrix_layout::row;

  int line = 0;  ///< in the PTX
};

enum class special_register { local_id, group_size, group_id, groups, lane, zero, one };

struct program {
  std::string name;
  std::vector<instruction> code;
  std::uint32_t registers = 1;  ///< register 0 is nobody's
  std::vector<std::pair<std::uint32_t, std::uint64_t>> constants;
  std::vector<std::pair<std::uint32_t, special_register>> specials;
  std::uint32_t shared_bytes = 0, local_bytes = 0;
  std::vector<std::uint32_t> parameter_offsets, parameter_sizes;
  std::uint32_t parameter_bytes = 0;
};

/// \throws unsupported
program decode(const module& from, std::string_view entry);

/// The function for an instruction that computes, by its whole name (`add.s32`); null if there is none.
executor find_arithmetic(std::string_view name);

// Functions for the instructions that access memory.
void pack(warp& self, const instruction& what, lane_mask active);    ///< `bytes` of each register that is read
void unpack(warp& self, const instruction& what, lane_mask active);  ///< `bytes` for each register that is written
void load(warp& self, const instruction& what, lane_mask active);
void load_parameter(warp& self, const instruction& what, lane_mask active);
void store(warp& self, const instruction& what, lane_mask active);
void fence(warp& self, const instruction& what, lane_mask active);
executor find_atomic(std::string_view operation, std::string_view type);
executor find_matrix(std::string_view name);
executor find_shuffle(std::string_view name);

}  // namespace emulator
