// SPDX-License-Identifier: Apache-2.0
// What the host remembers of the calls that were made: how far a scaler has come with a step. If the calls were
// recorded, and the recording was abandoned, none of it has happened or will.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include <sycl/sycl.hpp>

#include "syclamp/export.hpp"

namespace SYCLAMP_NAMESPACE {

/// A member of whoever remembers such things; its last one, so that it is there no longer than the others.
class recordable_state {
 public:
  /// \param copy  copies what is remembered, and returns what puts it back
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

/// All that is remembered of the calls to a queue, as it was when this was made.
class remembered_states {
 public:
  explicit remembered_states(const sycl::queue& queue);

  /// Puts it back, of all owners that are still there.
  void restore() const;

 private:
  std::map<std::uint64_t, std::function<void()>> restorers_;
};

}  // namespace SYCLAMP_NAMESPACE
