// SPDX-License-Identifier: Apache-2.0
// Scaling policies as Python arguments.
#pragma once

#include <nanobind/nanobind.h>

#include <syclamp/scaling_policy.hpp>

namespace syclamp::python {

/// The policy that an argument means: a `Policy`, or the name of a preset.
/// \throws nb::type_error or invalid_argument
scaling_policy policy_from(nanobind::handle argument);

}  // namespace syclamp::python
