// SPDX-License-Identifier: Apache-2.0
// SYCL queues of Python's array libraries.
#pragma once

#include <optional>

#include <nanobind/nanobind.h>
#include <sycl/sycl.hpp>

namespace syclamp::python {

/// The queue of a dpctl.SyclQueue, of a capsule "SyclQueueRef" with a sycl::queue, or of an object that has its queue
/// as `sycl_queue`. Nothing for other objects, such as a dpctl.SyclContext.
std::optional<sycl::queue> find_queue(nanobind::handle object);

/// A new capsule "SyclQueueRef" with a copy of a queue, for `find_queue`, dpctl.SyclQueue and the like.
nanobind::object capsule_of(const sycl::queue& queue);

}  // namespace syclamp::python
