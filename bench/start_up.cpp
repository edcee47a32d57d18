// SPDX-License-Identifier: Apache-2.0
#include "bench/start_up.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include "syclamp/syclamp.hpp"

namespace syclamp::bench {
namespace {

namespace fs = std::filesystem;

/// Seconds that `program arguments…` takes, its output thrown away.
double seconds_of(const std::string& program, std::vector<std::string> arguments) {
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (auto& one : arguments) argv.push_back(one.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t silence;
  posix_spawn_file_actions_init(&silence);
  posix_spawn_file_actions_addopen(&silence, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  const auto start = std::chrono::steady_clock::now();
  pid_t child = 0;
  int status = posix_spawn(&child, program.c_str(), &silence, nullptr, argv.data(), environ);
  if (status == 0) waitpid(child, &status, 0);
  posix_spawn_file_actions_destroy(&silence);
  if (status != 0) throw std::runtime_error("cannot measure the start-up: " + program + " failed");
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median_of(std::vector<double> times) {
  std::ranges::sort(times);
  return times[times.size() / 2];
}

/// A kernel cache of our own, gone at the end; the user's is back in force then.
class own_cache {
 public:
  own_cache() {
    std::string name = (fs::temp_directory_path() / "syclamp-start-up-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a folder in " + name);
    folder_ = name;
    if (const char* users = std::getenv("SYCLAMP_CACHE_DIR")) users_ = users;
    setenv("SYCLAMP_CACHE_DIR", name.c_str(), 1);
  }
  ~own_cache() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
    users_.empty() ? unsetenv("SYCLAMP_CACHE_DIR") : setenv("SYCLAMP_CACHE_DIR", users_.c_str(), 1);
  }
  void clear() const {
    for (const auto& file : fs::directory_iterator(folder_)) fs::remove(file);
  }

 private:
  fs::path folder_;
  std::string users_;
};

}  // namespace

start_up_times measure_start_up(const std::string& program) {
  const own_cache cache;
  std::vector<double> cold, warm, info;
  for (int i = 0; i < 3; ++i) {
    cache.clear();
    cold.push_back(seconds_of(program, {"bench", "--first-operation"}));
    warm.push_back(seconds_of(program, {"bench", "--first-operation"}));
    seconds_of(program, {"info"});
    info.push_back(seconds_of(program, {"info"}));
  }
  return {median_of(cold), median_of(warm), median_of(info)};
}

void first_operation() {
  const engine on;
  const std::vector<float> numbers(1024, 1.0f);
  float* data = sycl::malloc_device<float>(numbers.size(), on.queue());
  on.queue().memcpy(data, numbers.data(), numbers.size() * sizeof(float));
  const inspection seen = inspect(on, {data, numbers.size()});
  sycl::free(data, on.queue());
  if (seen.sum_of_squares != 1024.0f) throw std::runtime_error("the first operation gave a wrong result");
}

}  // namespace syclamp::bench
