// SPDX-License-Identifier: Apache-2.0
/// \file
/// Skips steps whose loss jumps.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <syclamp/export.hpp>
#include <syclamp/loss_scaler.hpp>
#include <syclamp/scalar.hpp>

namespace SYCLAMP_NAMESPACE {

/// Watches a number on the device, such as the loss. If the number is more than `threshold` standard deviations above
/// its running mean, or not finite, the scaler skips the step. The mean is not part of a scaler's state, so it starts
/// again after a restart. To watch the norm of the gradients, use `scaling_policy::spike_threshold` instead.
///
///     spike_guard guard(engine);
///     …
///     guard.check({engine, loss_on_device}, scaler);   // before scaler.step
class SYCLAMP_API spike_guard {
 public:
  /// When a number counts as a spike.
  struct settings {
    float threshold = 6.0f;      ///< in standard deviations
    std::uint32_t window = 128;  ///< approximate length of the running mean in steps; the test starts after as many
  };

  /// Makes a guard with default settings. Allocates.
  explicit spike_guard(engine engine) : spike_guard(std::move(engine), settings{}) {}
  /// Makes a guard. Allocates.
  /// \throws invalid_argument if the threshold is not positive or the window is below 2
  spike_guard(engine engine, const settings& options);

  // Moving is copying, so that a handle that was moved from stays usable.
  spike_guard(const spike_guard&) = default;
  spike_guard(spike_guard&& other) noexcept : spike_guard(other) {}  // NOLINT(performance-move-*)
  spike_guard& operator=(const spike_guard&) = default;
  spike_guard& operator=(spike_guard&& other) noexcept { return *this = other; }

  /// Checks a number and enters it into the mean. Does not wait.
  /// \param value         the number in device memory, for example the loss
  /// \param scaler        the scaler whose next step is skipped after a spike
  /// \param dependencies  events that must be complete before the check
  /// \return an event that is complete when the check is
  /// \throws invalid_argument if the scaler belongs to another queue
  sycl::event check(const device_value& value, const loss_scaler& scaler,
                    const std::vector<sycl::event>& dependencies = {}) const;

 private:
  struct impl;
  std::shared_ptr<impl> impl_;
};

}  // namespace SYCLAMP_NAMESPACE
