// SPDX-License-Identifier: Apache-2.0
// Host state that calls change, for example how far a scaler has come within a step. If calls are recorded into a graph
// and the recording is abandoned, the calls never run. The host state must then be restored.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include <sycl/sycl.hpp>

#include "syclamp/export.hpp"

namespace SYCLAMP_NAMESPACE {

/// Registers the host state of its owner. Declare it as the owner's last member, so that it is destroyed first.
class recordable_state {
 public:
  /// \param copy  copies the state and returns a function that restores it
  recordable_state(sycl::queue queue, std::function<std::function<void()>()> copy);
  ~recordable_state();
  recordable_state(const recordable_state&) = delete;
  recordable_state& operator=(const recordable_state&) = delete;

  const sycl::queue& queue() const { return queue_; }
  std::function<void()> copy() const { return copy_(); }

 private:
  sycl::queue queue_;
  std::function<std::function<void()>()> copy_;
  std::uint64_t number_;
};

/// A copy of all registered host state of a queue, taken by the constructor.
class remembered_states {
 public:
  explicit remembered_states(const sycl::queue& queue);

  /// Restores the state of all owners that still exist.
  void restore() const;

 private:
  std::map<std::uint64_t, std::function<void()>> restorers_;
};

}  // namespace SYCLAMP_NAMESPACE
