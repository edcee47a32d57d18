// SPDX-License-Identifier: Apache-2.0
#include "syclamp/version.hpp"

namespace syclamp {

const char* version() noexcept { return SYCLAMP_VERSION; }

}  // namespace syclamp
