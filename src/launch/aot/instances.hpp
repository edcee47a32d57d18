// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>

#include <sycl/sycl.hpp>

#include "launch/operation.hpp"

namespace syclamp::launch::aot {

/// Submits one kernel instance; the arguments are those of its operation, in order.
using submitter = sycl::event (*)(sycl::queue&, std::uint64_t groups, const argument* arguments);

/// A kernel that asks for the profile's size of sub-groups, and the same kernel for devices without this size.
struct instance {
  std::uint32_t sub_group_size;  ///< 0: the compiler chooses, and both are the same
  submitter asking, plain;
};

/// All operations, instantiated as `tuning` asks. `tuning` is one of `backends::profiles`.
const std::map<const operation_base*, instance, operation_order>& instances(const profile& tuning);

}  // namespace syclamp::launch::aot
