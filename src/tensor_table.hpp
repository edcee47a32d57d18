// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "syclamp/tensor_list.hpp"

namespace syclamp {

/// The device's view of a list, as kernels take it, and what checks need to know of it.
struct tensor_list::table {
  const std::uint64_t* addresses;
  const std::uint64_t* starts;
  const std::uint32_t* kinds;
  std::uint32_t tensors;
  std::uint64_t chunks;

  std::uint64_t id;           ///< no other list of this process has it
  std::uint64_t version = 0;  ///< of the addresses

  /// Another list with which this one was found to fit, both with these addresses (list_checks.cpp).
  struct fitting {
    std::uint64_t other_id, other_version, version;
  };
  mutable std::vector<fitting> fits = {};
};

}  // namespace syclamp
