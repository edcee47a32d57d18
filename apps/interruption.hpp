// SPDX-License-Identifier: Apache-2.0
// Ctrl-C that lets a command end in order.
#pragma once

#include <csignal>

namespace syclamp::program {

/// A command ended early because it was asked to: exit code 130, as shells have it.
struct interrupted {};

/// While one lives, the first SIGINT is noted instead of ending the program; a second one ends it as ever.
/// SIGINT that is ignored stays ignored.
class interruption {
 public:
  interruption();
  ~interruption();
  interruption(const interruption&) = delete;
  interruption& operator=(const interruption&) = delete;

  static bool is_asked_for();

 private:
  struct sigaction before_ = {};
};

}  // namespace syclamp::program
