// SPDX-License-Identifier: Apache-2.0
// Makes what follows on an in-order queue wait for events of other queues, without a host wait.
#pragma once

#include <vector>

#include <sycl/sycl.hpp>

#include "engine/device_fault.hpp"
#include "syclamp/export.hpp"

namespace SYCLAMP_NAMESPACE {

/// \return an event that is complete when all of `dependencies` and all earlier commands of the queue are
inline sycl::event submit_after(sycl::queue& queue, const std::vector<sycl::event>& dependencies) {
  return translated("dependencies", [&] {
#if defined(SYCL_EXT_ONEAPI_ENQUEUE_BARRIER)
    return queue.ext_oneapi_submit_barrier(dependencies);
#else
    return queue.submit([&](sycl::handler& handler) {
      handler.depends_on(dependencies);
      handler.single_task([] {});
    });
#endif
  });
}

}  // namespace SYCLAMP_NAMESPACE
