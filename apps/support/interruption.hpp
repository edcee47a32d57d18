// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and SIGTERM that let a command end in order.
#pragma once

#include <array>
#include <csignal>

namespace syclamp::program {

/// A command ended early because it was asked to. Its exit code is 128 and the number of the signal, as shells have it:
/// 130 for SIGINT, 143 for SIGTERM.
struct interrupted {
  int signal;
};

/// While one lives, the first SIGINT or SIGTERM (which clusters send before they end a job) is noted instead of ending
/// the program; a second one of the same kind ends it as ever. A signal that is ignored stays ignored.
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
