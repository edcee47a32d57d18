// SPDX-License-Identifier: Apache-2.0
// Trains and saves after each step, until it is done or killed. If the file exists, training resumes from it.
//   checkpoint_saver FILE STEPS CALL AFTERWARDS
// It is killed at its call number CALL to the system while it saves, if that is not 0 (tests/support/kill_points.hpp).
// It says by a byte each on standard output that it is about to save (s), and that it has saved (d).
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "tests/support/kill_points.hpp"
#include "tests/support/resumable_program.hpp"

int main(int, char** arguments) {
  const std::string file = arguments[1];
  const std::uint64_t steps = std::stoull(arguments[2]);
  const auto call = static_cast<unsigned>(std::stoul(arguments[3]));
  const auto say = [](char subject) { return write(STDOUT_FILENO, &subject, 1) == 1; };

  resumable_program program;
  std::uint64_t step = std::filesystem::exists(file) ? std::stoull(load_checkpoint(file, program.run.parts())) : 0;
  for (; step < steps; ++step) {
    program.run.step(step);
    program.run.engine.wait();
    if (!say('s')) return EXIT_FAILURE;
    if (call != 0) kill_at(call, arguments[4][0] == '1');
    save_checkpoint(file, program.run.parts(), std::to_string(step + 1));
    if (!say('d')) return EXIT_FAILURE;
  }
}
