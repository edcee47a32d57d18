// SPDX-License-Identifier: Apache-2.0
// From public scalars to what kernels take, with the checks that can be made on the host.
#pragma once

#include <optional>

#include "sycl_kernels/shared/layout.hpp"
#include "syclamp/export.hpp"
#include "syclamp/scalar.hpp"

namespace SYCLAMP_NAMESPACE {

/// A limit of a norm or of values. Not given: no limit.
/// \throws invalid_argument if a value is negative or NaN
kernels::scalar_argument limit_argument(const char* operation, const char* name, const std::optional<scalar>& limit);

/// A loss scale. Not given: the elements are not scaled.
/// \throws invalid_argument if a value is not positive and finite
kernels::scalar_argument scale_argument(const char* operation, const scalar& scale);
kernels::scalar_argument scale_argument(const char* operation, const std::optional<scalar>& scale);

}  // namespace SYCLAMP_NAMESPACE
