// SPDX-License-Identifier: Apache-2.0
// Makes what follows on an in-order queue wait for events of other queues, without a host wait.
#pragma once

#include <cstdint>
#include <vector>

#include <sycl/sycl.hpp>

#include "engine/device_fault.hpp"
#include "syclamp/engine.hpp"
#include "syclamp/export.hpp"

namespace SYCLAMP_NAMESPACE {

/// A command with dependencies, and not a barrier: in DPC++ the host waits to submit a barrier until all of its events
/// are in the driver's hands, and the events may not be of other contexts.
/// \param word  in device memory, for this only
/// \return an event that is complete when all of `dependencies` and all earlier commands of the queue are
inline sycl::event submit_after(sycl::queue& queue, std::uint32_t* word, const std::vector<sycl::event>& dependencies) {
  return translated("dependencies", [&] {
    return queue.submit([&](sycl::handler& handler) {
      handler.depends_on(dependencies);
      handler.memset(word, 0, sizeof *word);
    });
  });
}

/// \return an event that is complete when all earlier commands of the in-order queue are
inline sycl::event submit_marker(const engine& engine) {
#if defined(SYCL_EXT_ONEAPI_ENQUEUE_BARRIER)
  return translated("dependencies", [&] { return engine.queue().ext_oneapi_submit_barrier(); });
#else
  return engine.order_after({sycl::event()});
#endif
}

}  // namespace SYCLAMP_NAMESPACE
