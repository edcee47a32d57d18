// SPDX-License-Identifier: Apache-2.0
// Rejects pointers that the device cannot dereference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <sycl/sycl.hpp>

#include "syclamp/element_type.hpp"
#include "syclamp/export.hpp"

namespace SYCLAMP_NAMESPACE {

/// Checks the addresses of tensors. A query to the runtime takes 0.2 µs, so it is made only if its result can matter,
/// and not again for an address that was found good.
class address_checks {
 public:
  /// \param tensors  number of tensors for which addresses are remembered
  address_checks(const sycl::queue& queue, std::size_t tensors);

  /// \param reads_system_memory  the device can read memory from the system's allocator
  address_checks(const sycl::queue& queue, std::size_t tensors, bool reads_system_memory);

  /// True if the address is known to be good or needs no query. The caller has checked the alignment.
  bool is_known(std::uint64_t address) const { return !asks_ || address == 0 || known_[place_of(address)] == address; }

  /// Queries the runtime.
  /// \throws invalid_argument that names the tensor
  void ask(std::size_t index, const std::string& name, std::uint64_t address);
  void ask(const std::string& operand, std::uint64_t address);

 private:
  std::size_t place_of(std::uint64_t address) const {
    return (address >> 4) * 0x9e3779b97f4a7c15u >> shift_;  // Fibonacci hashing
  }

  sycl::context context_;
  sycl::device root_;
  bool asks_kind_;    ///< memory from the system's allocator cannot be read by the device
  bool asks_device_;  ///< the context has devices that do not share their memory with this one
  bool asks_;
  unsigned shift_ = 0;
  std::vector<std::uint64_t>
      known_;  ///< hash table of addresses that were found good; a new one replaces the old one in its slot
};

/// For a single address.
/// \throws invalid_argument that names the operand, if the device cannot read the memory
void check_address(const sycl::queue& queue, const char* operand, const void* address);

/// \throws invalid_argument that names the tensor and its type
[[noreturn]] void refuse_alignment(std::size_t index, const std::string& name, const void* address, element_type type);

}  // namespace SYCLAMP_NAMESPACE
