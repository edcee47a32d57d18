// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>

#include <sycl/sycl.hpp>

#include "launch/operation.hpp"

namespace syclamp::launch::aot {

/// Submits one kernel instance; the arguments are those of its operation, in order.
using submitter = sycl::event (*)(sycl::queue&, std::uint64_t groups, const argument* arguments);

/// A kernel that asks for its operation's size of sub-groups, and the same kernel for devices without this size. Both
/// are the same if the compiler chooses the size, or if the kernel is right with this size only.
struct instance {
  std::uint32_t sub_group_size;  ///< 0: the compiler chooses
  submitter asking, plain;
};

/// All operations, instantiated as `tuning` asks. `tuning` is one of `backends::profiles`.
const std::map<const operation_base*, instance, operation_order>& instances(const profile& tuning);

}  // namespace syclamp::launch::aot
