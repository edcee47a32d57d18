// SPDX-License-Identifier: Apache-2.0
// The launch seam of test programs that execute PTX: kernels of the profile nvidia_gpu run in the emulator, those of
// other profiles run on the device. It takes the place of src/launch/jit/kernel_library.cpp; nothing of it is in the
// library.
//
// Environment:
//   SYCLAMP_EMULATOR_PTX          folder with PTX that replaces files of the build: for planted faults
//   SYCLAMP_EMULATOR_EXECUTED     file for the names of the kernels that were executed
//   SYCLAMP_EMULATOR_SEED         number that decides in which order work-groups run; 1 if it is not set
#include "launch/kernel_library.hpp"

#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include <sycl/sycl.hpp>

#include "launch/jit/compiled_library.hpp"
#include "launch/jit/source.hpp"
#include "tools/emulator/exit_status.hpp"
#include "tools/emulator/kernel_library.hpp"
#include "tools/emulator/store.hpp"

namespace syclamp::launch {
namespace {

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Never destroyed: kernels may run while the process ends.
emulator::kernel_store& kernels() {
  static auto& store = *new emulator::kernel_store([] {
    std::vector<std::filesystem::path> folders;
    if (const std::string folder = setting("SYCLAMP_EMULATOR_PTX"); !folder.empty()) folders.emplace_back(folder);
    folders.emplace_back(SYCLAMP_PTX_FOLDER);
    return folders;
  }());
  return store;
}

/// The file of SYCLAMP_EMULATOR_EXECUTED. It is complete whatever way the process ends.
class executed_names {
 public:
  explicit executed_names(const std::string& file) {
    if (file.empty()) return;
    file_.open(file);  // empties what an earlier run has left
    if (!file_) throw std::runtime_error("SYCLAMP_EMULATOR_EXECUTED: cannot write " + file);
  }

  void add(const std::string& name) {
    const std::lock_guard lock(adding_);
    if (file_.is_open() && known_.insert(name).second) file_ << name << '\n' << std::flush;
  }

 private:
  std::mutex adding_;
  std::ofstream file_;
  std::set<std::string> known_;
};

executed_names& executed() {
  static auto& names = *new executed_names(setting("SYCLAMP_EMULATOR_EXECUTED"));
  return names;
}

/// Asks the OpenCL driver which of its allocations holds an address.
class driver_allocations {
 public:
  explicit driver_allocations(const sycl::queue& queue)
      : context_(sycl::get_native<sycl::backend::opencl>(queue.get_context())) {
    const cl_platform_id platform = sycl::get_native<sycl::backend::opencl>(queue.get_device().get_platform());
    ask_ = reinterpret_cast<clGetMemAllocInfoINTEL_fn>(
        clGetExtensionFunctionAddressForPlatform(platform, "clGetMemAllocInfoINTEL"));
    if (ask_ == nullptr) throw std::runtime_error("the OpenCL driver cannot say what it has allocated");
  }

  emulator::extent operator()(std::uint64_t address) const {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): kernels have addresses as numbers
    const void* pointer = reinterpret_cast<const void*>(address);
    void* begin = nullptr;
    std::size_t bytes = 0;
    if (ask_(context_, pointer, CL_MEM_ALLOC_BASE_PTR_INTEL, sizeof begin, &begin, nullptr) != CL_SUCCESS ||
        ask_(context_, pointer, CL_MEM_ALLOC_SIZE_INTEL, sizeof bytes, &bytes, nullptr) != CL_SUCCESS)
      return {};
    const auto first = reinterpret_cast<std::uint64_t>(begin);
    return {first, first + bytes};
  }

 private:
  cl_context context_;
  clGetMemAllocInfoINTEL_fn ask_ = nullptr;
};

class emulated_library final : public kernel_library {
 public:
  emulated_library(const sycl::queue& queue, const profile& tuning)
      : kernel_library(queue.get_device(), tuning), allocations_(queue) {}

  void prepare(const operation_base& op) override { kernels().find(op.family, jit::symbol(op, tuning())); }

 private:
  sycl::event submit_erased(sycl::queue& queue, const operation_base& op, std::uint64_t groups,
                            std::span<const argument> arguments) override {
    const emulator::program& kernel = kernels().find(op.family, jit::symbol(op, tuning()));
    std::vector<std::uint64_t> values;
    for (const argument& each : arguments) {
      std::uint64_t value = 0;
      std::memcpy(&value, each.value, each.size);
      values.push_back(value);
    }
    emulator::launch_options options;
    options.groups = static_cast<std::uint32_t>(groups);
    options.group_size = op.group_size(tuning());
    if (const std::string seed = setting("SYCLAMP_EMULATOR_SEED"); !seed.empty()) options.seed = std::stoull(seed);
    return queue.submit([&](sycl::handler& handler) {
      handler.host_task([values, options, &kernel, allocations = allocations_] {
        try {
          kernels().run(kernel, options, values, allocations);
          executed().add(kernel.name);
        } catch (const std::exception& problem) {
          // The device is lost, and with it the test: nothing that the library could do would help.
          std::cerr << "emulator: " << problem.what() << '\n' << std::flush;
          std::_Exit(emulator::exit_after_fault);
        }
      });
    });
  }

  driver_allocations allocations_;
};

}  // namespace

std::unique_ptr<kernel_library> make_kernel_library(const sycl::queue& queue, const profile& tuning) {
  if (tuning.name != "nvidia_gpu") return jit::make_compiled_library(queue, tuning);
  executed();
  return std::make_unique<emulated_library>(queue, tuning);
}

}  // namespace syclamp::launch

const emulator::kernel_store& emulator::executed_kernels() { return syclamp::launch::kernels(); }
