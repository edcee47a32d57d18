// SPDX-License-Identifier: Apache-2.0
// Tracks whether SYCL can still be called while the process exits or after it was forked.
//
// Exit handlers run in the reverse order in which they were registered. SYCL's drivers are loaded by the first engine
// and register handlers then. A handler of the user that was registered earlier runs when the drivers are gone already:
// every call into them would end the process. The same holds for compilers, which begin with the first kernel. So the
// library registers handlers of its own, just after theirs, which raise a flag.
//
// Before any handler, the thread that ends the process loses its thread-local objects, and with them those of SYCL and
// of the compilers. A kernel that is built on such a thread ends the process later; DPC++ writes the arguments of a
// kernel that is launched there into freed memory. A new thread can do both.
//
// A forked child has the drivers' memory but none of their threads: a call into them would hang. The first engine
// registers a handler that raises the flag in every child. A child of a process without an engine can use SYCL.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "syclamp/export.hpp"

namespace SYCLAMP_NAMESPACE {

/// To be called when an engine has been made, and when a kernel has been built.
void watch_runtime();
void watch_compiler();

enum class runtime_state : std::uint8_t { usable, gone_at_exit, lost_by_fork };

namespace exiting {
extern std::atomic<runtime_state> state;
[[noreturn]] void refuse_runtime();
}  // namespace exiting

/// True once the drivers may be unloaded. No SYCL function may be called then, not even to free memory.
inline bool is_runtime_gone() { return exiting::state.load(std::memory_order_relaxed) != runtime_state::usable; }

/// \throws misuse_error if the runtime is gone
inline void need_runtime() {
  if (is_runtime_gone()) exiting::refuse_runtime();
}

/// \throws misuse_error if the runtime or the compiler of the kernels is gone, or this thread has ended
void need_compiler();

/// Exported for the modules.
/// \throws misuse_error if this thread has lost what SYCL needs to compile or launch
SYCLAMP_API void need_thread();

/// A deleter that leaks the object if the runtime is gone.
struct state_deleter {
  template <typename T>
  void operator()(T* object) const {
    if (!is_runtime_gone()) delete object;
  }
};

/// The same for an object with one owner.
template <typename T>
void leave_to_exit(std::unique_ptr<T>& object) {
  [[maybe_unused]] const T* left = object.release();
}

/// What handles share.
template <typename T, typename... Args>
std::shared_ptr<T> make_state(Args&&... args) {
  return std::shared_ptr<T>(new T(std::forward<Args>(args)...), state_deleter{});
}

}  // namespace SYCLAMP_NAMESPACE
