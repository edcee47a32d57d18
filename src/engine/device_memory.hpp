// SPDX-License-Identifier: Apache-2.0
// Memory that belongs to an engine's device and frees itself.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <sycl/sycl.hpp>

#include "engine/device_fault.hpp"
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

/// How often memory could be freed only after the host had waited for a queue: for tests.
inline std::atomic<std::uint64_t>& deleter_waits_counter() {
  static std::atomic<std::uint64_t> waits = 0;
  return waits;
}

/// True if all submitted commands have finished. False if the SYCL implementation cannot tell.
inline bool is_idle([[maybe_unused]] const sycl::queue& queue) {
#if defined(SYCL_EXT_ONEAPI_QUEUE_EMPTY)
  return queue.ext_oneapi_empty();
#else
  return false;
#endif
}

/// Kernels that were submitted may still use the memory: it is freed when they are done. Of many arrays that are freed
/// together, only the first one waits. Never throws: a device that has failed cannot be waited for, and must not end
/// the program from a destructor.
struct usm_deleter {
  std::optional<sycl::queue> queue;  // optional, because a default-constructed queue would select a device
  void operator()(void* memory) const noexcept {
    if (is_runtime_gone()) return;
    --live_arrays_counter();
    try {
      wait_until_unused();
      sycl::free(memory, *queue);
    } catch (...) {  // NOLINT(bugprone-empty-catch): the memory is left to the driver
    }
  }

 private:
  void wait_until_unused() const {
    if (is_idle(*queue)) return;
    ++deleter_waits_counter();
    sycl::queue(*queue).wait();
  }
};

/// How many bytes this process has allocated on devices so far, whether they were freed or not: for tests.
inline std::atomic<std::uint64_t>& device_bytes_counter() {
  static std::atomic<std::uint64_t> bytes = 0;
  return bytes;
}

/// If set, fresh memory is filled with NaNs of every format, so that tests find kernels that read uninitialised memory.
/// tests/support/test_listener.cpp sets it for all tests.
inline std::atomic<bool>& poison_fresh_memory() {
  static std::atomic<bool> is_on = false;
  return is_on;
}

template <typename T>
using usm_array = std::unique_ptr<T[], usm_deleter>;

/// \throws out_of_memory_error if the number of bytes overflows std::size_t
inline void need_fitting(std::uint64_t count, std::size_t bytes_each) {
  if (count <= std::numeric_limits<std::size_t>::max() / 2 / bytes_each) return;
  throw out_of_memory_error(
      fmt::format("cannot allocate {} elements of {} bytes: the size in bytes exceeds the address space; check where "
                  "the count comes from",
                  count, bytes_each));
}

/// `count` elements, aligned so that any pack fits; at least one, so that there is always an address.
template <typename T>
usm_array<T> allocate(const sycl::queue& queue, std::size_t count, sycl::usm::alloc where) {
  need_no_recording(queue);
  constexpr std::size_t alignment = 64;
  need_fitting(count, sizeof(T));
  const std::size_t bytes = (std::max<std::size_t>(count, 1) * sizeof(T) + alignment - 1) / alignment * alignment;
  void* memory = nullptr;
  try {
    memory = sycl::aligned_alloc(alignment, bytes, queue, where);
  } catch (const sycl::exception&) {
    memory = nullptr;  // some implementations throw, others return null
  }
  if (memory == nullptr)
    throw out_of_memory_error(fmt::format("{} cannot allocate {} bytes; free device memory or use a smaller problem",
                                          queue.get_device().get_info<sycl::info::device::name>(), bytes));
  if (poison_fresh_memory()) translated("memset", [&] { sycl::queue(queue).memset(memory, 0xff, bytes).wait(); });
  ++live_arrays_counter();
  if (where == sycl::usm::alloc::device) device_bytes_counter() += bytes;
  return usm_array<T>(static_cast<T*>(memory), usm_deleter{queue});
}

template <typename T>
usm_array<T> allocate_on_device(const sycl::queue& queue, std::size_t count) {
  return allocate<T>(queue, count, sycl::usm::alloc::device);
}

/// Pinned host memory, from which the device copies directly.
template <typename T>
usm_array<T> allocate_on_host(const sycl::queue& queue, std::size_t count) {
  return allocate<T>(queue, count, sycl::usm::alloc::host);
}

}  // namespace SYCLAMP_NAMESPACE
