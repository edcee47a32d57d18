// SPDX-License-Identifier: Apache-2.0
#include "apps/interruption.hpp"

#include <csignal>

namespace syclamp::program {
namespace {

volatile std::sig_atomic_t was_asked_for = 0;

}  // namespace

interruption::interruption() {
  was_asked_for = 0;
  std::signal(SIGINT, [](int) {
    was_asked_for = 1;
    std::signal(SIGINT, SIG_DFL);
  });
}

interruption::~interruption() { std::signal(SIGINT, SIG_DFL); }

bool interruption::is_asked_for() { return was_asked_for != 0; }

}  // namespace syclamp::program
