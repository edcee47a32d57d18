// SPDX-License-Identifier: Apache-2.0
#include "engine/process_exit.hpp"

#include <pthread.h>

#include <cstdlib>
#include <mutex>

#include "syclamp/error.hpp"

namespace SYCLAMP_NAMESPACE {

// These objects have no destructors, because they are read after all others were destroyed.
namespace exiting {
constinit std::atomic<runtime_state> state = runtime_state::usable;

void refuse_runtime() {
  if (state == runtime_state::lost_by_fork)
    throw misuse_error(
        "this process was forked after syclamp's first engine was made, and SYCL drivers do not work in a forked "
        "child; fork before the first engine is made, or start workers with exec (in Python: the start method "
        "\"spawn\")");
  throw misuse_error(
      "the process is exiting and the SYCL drivers are already unloaded; use syclamp before main() returns, or "
      "register your exit handler after the first engine was made");
}
}  // namespace exiting

namespace {

constinit std::atomic<bool> is_compiler_gone = false;
constinit std::once_flag runtime_is_watched, compiler_is_watched;
constinit thread_local bool has_ended = false;

struct end_of_thread {
  ~end_of_thread() { has_ended = true; }
};

void watch_thread() {
  static thread_local end_of_thread end;
  static_cast<void>(end);
}

}  // namespace

void watch_runtime() {
  watch_thread();
  std::call_once(runtime_is_watched, [] {
    std::atexit([] {
      if (!is_runtime_gone()) exiting::state = runtime_state::gone_at_exit;
    });
    pthread_atfork(nullptr, nullptr, [] { exiting::state = runtime_state::lost_by_fork; });
  });
}

void watch_compiler() {
  watch_thread();
  std::call_once(compiler_is_watched, [] { std::atexit([] { is_compiler_gone = true; }); });
}

void need_compiler() {
  need_runtime();
  need_thread();
  if (is_compiler_gone)
    throw misuse_error(
        "the process is exiting and the compiler of kernels is already unloaded; call engine::compile_all() before "
        "exit");
}

void need_thread() {
  if (has_ended)
    throw misuse_error(
        "this thread is ending and can no longer compile or launch kernels; use syclamp before the thread or main() "
        "returns, or in a new thread");
  watch_thread();
}

}  // namespace SYCLAMP_NAMESPACE
