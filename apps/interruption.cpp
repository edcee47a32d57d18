// SPDX-License-Identifier: Apache-2.0
#include "apps/interruption.hpp"

#include <atomic>

namespace syclamp::program {
namespace {

std::atomic<bool> was_asked_for = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a handler of signals may not wait");

}  // namespace

interruption::interruption() {
  was_asked_for = false;
  sigaction(SIGINT, nullptr, &before_);
  if (before_.sa_handler == SIG_IGN) return;  // whoever started the program does not want it to be interrupted
  struct sigaction noted = {};
  noted.sa_handler = [](int) { was_asked_for = true; };
  noted.sa_flags = static_cast<int>(SA_RESETHAND);
  sigemptyset(&noted.sa_mask);
  sigaction(SIGINT, &noted, nullptr);
}

interruption::~interruption() { sigaction(SIGINT, &before_, nullptr); }

bool interruption::is_asked_for() { return was_asked_for; }

}  // namespace syclamp::program
