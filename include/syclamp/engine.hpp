// SPDX-License-Identifier: Apache-2.0
/// \file
/// The engine: a device, its queue, and the kernels compiled for it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <sycl/sycl.hpp>

#include <syclamp/export.hpp>

namespace syclamp::launch {
class kernel_library;
}

namespace SYCLAMP_NAMESPACE {

/// Counters of an engine's work since its construction.
struct engine_statistics {
  std::uint64_t kernels_submitted = 0;  ///< number of kernels submitted
  std::uint64_t waits = 0;              ///< number of times the host has waited for the queue
};

/// The context of every operation: an in-order queue, the tuning profile of its device, and the compiled kernels.
///
/// If the caller's queue is in-order, operations go to it and run in order with the caller's own work. If it is
/// out-of-order, the engine makes an in-order queue of its own in the same context (`is_ordered_by_events`). Then only
/// events order operations with your work: pass the events that an operation depends on as `dependencies`, and let your
/// work depend on the event that the operation returns.
///
/// An engine is a handle: copies are cheap and share everything, and a move is a copy. Engines are independent of each
/// other, so any number of threads may use any number of engines at once. Kernels are compiled at first use and cached
/// on disk (see docs/architecture.md, "The kernel cache").
///
/// Engines and the objects made with them may be destroyed in any order, also as static objects. Their destructors do
/// not throw. In a forked child, every call on an engine made before the fork throws misuse_error, and destructors do
/// nothing.
class SYCLAMP_API engine {
 public:
  /// Makes an engine on the best available device, with a queue of its own. GPUs come before accelerators, and
  /// accelerators before CPUs. If submitted work fails, the next call on this engine or on an object made with it
  /// throws device_error.
  /// \throws no_device_error that says what to install, if there is no usable device
  engine();

  /// Makes an engine on the caller's queue. Failures of submitted work go to the queue's `async_handler`.
  /// \param queue    if it is in-order, operations go to it. Otherwise operations go to an in-order queue of the
  ///                 engine's own on the same device and context, and the next call throws failures of that queue.
  /// \param profile  name of the tuning profile. Default: the environment variable SYCLAMP_PROFILE, else the profile
  ///                 that fits the device.
  /// \throws invalid_argument if the profile does not exist or does not fit the device
  /// \throws no_device_error if the device cannot be used
  explicit engine(sycl::queue queue, std::string_view profile = {});

  // Moving is copying, so that a handle that was moved from stays usable.
  engine(const engine&) = default;
  engine(engine&& other) noexcept : engine(other) {}  // NOLINT(performance-move-*)
  engine& operator=(const engine&) = default;
  engine& operator=(engine&& other) noexcept { return *this = other; }

  /// The in-order queue to which all operations of this engine go.
  sycl::queue& queue() const;

  /// True if the engine was made with an out-of-order queue, so that only events order its operations with your work.
  bool is_ordered_by_events() const;

  /// The name of the tuning profile in use, one of `profile_names()`.
  std::string_view profile_name() const;

  /// The counters of this engine. Does not wait.
  engine_statistics statistics() const;

  /// Compiles all kernels or loads them from the cache, so that no later call compiles.
  /// \throws kernel_build_error if a kernel does not compile for the device
  void compile_all() const;

  /// Waits until all submitted work is complete.
  /// \throws device_error if some of the work failed
  /// \throws misuse_error while the queue is recorded into a graph
  void wait() const;

  // For the library's own operations.
  launch::kernel_library& kernels() const;
  sycl::event order_after(const std::vector<sycl::event>& dependencies) const;  ///< what follows on the queue waits
  void need_dependencies(const char* call, const std::vector<sycl::event>& dependencies, const char* events) const;
  void wait_for(const std::vector<sycl::event>& events) const;  ///< waits for events of any queue, in one wait
  std::shared_ptr<void> order_calls() const;                    ///< while it is held, `need_dependencies` accepts none

 private:
  struct impl;
  std::shared_ptr<impl> impl_;
};

/// The names of all tuning profiles. Every profile gives correct results on every device; they differ in speed.
SYCLAMP_API std::vector<std::string> profile_names();

}  // namespace SYCLAMP_NAMESPACE
