// SPDX-License-Identifier: Apache-2.0
// Copies and fills for the library's own use. They turn a `sycl::exception` into a syclamp::device_error, which the
// members of `sycl::queue` do not.
#pragma once

#include <cstddef>
#include <type_traits>

#include <sycl/sycl.hpp>

#include "engine/device_fault.hpp"
#include "syclamp/engine.hpp"
#include "syclamp/export.hpp"

namespace SYCLAMP_NAMESPACE {

/// True if `sycl::queue::fill` launches a kernel of DPC++'s own header, as on Level Zero. A library that an ordinary
/// compiler has built has no device code for that kernel.
bool fills_by_kernel(const sycl::queue& queue);

/// The same as `sycl::queue::fill`, without a kernel: byte by byte for the first element, then copies that double what
/// is filled. The queue must be in order.
sycl::event fill_by_copies(sycl::queue& queue, void* target, const void* value, std::size_t bytes, std::size_t count);

/// An engine's queue. Members have the names that they have in `sycl::queue`, and throw device_error.
class command_queue {
 public:
  explicit command_queue(const engine& engine) : queue_(engine.queue()) {}
  explicit command_queue(sycl::queue& queue) : queue_(queue) {}

  // NOLINTNEXTLINE(google-explicit-constructor): kernels are submitted to it
  operator sycl::queue&() const { return queue_; }

  sycl::event memcpy(void* target, const void* source, std::size_t bytes) const {
    return translated("copy", [&] { return queue_.memcpy(target, source, bytes); });
  }

  sycl::event memset(void* target, int value, std::size_t bytes) const {
    return translated("memset", [&] { return queue_.memset(target, value, bytes); });
  }

  template <typename T>
  sycl::event fill(T* target, const std::type_identity_t<T>& value, std::size_t count) const {
    return translated("fill", [&] {
      if (fills_by_kernel(queue_)) return fill_by_copies(queue_, target, &value, sizeof value, count);
      return queue_.fill(target, value, count);
    });
  }

 private:
  sycl::queue& queue_;
};

}  // namespace SYCLAMP_NAMESPACE
