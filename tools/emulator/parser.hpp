// SPDX-License-Identifier: Apache-2.0
// PTX as text → functions with their statements. Nothing is known here of what an instruction does.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace emulator {

/// A parameter, a result, or an array in shared or local memory.
struct variable {
  std::string name;
  std::uint32_t bytes = 0, alignment = 1;
};

struct statement {
  enum class kind { instruction, label, branch_targets, registers, parameter, shared, local };
  kind what = kind::instruction;
  int line = 0;

  std::string name;   ///< opcode with modifiers (`add.s32`), label, or prefix of registers
  std::string guard;  ///< predicate register of an instruction; empty if there is none
  bool is_guard_negated = false;
  std::vector<std::string> operands;  ///< as written: `%r1`, `[%rd2+8]`, `{%r1, %r2}`, `(retval0)`; labels of branches
  variable declared;                  ///< of a parameter, shared or local
};

struct function {
  std::string name;
  bool is_entry = false;
  std::vector<variable> parameters, results;
  std::vector<statement> body;
};

struct module {
  std::map<std::string, function, std::less<>> functions;
  std::vector<variable> shared;  ///< declared outside functions
};

/// \throws unsupported with the line if the text cannot be read
module parse(std::string_view text);

/// The parts of a list, split at commas that are outside brackets, without blanks around them.
std::vector<std::string> split_list(std::string_view text);

/// The bytes of a type such as `b32`, `f16` or `pred`. \throws unsupported
std::uint32_t bytes_of_type(std::string_view type);

}  // namespace emulator
