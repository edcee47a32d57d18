// SPDX-License-Identifier: Apache-2.0
/// \file
/// A device, the queue that feeds it, and the kernels compiled for it.
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

/// What an engine has done since it was made.
struct engine_statistics {
  std::uint64_t kernels_submitted = 0;
  std::uint64_t waits = 0;  ///< how often the host has waited for the queue, by `wait` or a function that says it waits
};

/// What every operation needs: an in-order queue, the tuning profile of its device, and the compiled kernels.
///
/// On an in-order queue of the caller's, operations follow the caller's own work on that queue. Beside an out-of-order
/// queue, the engine keeps an in-order queue of its own in the same context (`is_ordered_by_events`). Only events order
/// its operations with the caller's work: give each operation the events of the work that it depends on as
/// `dependencies`, and let your own work depend on the event that the operation returns.
///
/// An engine is a handle: copies share everything and are cheap, and moving is copying. Engines do not know of each
/// other, so any number of them, on any devices, may be used by any threads at once. Kernels are compiled when they are
/// first needed and kept on disk (see docs/architecture.md, "The kernel cache").
///
/// Engines and all objects made with them may be destroyed in any order, also as static objects. Their destructors do
/// not throw. In a forked child, every call on an engine that was made before the fork throws misuse_error, and
/// destructors do nothing.
class SYCLAMP_API engine {
 public:
  /// An engine on the best device that SYCL offers, with a queue of its own. Work that fails after it was submitted is
  /// reported by the next call on this engine, or on an object made with it, as `device_error`.
  /// \throws no_device_error, with what to install, if there is none.
  engine();

  /// An engine on the caller's queue. Work that fails after it was submitted goes to the `async_handler` of the queue.
  /// \param queue    if it is in-order, operations go to it. If not, operations go to an in-order queue of the engine's
  ///                 on the same device and context; failures of that queue are thrown by the next call.
  /// \param profile  name of the tuning profile to use; empty means the one that fits the device, or the one that the
  ///                 environment variable SYCLAMP_PROFILE names.
  /// \throws invalid_argument if there is no such profile.
  explicit engine(sycl::queue queue, std::string_view profile = {});

  // Moving is copying, so that a handle that was moved from stays usable.
  engine(const engine&) = default;
  engine(engine&& other) noexcept : engine(other) {}  // NOLINT(performance-move-*)
  engine& operator=(const engine&) = default;
  engine& operator=(engine&& other) noexcept { return *this = other; }

  /// The in-order queue to which all operations of this engine go.
  sycl::queue& queue() const;

  /// True if the engine was made with an out-of-order queue, so that its operations go to a queue of its own.
  bool is_ordered_by_events() const;

  /// Name of the profile in use, one of `profile_names()`.
  std::string_view profile_name() const;

  /// Counts of what this engine has done so far.
  engine_statistics statistics() const;

  /// Compiles (or loads from the cache) everything that this engine may ever submit, so that no later call does.
  /// \throws kernel_build_error
  void compile_all() const;

  /// Waits until all submitted work is done.
  /// \throws device_error if some of it failed; misuse_error while the queue is recorded into a graph
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

/// Names of all tuning profiles. Every profile is correct on every device; one of them is fast on it.
SYCLAMP_API std::vector<std::string> profile_names();

}  // namespace SYCLAMP_NAMESPACE
