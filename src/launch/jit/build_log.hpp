// SPDX-License-Identifier: Apache-2.0
// What the run-time compiler's log means for the user.
#pragma once

#include <string>
#include <string_view>

namespace syclamp::launch::jit {

/// The message for kernels that did not compile for `device`: the cause if the user can remove it, else a request to
/// report the defect.
std::string explain_build_failure(std::string_view device, const std::string& log);

}  // namespace syclamp::launch::jit
