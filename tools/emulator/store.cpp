// SPDX-License-Identifier: Apache-2.0
#include "tools/emulator/store.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

namespace emulator {
namespace {

std::string text_of(const std::vector<std::filesystem::path>& folders, std::string name) {
  std::ranges::replace(name, '/', '-');
  for (const auto& folder : folders)
    if (std::ifstream file(folder / (name + ".ptx")); file) return {std::istreambuf_iterator<char>(file), {}};
  throw unsupported("there is no file " + name + ".ptx; build the target nvidia_ptx");
}

}  // namespace

const program& kernel_store::find(std::string_view family, const std::string& symbol) {
  const std::lock_guard lock(reading_);
  if (const auto known = kernels_.find(symbol); known != kernels_.end()) return known->second;
  auto text = families_.find(family);
  if (text == families_.end()) text = families_.emplace(family, parse(text_of(folders_, std::string(family)))).first;
  return kernels_.emplace(symbol, decode(text->second, "__sycl_kernel_" + symbol)).first->second;
}

void kernel_store::run(const program& kernel, launch_options options, std::span<const std::uint64_t> arguments,
                       const allocation_finder& find_allocation) {
  const std::lock_guard lock(running_);
  options.seed += launches_++;  // every launch in another order, and in the same one in the next run
  statistics_[kernel.name] += launch(kernel, options, arguments, find_allocation);
}

}  // namespace emulator
