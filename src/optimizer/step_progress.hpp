// SPDX-License-Identifier: Apache-2.0
// The progress of an optimizer, which the host can read while the device works.
#pragma once

#include <cstdint>
#include <span>

#include "engine/device_memory.hpp"
#include "sycl_kernels/shared/optimizer_layout.hpp"
#include "syclamp/engine.hpp"
#include "syclamp/export.hpp"
#include "syclamp/optimizer_progress.hpp"

namespace SYCLAMP_NAMESPACE {

/// One slot per group. Where the device can write to host memory while the host reads it, it does. Elsewhere slots are
/// in device memory and copied after each step.
class step_progress {
 public:
  step_progress(const engine& engine, std::size_t groups);

  /// For `kernels::optimizer_memory::progress`.
  std::uint64_t device_address() const { return reinterpret_cast<std::uintptr_t>(written_.get()); }

  /// To be called after each step: submits the copy, where there is one.
  sycl::event publish(const engine& engine, const sycl::event& step) const;

  /// Does not wait; any thread.
  optimizer_progress read(std::size_t group) const;

  /// Sets the numbers of applied steps, one per group. Nothing is running.
  void restore(const engine& engine, std::span<const kernels::parameter_group> groups) const;

 private:
  std::size_t bytes() const { return groups_ * sizeof(kernels::progress_slot); }

  std::size_t groups_;
  usm_array<kernels::progress_slot> written_;
  usm_array<kernels::progress_slot> mirror_;  ///< host memory, if the device cannot write there at any time
};

}  // namespace SYCLAMP_NAMESPACE
