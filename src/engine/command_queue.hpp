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
    return translated("fill", [&] { return queue_.fill(target, value, count); });
  }

 private:
  sycl::queue& queue_;
};

}  // namespace SYCLAMP_NAMESPACE
