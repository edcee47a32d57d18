// SPDX-License-Identifier: Apache-2.0
// The one seam between host logic and kernels. `jit/` and `aot/` each implement it; a build contains one of them.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <sycl/sycl.hpp>

#include "engine/device_fault.hpp"
#include "engine/process_exit.hpp"
#include "launch/operation.hpp"

namespace syclamp::launch {

/// The kernels of one device, instantiated as one profile asks. Safe to use from several threads.
class kernel_library {
 public:
  kernel_library(const sycl::device& device, const profile& tuning)
      : tuning_(tuning), compute_units_(device.get_info<sycl::info::device::max_compute_units>()) {}
  virtual ~kernel_library() = default;
  kernel_library(const kernel_library&) = delete;
  kernel_library& operator=(const kernel_library&) = delete;

  /// How many work-groups of `op` share `chunks` chunks on this device.
  template <auto Tuning, typename... Args>
  std::uint64_t groups_for(const operation<Tuning, Args...>& op, std::uint64_t chunks) const {
    return std::min(chunks, std::uint64_t{op.tuning(tuning_).groups_per_unit} * compute_units_);
  }

  /// Divides work as on a device with this many compute units. Results must not depend on it, which tests check.
  void set_compute_units(std::uint64_t units) { compute_units_ = units; }

  /// Makes sure that `op` and its family can be submitted without compiling.
  virtual void prepare(const operation_base& op) = 0;

  /// Submits `groups` work-groups of `op`.
  template <auto Tuning, typename... Args>
  sycl::event submit(sycl::queue& queue, const operation<Tuning, Args...>& op, std::uint64_t groups,
                     std::type_identity_t<Args>... args) {
    need_thread();
    submitted_.fetch_add(1, std::memory_order_relaxed);
    const std::array arguments{argument{&args, sizeof args, std::is_pointer_v<Args>}...};
    return translated(op.name, [&] { return submit_erased(queue, op, groups, arguments); });
  }

  /// Submits as many work-groups of `op` as have at least `items` work-items.
  template <auto Tuning, typename... Args>
  sycl::event submit_items(sycl::queue& queue, const operation<Tuning, Args...>& op, std::uint64_t items,
                           std::type_identity_t<Args>... args) {
    const std::uint64_t size = op.tuning(tuning_).group_size;
    return submit(queue, op, (items + size - 1) / size, args...);
  }

  /// What `submit` calls: the same without the types of the arguments. Public for a library that passes calls on to
  /// another one.
  virtual sycl::event submit_erased(sycl::queue& queue, const operation_base& op, std::uint64_t groups,
                                    std::span<const argument> arguments) = 0;

  const profile& tuning() const { return tuning_; }
  std::uint64_t submitted() const { return submitted_.load(std::memory_order_relaxed); }

 private:
  const profile& tuning_;
  std::uint64_t compute_units_;
  std::atomic<std::uint64_t> submitted_ = 0;
};

std::unique_ptr<kernel_library> make_kernel_library(const sycl::queue& queue, const profile& tuning);

/// `jit` or `aot`.
std::string_view mode();

/// The compiler that builds the kernels, with its version.
std::string compiler();

/// Folder of compiled kernels, or an empty string if there is none.
std::string cache_folder();

/// Why kernels cannot be built for `device`; an empty string if they can.
std::string obstacle(const sycl::device& device);

/// Environment variables that may hide devices, with the remedy; an empty string if there are none.
std::string environment_hint();

}  // namespace syclamp::launch
