// SPDX-License-Identifier: Apache-2.0
/// \file
/// The devices of the machine, and the choice of one by a text.
#pragma once

#include <string_view>

#include <sycl/sycl.hpp>

namespace syclamp::c {

/// The device that a text selects; see `syclamp_engine_options::device`.
/// \throws no_device_error that lists the devices, if the text selects none
sycl::device select_device(std::string_view text);

}  // namespace syclamp::c
