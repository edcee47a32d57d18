// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>

#include <sycl/sycl.hpp>

#include "launch/operation.hpp"

namespace syclamp::launch::aot {

/// Submits one kernel instance; the arguments are those of its operation, in order.
using submitter = sycl::event (*)(sycl::queue&, std::uint64_t groups, const argument* arguments);

/// All operations, instantiated as `tuning` asks. `tuning` is one of `backends::profiles`.
const std::map<const operation_base*, submitter, operation_order>& instances(const profile& tuning);

}  // namespace syclamp::launch::aot
