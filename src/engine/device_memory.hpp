// SPDX-License-Identifier: Apache-2.0
// Memory that belongs to an engine's device and frees itself.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <sycl/sycl.hpp>

#include "engine/process_exit.hpp"
#include "engine/recording.hpp"
#include "syclamp/error.hpp"
#include "syclamp/export.hpp"

namespace SYCLAMP_NAMESPACE {

/// How many arrays of USM memory the library holds now: for tests.
inline std::atomic<std::uint64_t>& live_arrays_counter() {
  static std::atomic<std::uint64_t> arrays = 0;
  return arrays;
}

/// Kernels that were submitted may still use the memory: it is freed when they are done.
struct usm_deleter {
  std::optional<sycl::queue> queue;  // a default queue would look for a device
  void operator()(void* memory) const {
    if (is_runtime_gone()) return;
    sycl::queue(*queue).wait();
    sycl::free(memory, *queue);
    --live_arrays_counter();
  }
};

/// How many bytes this process has allocated on devices so far, whether they were freed or not: for tests.
inline std::atomic<std::uint64_t>& device_bytes_counter() {
  static std::atomic<std::uint64_t> bytes = 0;
  return bytes;
}

/// Whether fresh memory is filled with NaNs of every format, so that a kernel that reads what nobody wrote is found:
/// for tests, which all switch it on (tests/support/test_listener.cpp).
inline std::atomic<bool>& poison_fresh_memory() {
  static std::atomic<bool> is_on = false;
  return is_on;
}

template <typename T>
using device_array = std::unique_ptr<T[], usm_deleter>;

/// `count` elements, aligned so that any pack fits; at least one, so that there is always an address.
template <typename T>
device_array<T> allocate(const sycl::queue& queue, std::size_t count, sycl::usm::alloc where) {
  need_no_recording(queue);
  constexpr std::size_t alignment = 64;
  const std::size_t bytes = (std::max<std::size_t>(count, 1) * sizeof(T) + alignment - 1) / alignment * alignment;
  void* memory = nullptr;
  try {
    memory = sycl::aligned_alloc(alignment, bytes, queue, where);
  } catch (const sycl::exception&) {
    memory = nullptr;  // implementations differ in how they say no
  }
  if (memory == nullptr)
    throw out_of_memory_error(fmt::format("{} has no room for {} bytes; free memory or use a smaller problem",
                                          queue.get_device().get_info<sycl::info::device::name>(), bytes));
  if (poison_fresh_memory()) sycl::queue(queue).memset(memory, 0xff, bytes).wait();
  ++live_arrays_counter();
  if (where == sycl::usm::alloc::device) device_bytes_counter() += bytes;
  return device_array<T>(static_cast<T*>(memory), usm_deleter{queue});
}

template <typename T>
device_array<T> allocate_on_device(const sycl::queue& queue, std::size_t count) {
  return allocate<T>(queue, count, sycl::usm::alloc::device);
}

/// Memory of the host from which the device copies without detours.
template <typename T>
device_array<T> allocate_on_host(const sycl::queue& queue, std::size_t count) {
  return allocate<T>(queue, count, sycl::usm::alloc::host);
}

}  // namespace SYCLAMP_NAMESPACE
