// SPDX-License-Identifier: Apache-2.0
// Lets a command stop in an orderly way on Ctrl-C and SIGTERM.
#pragma once

#include <array>
#include <csignal>

namespace syclamp::program {

/// Thrown when a signal has ended a command early. The exit code is 128 plus the signal number, as in shells: 130 for
/// SIGINT, 143 for SIGTERM.
struct interrupted {
  int signal;
};

/// While one lives, the first SIGINT or SIGTERM (which clusters send before they end a job) is noted instead of ending
/// the program; a second one of the same kind ends it at once. A signal that is ignored stays ignored.
class interruption {
 public:
  interruption();
  ~interruption();
  interruption(const interruption&) = delete;
  interruption& operator=(const interruption&) = delete;

  static bool is_asked_for();

  /// The signal that came first; 0 if none has come.
  static int signal();

 private:
  static constexpr std::array<int, 2> signals{SIGINT, SIGTERM};
  std::array<struct sigaction, signals.size()> before_ = {};
};

}  // namespace syclamp::program
