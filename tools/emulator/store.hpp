// SPDX-License-Identifier: Apache-2.0
// The kernels that the build has compiled to PTX, and how often each of them was executed.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "tools/emulator/machine.hpp"

namespace emulator {

/// Safe to use from several threads. Kernels are read when they are first asked for, and stay.
class kernel_store {
 public:
  /// A file of an earlier folder hides files of the same name in later ones.
  explicit kernel_store(std::vector<std::filesystem::path> folders) : folders_(std::move(folders)) {}

  /// The kernel `symbol` of a family such as `tensors/inspect`. \throws unsupported
  const program& find(std::string_view family, const std::string& symbol);

  /// One launch at a time. \throws fault
  void run(const program& kernel, launch_options options, std::span<const std::uint64_t> arguments,
           const allocation_finder& find_allocation);

  /// By the name of the kernel.
  const std::map<std::string, kernel_statistics>& statistics() const { return statistics_; }

 private:
  std::vector<std::filesystem::path> folders_;
  std::mutex reading_, running_;
  std::map<std::string, module, std::less<>> families_;
  std::map<std::string, program> kernels_;
  std::map<std::string, kernel_statistics> statistics_;
  std::uint64_t launches_ = 0;
};

}  // namespace emulator
