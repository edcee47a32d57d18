// SPDX-License-Identifier: Apache-2.0
// Sends an array that changes from time to time to the device, without waiting.
#pragma once

#include <array>
#include <cstddef>

#include <sycl/sycl.hpp>

#include "engine/command_queue.hpp"
#include "engine/device_memory.hpp"
#include "syclamp/export.hpp"

namespace SYCLAMP_NAMESPACE {

/// Two host buffers that take turns, so that the copy from one of them may still run while the other one is filled. The
/// host waits only if it is two uploads ahead of the device.
template <typename T>
class staged_upload {
 public:
  /// \param count  elements per upload
  staged_upload(const sycl::queue& queue, std::size_t count) : count_(count) {
    for (slot& buffer : slots_) buffer.elements = allocate_on_host<T>(queue, count);
  }

  /// \param fill    called with the host buffer, which it fills with all elements
  /// \param target  in device memory
  template <typename Fill>
  void send(sycl::queue& queue, T* target, const Fill& fill) {
    slot& buffer = slots_[next_];
    next_ = (next_ + 1) % slots_.size();
    translated("copy to the device", [&] { buffer.copied.wait(); });
    fill(buffer.elements.get());
    buffer.copied = command_queue(queue).memcpy(target, buffer.elements.get(), count_ * sizeof(T));
  }

 private:
  struct slot {
    usm_array<T> elements;
    sycl::event copied;
  };

  std::size_t count_;
  std::array<slot, 2> slots_;
  std::size_t next_ = 0;
};

}  // namespace SYCLAMP_NAMESPACE
