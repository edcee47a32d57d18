// SPDX-License-Identifier: Apache-2.0
// Compiles the kernels of a profile to SPIR-V, one file per family (cmake/ready_kernels.cmake).
//   ready_kernels PROFILE FOLDER STAMP
// Files that are up to date stay as they are. STAMP is written when all files are there. Without a device to compile
// for, the program warns and succeeds: those kernels are then compiled when they are used.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <sycl/sycl.hpp>

#include "backends/profiles.hpp"
#include "launch/jit/compiler.hpp"
#include "launch/jit/ready_kernels.hpp"
#include "launch/jit/source.hpp"
#include "launch/jit/spirv.hpp"
#include "launch/operations.hpp"
#include "support/whole_file.hpp"
#include "syclamp/error.hpp"

namespace {

using namespace syclamp;
using namespace syclamp::launch;
namespace fs = std::filesystem;

enum exit_status { good = 0, failed = 1, usage = 2, no_device = 3 };

/// Operations for some devices only are left out: they are compiled where they are used.
std::set<std::string_view> families() {
  std::set<std::string_view> all;
  for (const operation_base* op : operations)
    if (!op->is_optional) all.insert(op->family);
  return all;
}

/// Compiles one family, in a process of its own.
exit_status compile_family(std::string_view family, const profile& tuning, const fs::path& file,
                           const std::string& key) {
  for (sycl::device device : sycl::device::get_devices()) {
    if (!device.ext_oneapi_can_build(sycl::ext::oneapi::experimental::source_language::sycl)) continue;
    try {
      const std::vector<char> spirv = jit::compile(device, jit::family_source(family, tuning));
      if (jit::spirv_modules(spirv).empty()) continue;  // not for this device
      jit::store_ready_kernels(file, key, spirv);
      return good;
    } catch (const kernel_build_error& problem) {
      std::cerr << "ready_kernels: " << family << ": " << problem.what() << '\n' << problem.log() << '\n';
      return failed;
    }
  }
  return no_device;
}

/// Processes that compile at the same time, one family each.
class workers {
 public:
  template <typename Work>
  void start(const Work& work) {
    if (running_ == std::max(1u, std::thread::hardware_concurrency())) wait_for_one();
    const pid_t child = fork();
    if (child == 0) {
      exit_status status = failed;
      try {
        status = work();
      } catch (const std::exception& problem) {
        std::cerr << "ready_kernels: " << problem.what() << '\n';
      }
      std::cerr.flush();
      std::_Exit(status);
    }
    if (child < 0) throw std::runtime_error("no further process can be started");
    ++running_;
  }

  /// The worst status of all.
  int finish() {
    while (running_ != 0) wait_for_one();
    return worst_;
  }

 private:
  void wait_for_one() {
    int status = 0;
    if (wait(&status) < 0) throw std::runtime_error("a process that was started cannot be waited for");
    --running_;
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : failed;
    if (worst_ != failed && code != good) worst_ = code;
  }

  unsigned running_ = 0;
  int worst_ = good;
};

int run(const profile& tuning, const fs::path& folder, const fs::path& stamp) {
  std::set<fs::path> files;
  workers compilers;
  fs::create_directories(folder / tuning.name);
  for (const std::string_view family : families()) {
    const fs::path file = folder / jit::ready_kernels_name(tuning.name, family);
    const std::string key = jit::spirv_key() + jit::family_text(family, tuning);
    files.insert(file);
    if (jit::load_ready_kernels(file, key)) continue;
    compilers.start([&tuning, family, file, key] { return compile_family(family, tuning, file, key); });
  }
  const int status = compilers.finish();
  std::vector<fs::path> outdated;
  for (const auto& entry : fs::directory_iterator(folder / tuning.name))
    if (!files.contains(entry.path())) outdated.push_back(entry.path());
  for (const fs::path& file : outdated) fs::remove(file);
  if (status == no_device) {
    std::cerr << "ready_kernels: warning: no SYCL device to compile the profile " << tuning.name
              << " for; its kernels are compiled when they are first used\n";
    return good;
  }
  if (status == good) replace_file(stamp, "");
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  const profile* tuning = argc == 4 ? backends::find(argv[1]) : nullptr;
  if (tuning == nullptr) {
    std::cerr << "usage: ready_kernels PROFILE FOLDER STAMP\n";
    return usage;
  }
  try {
    return run(*tuning, argv[2], argv[3]);
  } catch (const std::exception& problem) {
    std::cerr << "ready_kernels: " << problem.what() << '\n';
    return failed;
  }
}
