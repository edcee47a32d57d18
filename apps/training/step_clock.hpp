// SPDX-License-Identifier: Apache-2.0
// Measures the parts of a step without waiting for them.
#pragma once

#include <vector>

#include "apps/training/result.hpp"

namespace syclamp::training {

/// Last kernels of the parts of a step. Kernels of an in-order queue follow each other, so a part lasts from the end of
/// the one before to its own end, with whatever the device or the runtime does in between.
struct step_events {
  sycl::event before;  ///< the last kernel of the step before
  sycl::event loss, backward, apply, update;
};

/// Collects times of steps by the device's own clock.
class step_clock {
 public:
  /// Without a queue that takes times nothing is collected, and times are unknown.
  explicit step_clock(const engine& engine);

  void add(const step_events& events);

  /// Reads the times of steps that are complete. Waits for those that are not.
  void read();

  /// Medians; `other` is left to the caller.
  step_times medians() const;

 private:
  bool takes_times_;
  std::vector<step_events> waiting_;
  std::vector<double> forward_, backward_, inspect_, apply_, update_;
};

/// An engine on the device that `engine()` would take, with a queue that takes times if the device can.
engine timed_engine();

}  // namespace syclamp::training
