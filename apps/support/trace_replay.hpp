// SPDX-License-Identifier: Apache-2.0
// What a scaling policy makes of a trace: by the kernels of a device, and by the same rules on the host.
#pragma once

#include <vector>

#include "syclamp/syclamp.hpp"

namespace syclamp::program {

std::vector<simulated_result> replay_on_host(const scaling_policy& policy, const std::vector<simulated_step>& steps);

/// Drives the kernels with gradients of zero, one of which is Inf or NaN where the trace has `i` or `n`.
std::vector<simulated_result> replay_on_device(const engine& engine, const scaling_policy& policy,
                                               const std::vector<simulated_step>& steps);

}  // namespace syclamp::program
