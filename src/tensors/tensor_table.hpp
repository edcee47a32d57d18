// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "syclamp/export.hpp"
#include "syclamp/tensor_list.hpp"
#include "tensors/memory_extents.hpp"

namespace SYCLAMP_NAMESPACE {

/// The device's view of a list, as kernels take it, and the data that host checks need.
struct SYCLAMP_HIDDEN tensor_list::table {
  const std::uint64_t* addresses;
  const std::uint64_t* starts;
  const std::uint32_t* kinds;
  std::uint32_t tensors;
  std::uint32_t replicated;  ///< how many of the tensors all ranks hold alike
  std::uint64_t chunks;
  bool has_gradient_types = true;  ///< each tensor has a type that optimizers accept

  std::uint64_t id;           ///< no other list of this process has it
  std::uint64_t version = 0;  ///< of the addresses

  // On the host, one per tensor.
  std::span<const std::uint64_t> host_addresses;  ///< 0: absent
  std::span<const std::uint64_t> bytes;
  const std::vector<bool>* read_only;  ///< given as a pointer to const

  /// The memory of the tensors that are present, sorted by address; computed at first use.
  const std::vector<memory_extent>& extents() const {
    if (extents_version != version) {
      sorted_extents(host_addresses, bytes, all_extents);
      extents_version = version;
    }
    return all_extents;
  }

  /// Another list with which this one was found to fit, both with these addresses (list_checks.cpp).
  struct fitting {
    std::uint64_t other_id, other_version, version;
    bool shares;  ///< some tensors are the very same in both
  };
  mutable std::vector<fitting> fits = {};
  mutable std::vector<memory_extent> all_extents = {};
  mutable std::uint64_t extents_version = 0;
};

}  // namespace SYCLAMP_NAMESPACE
