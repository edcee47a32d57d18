// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "syclamp/tensor_list.hpp"

namespace syclamp {

/// The device's view of a list, as kernels take it.
struct tensor_list::table {
  const std::uint64_t* addresses;
  const std::uint64_t* starts;
  const std::uint32_t* kinds;
  std::uint32_t tensors;
  std::uint64_t chunks;
};

}  // namespace syclamp
