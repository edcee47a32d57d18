// SPDX-License-Identifier: Apache-2.0
// Kernels of a few lines of PTX, run by the emulator on arrays of the host.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "tools/emulator/machine.hpp"

/// Arrays that a kernel may access. Every other address is out of bounds.
class host_arrays {
 public:
  template <typename T>
  explicit host_arrays(std::initializer_list<std::vector<T>*> arrays) {
    for (auto* array : arrays) {
      const auto begin = reinterpret_cast<std::uint64_t>(array->data());
      extents_.push_back({begin, begin + array->size() * sizeof(T)});
    }
  }
  emulator::allocation_finder finder() const {
    return [this](std::uint64_t address) {
      for (const emulator::extent& each : extents_)
        if (address >= each.begin && address < each.end) return each;
      return emulator::extent{};
    };
  }
  std::vector<std::uint64_t> addresses() const {
    std::vector<std::uint64_t> result;
    for (const emulator::extent& each : extents_) result.push_back(each.begin);
    return result;
  }

 private:
  std::vector<emulator::extent> extents_;
};

/// A kernel with `body` that finds its arrays in %rd1, %rd2 …, its local id in %r1, its group in %r2, and 256 bytes of
/// local memory under the name `memory`.
inline emulator::program tiny_kernel(const std::string& body, std::size_t arrays = 1) {
  std::string parameters, loads;
  for (std::size_t i = 0; i < arrays; ++i) {
    const std::string name = "k_param_" + std::to_string(i);
    parameters += (i > 0 ? ", " : "") + std::string(".param .u64 .ptr .global .align 4 ") + name;
    loads += "ld.param.b64 %rd" + std::to_string(i + 1) + ", [" + name + "];\n";
  }
  const std::string text = ".version 6.3\n.target sm_75\n.address_size 64\n.visible .entry k(" + parameters +
                           ")\n{\n.reg .pred %p<9>;\n.reg .b16 %rs<9>;\n.reg .b32 %r<99>;\n.reg .b64 %rd<99>;\n"
                           ".shared .align 32 .b8 memory[256];\n" +
                           loads + "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n" + body + "\nret;\n}\n";
  return emulator::decode(emulator::parse(text), "k");
}

struct shape_of_launch {
  std::uint32_t groups = 1, group_size = 1;
  std::uint64_t seed = 1;
};

/// Runs such a kernel on one array.
inline emulator::kernel_statistics run_on(std::vector<std::uint32_t>& array, const std::string& body,
                                          shape_of_launch shape = {}) {
  const host_arrays arrays{&array};
  emulator::launch_options options;
  options.groups = shape.groups;
  options.group_size = shape.group_size;
  options.seed = shape.seed;
  options.max_instructions = 1 << 20;
  return emulator::launch(tiny_kernel(body), options, arrays.addresses(), arrays.finder());
}
