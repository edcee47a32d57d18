// SPDX-License-Identifier: Apache-2.0
// The engine of the Python package: the library's engine, and what Python adds to it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include <nanobind/nanobind.h>
#include <sycl/sycl.hpp>

#include <syclamp/engine.hpp>

namespace syclamp::python {

/// An engine, with the rules of Python for memory that the host reads.
///
/// An operation that writes host memory, such as a NumPy array, is complete when its call returns. Inside a deferral it
/// is complete after the deferral. If the caller's queue is out-of-order, barriers on that queue order its commands
/// with the engine's.
class engine_handle {
 public:
  engine_handle();
  engine_handle(const sycl::queue& queue, std::string_view profile);
  ~engine_handle();  ///< waits if submitted work still uses memory
  engine_handle(const engine_handle&) = delete;
  engine_handle& operator=(const engine_handle&) = delete;

  const engine& native() const { return engine_; }

  /// True if operations run in order with the commands of `queue`.
  bool serves(const sycl::queue& queue) const;

  /// Makes a call that may wait or compile: without the GIL, so that other threads of Python run, and one call at a
  /// time, because objects of the library are used by one thread at a time. Code that needs Python acquires the GIL
  /// again.
  template <typename Work>
  decltype(auto) call(const Work& work) {
    const nanobind::gil_scoped_release others_run;
    const std::scoped_lock one_at_a_time(calls_);
    return work();
  }

  /// Locks the engine against calls of other threads, for calls that use several engines. Take it without the GIL.
  std::unique_lock<std::recursive_mutex> lock() { return std::unique_lock(calls_); }

  // The rest is for use inside `call`.

  /// The events that the next operation depends on: earlier commands of the caller's out-of-order queue.
  std::vector<sycl::event> dependencies();

  /// Makes later commands of the caller's out-of-order queue wait for all operations so far.
  void order_caller();

  /// Ends an operation. Waits if it wrote host memory and no deferral is open.
  /// \param done         the event of the operation
  /// \param owners       memory that the operation uses; it is kept until the operation is complete
  /// \param writes_host  true if the operation writes memory that the host may read at once
  void finish(const sycl::event& done, std::vector<std::shared_ptr<void>> owners, bool writes_host);

  /// Keeps memory, and that of later calls, until an event is complete. The event may be of another queue.
  void keep_until(const sycl::event& done, std::vector<std::shared_ptr<void>> owners = {});

  void wait();          ///< waits for all submitted work and releases memory
  void defer();         ///< opens a deferral; deferrals nest
  void end_deferral();  ///< closes a deferral; the outermost one waits
  bool is_deferred() const { return deferrals_ > 0; }

  /// True if kernels can use memory of `malloc`, which NumPy arrays are.
  bool reads_host_memory() const { return reads_host_memory_; }

 private:
  struct submitted_work {
    sycl::event done;
    std::vector<std::shared_ptr<void>> owners;  ///< of the memory that the work uses
  };

  void release_complete();

  engine engine_;
  std::optional<sycl::queue> callers_queue_;  ///< only if it is out-of-order
  bool reads_host_memory_;
  std::uint32_t deferrals_ = 0;
  std::deque<submitted_work> in_use_;  ///< oldest first
  std::recursive_mutex calls_;         ///< recursive, because a handler of records may call the library
};

}  // namespace syclamp::python
