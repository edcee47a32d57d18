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

/// To be called by every function that waits or allocates. While a queue is recorded nothing runs, so waiting would
/// never end.
inline void need_no_recording(const sycl::queue& queue) {
  if (is_recording(queue))
    throw misuse_error(
        "the host cannot wait while a graph is being recorded, because nothing runs; make calls that allocate or read "
        "results before the recording (for a scaler: prepare(gradients)) or after it");
}

/// To be called before changed settings or addresses are sent to the device.
inline void need_no_settings_recorded(const sycl::queue& queue) {
  if (is_recording(queue))
    throw misuse_error(
        "settings or addresses have changed while a graph is being recorded, and every replay would send them again; "
        "change them before the recording or between two replays");
}

}  // namespace SYCLAMP_NAMESPACE
