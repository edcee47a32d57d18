// SPDX-License-Identifier: Apache-2.0
// kill -9 at any moment leaves the old or the new checkpoint, whole, and training that was killed many times ends as
// training that was not.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "tests/support/resumable_program.hpp"
#include "tests/support/state_equality.hpp"
#include "tests/support/temporary_folder.hpp"

namespace fs = std::filesystem;

namespace {

/// The program that trains, and what it says.
class child_process {
 public:
  child_process(const fs::path& file, std::uint64_t steps, unsigned call, bool afterwards) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    std::vector<std::string> words{SYCLAMP_CHECKPOINT_SAVER, file.string(), std::to_string(steps), std::to_string(call),
                                   afterwards ? "1" : "0"};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    REQUIRE(posix_spawn(&id_, SYCLAMP_CHECKPOINT_SAVER, &actions, nullptr, arguments.data(), environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    output_ = ends[0];
  }
  ~child_process() { close(output_); }
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;

  /// The next byte; 0 if there is none, because the program has ended.
  char hear() const {
    char byte = 0;
    return read(output_, &byte, 1) == 1 ? byte : '\0';
  }

  void kill_now() const { kill(id_, SIGKILL); }

  /// \return as waitpid says
  int wait() const {
    int status = -1;
    waitpid(id_, &status, 0);
    return status;
  }

 private:
  pid_t id_ = -1;
  int output_ = -1;
};

/// How training goes if nobody kills it: its content and the scaler after each step.
struct history {
  explicit history(std::uint64_t steps) {
    resumable_program program;
    remember(program);
    for (std::uint64_t i = 0; i < steps; ++i) {
      program.run.step(i);
      remember(program);
    }
  }
  void remember(resumable_program& program) {
    content.push_back(program.run.read());
    states.push_back(program.run.scaler.state());
  }

  std::vector<training_content> content;
  std::vector<syclamp::scaler_snapshot> states;
};

/// Looks at files.
struct examiner {
  explicit examiner(std::uint64_t steps) : right(steps) {}

  /// The step after which the file was saved, or 0 without a file. The content must be bit-identical to that step.
  std::uint64_t step_of(const fs::path& file) {
    if (!fs::exists(file)) return 0;
    const std::uint64_t step = std::stoull(syclamp::load_checkpoint(file, program.run.parts()));
    REQUIRE(step < right.content.size());
    CHECK(program.run.read() == right.content[step]);
    CHECK(same(program.run.scaler.state(), right.states[step]));
    return step;
  }

  history right;
  resumable_program program;
};

std::ptrdiff_t files_in(const fs::path& folder) { return std::distance(fs::directory_iterator(folder), {}); }

}  // namespace

TEST_CASE("checkpoint: killed at every call to the system, training has the old or the new file, and resumes") {
  const temporary_folder folder;
  const fs::path file = folder.path() / "run.ckpt";
  const std::uint64_t most = 200;
  examiner examine(most);
  std::uint64_t step = 0;
  unsigned kills = 0;
  for (const bool afterwards : {false, true})
    for (unsigned call = 1;; ++call, ++kills) {
      CAPTURE(call, afterwards, step);
      // One more step, so that a process that is not killed while it saves that one has been at all of its calls.
      const child_process child(file, step + 1, call, afterwards);
      unsigned saved = 0;
      for (char said = child.hear(); said != '\0'; said = child.hear()) saved += said == 'd';
      const int status = child.wait();
      const std::uint64_t now = examine.step_of(file);
      REQUIRE((now == step || now == step + 1));
      if (saved != 0) CHECK(now == step + 1);  // what was reported to be saved is there
      CHECK(files_in(folder.path()) <= 2);     // the checkpoint and the rest of the last one that was killed
      step = now;
      if (WIFEXITED(status)) {
        REQUIRE(WEXITSTATUS(status) == 0);
        break;
      }
      REQUIRE(WTERMSIG(status) == SIGKILL);
      REQUIRE(step < most);
    }
  CHECK(kills > 20);
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("checkpoint: training that is killed at random moments ends as if it had not been") {
  const temporary_folder folder;
  const fs::path file = folder.path() / "run.ckpt";
  constexpr std::uint64_t steps = 60;
  examiner examine(steps);
  std::mt19937 random(20);
  std::uint64_t step = 0;
  unsigned kills = 0;
  while (step < steps) {
    const child_process child(file, steps, 0, false);
    // Bytes that are heard before it is killed: it is about to save, or has saved, or is some way on by then.
    auto patience = 1 + random() % 12;
    unsigned saved = 0;
    char said = child.hear();
    for (; said != '\0' && patience > 1; --patience, said = child.hear()) saved += said == 'd';
    for (auto spin = random() % 1000'000; spin != 0; --spin) asm volatile("");  // to other moments than those
    if (said != '\0') child.kill_now();
    saved += said == 'd';
    const int status = child.wait();
    REQUIRE((WIFSIGNALED(status) || WEXITSTATUS(status) == 0));
    kills += WIFSIGNALED(status);
    const std::uint64_t now = examine.step_of(file);
    CHECK(now >= step + saved);
    CHECK(files_in(folder.path()) <= 2);
    step = now;
  }
  CHECK(kills >= 5);
}
