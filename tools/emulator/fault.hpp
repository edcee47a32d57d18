// SPDX-License-Identifier: Apache-2.0
// What the emulator reports when a kernel does what a GPU does not define.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace emulator {

enum class fault_kind {
  bounds,          ///< an address outside every allocation
  alignment,       ///< an address that is not a multiple of the size of the access
  local_race,      ///< local memory: two work-items, no barrier between them, at least one of them writes
  global_race,     ///< global memory: two work-items, nothing orders them, at least one of them writes
  barrier,         ///< a barrier that some work-items of the group do not reach
  unset_register,  ///< a register that was read before it was written
  unset_memory,    ///< local or private memory that was read before it was written
  wrong_warp,      ///< a matrix instruction that not all lanes of a warp execute alike
  missing_lanes,   ///< a shuffle that lanes of its mask never reach, or that reads a lane outside the mask
  stuck,           ///< no end in sight
};

std::string_view to_string(fault_kind kind);

class fault : public std::runtime_error {
 public:
  fault(fault_kind kind, const std::string& text)
      : std::runtime_error(std::string(to_string(kind)) + ": " + text), kind_(kind) {}
  fault_kind kind() const { return kind_; }

 private:
  fault_kind kind_;
};

/// PTX that the emulator cannot read: an instruction that it does not know, a name that is not declared.
class unsupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace emulator
