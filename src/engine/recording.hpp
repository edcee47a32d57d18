// SPDX-License-Identifier: Apache-2.0
// Whether a queue is being recorded into a SYCL graph, an extension of DPC++.
#pragma once

#include <sycl/sycl.hpp>

#include "syclamp/error.hpp"
#include "syclamp/export.hpp"

namespace SYCLAMP_NAMESPACE {

inline bool is_recording([[maybe_unused]] const sycl::queue& queue) {
#if defined(SYCL_EXT_ONEAPI_GRAPH)
  return queue.ext_oneapi_get_state() == sycl::ext::oneapi::experimental::queue_state::recording;
#else
  return false;
#endif
}

/// For whatever waits or allocates: recorded, it would never have run when the host goes on.
inline void need_no_recording(const sycl::queue& queue) {
  if (is_recording(queue))
    throw misuse_error(
        "the host would have to wait while a graph is recorded, in which nothing runs; call what allocates or reads "
        "back before (for a scaler: prepare(list of gradients)), or after");
}

/// For settings and addresses, which the host sends to the device when they have changed.
inline void need_no_settings_recorded(const sycl::queue& queue) {
  if (is_recording(queue))
    throw misuse_error(
        "settings or addresses would be sent to the device while a graph is recorded, and again by every replay; "
        "change them before the recording, or between two replays");
}

}  // namespace SYCLAMP_NAMESPACE
