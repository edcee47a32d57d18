// SPDX-License-Identifier: Apache-2.0
#include "apps/support/interruption.hpp"

#include <atomic>

namespace syclamp::program {
namespace {

std::atomic<int> first_signal = 0;
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler must not block");

void note(int signal) {
  int none = 0;
  first_signal.compare_exchange_strong(none, signal);
}

}  // namespace

interruption::interruption() {
  first_signal = 0;
  struct sigaction noted = {};
  noted.sa_handler = note;
  noted.sa_flags = static_cast<int>(SA_RESETHAND);
  sigemptyset(&noted.sa_mask);
  for (std::size_t i = 0; i < signals.size(); ++i) {
    sigaction(signals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler == SIG_IGN) continue;  // the parent process has disabled this signal
    sigaction(signals[i], &noted, nullptr);
  }
}

interruption::~interruption() {
  for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &before_[i], nullptr);
}

bool interruption::is_asked_for() { return first_signal != 0; }

int interruption::signal() { return first_signal; }

}  // namespace syclamp::program
