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
#include <string_view>
#include <vector>

#include "syclamp/syclamp.hpp"

namespace syclamp::bench {
namespace {

namespace fs = std::filesystem;

/// Seconds that `program arguments…` takes with kernels cached in `cache`. Its output is discarded.
double seconds_of(std::string program, std::vector<std::string> arguments, const fs::path& cache) {
  std::vector<char*> argv{program.data()};
  for (auto& entry : arguments) argv.push_back(entry.data());
  argv.push_back(nullptr);
  std::string cache_here = "SYCLAMP_CACHE_DIR=" + cache.string();
  std::vector<char*> variables;
  for (char** character = environ; *character != nullptr; ++character)
    if (!std::string_view(*character).starts_with("SYCLAMP_CACHE")) variables.push_back(*character);
  variables.push_back(cache_here.data());
  variables.push_back(nullptr);
  posix_spawn_file_actions_t silence;
  posix_spawn_file_actions_init(&silence);
  posix_spawn_file_actions_addopen(&silence, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  const auto start = std::chrono::steady_clock::now();
  pid_t child = 0;
  int status = posix_spawn(&child, program.c_str(), &silence, nullptr, argv.data(), variables.data());
  if (status == 0) waitpid(child, &status, 0);
  posix_spawn_file_actions_destroy(&silence);
  if (status != 0) throw std::runtime_error("cannot measure the start-up time: " + program + " failed");
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median_of(std::vector<double> times) {
  std::ranges::sort(times);
  return times[times.size() / 2];
}

/// A new folder, gone at the end.
struct own_folder {
  own_folder() {
    std::string name = (fs::temp_directory_path() / "syclamp-start-up-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot create a temporary folder like " + name);
    path = name;
  }
  ~own_folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  own_folder(const own_folder&) = delete;
  own_folder& operator=(const own_folder&) = delete;

  fs::path path;
};

}  // namespace

start_up_times measure_start_up(const std::string& program) {
  const own_folder folder;
  const auto measure = [&](const std::string& name, const std::vector<std::string>& arguments) {
    std::vector<double> cold, warm;
    for (int i = 0; i < 3; ++i) {
      const fs::path cache = folder.path / (name + std::to_string(i));
      cold.push_back(seconds_of(program, arguments, cache));
      warm.push_back(seconds_of(program, arguments, cache));
    }
    return start_up_time{median_of(cold), median_of(warm)};
  };
  return {.first_operation = measure("operation", {"bench", "--first-operation"}),
          .first_step = measure("step", {"bench", "--first-step"}),
          .info = measure("info", {"info"})};
}

void first_operation() {
  const syclamp::engine engine;
  const std::vector<float> numbers(1024, 1.0f);
  const device_array data(engine, numbers);
  const inspection result = inspect(engine, data);
  if (result.sum_of_squares != 1024.0f) throw std::runtime_error("the first operation gave a wrong result");
}

void first_step() {
  const syclamp::engine engine;
  constexpr std::size_t elements = 1024;
  auto* gradient = sycl::malloc_device<sycl::half>(elements, engine.queue());
  auto* model = sycl::malloc_device<sycl::half>(elements, engine.queue());
  engine.queue().fill(gradient, sycl::half(1.0f), elements);
  engine.queue().fill(model, sycl::half(1.0f), elements);
  {
    fused_optimizer optimizer(engine, {{.gradient = {gradient, elements}, .model = {model, elements}}}, adamw{});
    loss_scaler scaler(engine);
    scaler.prepare(optimizer.gradients());
    scaler.begin_step();
    scaler.step(optimizer);
    scaler.update();
    engine.wait();
    if (!scaler.outcome().was_applied()) throw std::runtime_error("the first step was not applied");
  }
  sycl::free(gradient, engine.queue());
  sycl::free(model, engine.queue());
}

}  // namespace syclamp::bench
