// SPDX-License-Identifier: Apache-2.0
/// \file
#pragma once

namespace syclamp {

/// Version of the library that is linked, as `major.minor.patch`.
const char* version() noexcept;

}  // namespace syclamp
