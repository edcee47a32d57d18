// SPDX-License-Identifier: Apache-2.0
#include "launch/jit/compiled_library.hpp"

#include <cstring>
#include <map>
#include <mutex>
#include <shared_mutex>

#include <fmt/format.h>

#include "engine/process_exit.hpp"
#include "engine/warn.hpp"
#include "launch/jit/compiler.hpp"
#include "launch/jit/kernel_cache.hpp"
#include "launch/jit/ready_kernels.hpp"
#include "launch/jit/source.hpp"
#include "launch/operations.hpp"

namespace syclamp::launch::jit {
namespace {

/// Builds native code for a family of kernels when one of them is first needed.
class compiled_library final : public kernel_library {
 public:
  compiled_library(const sycl::queue& queue, const profile& tuning)
      : kernel_library(queue.get_device(), tuning),
        context_(queue.get_context()),
        device_(queue.get_device()),
        compiled_(with_offered_sub_groups(tuning, device_.get_info<sycl::info::device::sub_group_sizes>())) {}

  void prepare(const operation_base& op) override { find(op); }

 private:
  sycl::event submit_erased(sycl::queue& queue, const operation_base& op, std::uint64_t groups,
                            std::span<const argument> arguments) override {
    const sycl::kernel& kernel = find(op);
    const std::size_t size = op.group_size(tuning());
    return queue.submit([&](sycl::handler& handler) {
      int position = 0;
      for (const argument& argument : arguments) {
        // Pointers must be known as such to the runtime; anything else travels as bytes.
        if (argument.is_pointer) {
          void* pointer = nullptr;
          std::memcpy(&pointer, argument.value, sizeof pointer);
          handler.set_arg(position++, pointer);
        } else {
          handler.set_arg(position++, sycl::ext::oneapi::experimental::raw_kernel_arg(argument.value, argument.size));
        }
      }
      handler.parallel_for(sycl::nd_range<1>(groups * size, size), kernel);
    });
  }

  const sycl::kernel& find(const operation_base& op) {
    {
      const std::shared_lock lock(mutex_);
      if (const auto found = kernels_.find(&op); found != kernels_.end()) return found->second;
    }
    const std::unique_lock lock(mutex_);
    if (const auto found = kernels_.find(&op); found != kernels_.end()) return found->second;
    try {
      need_compiler();
      bundle family = load_or_build(op.family);
      for (const operation_base* member : operations)
        if (member->family == op.family)
          kernels_.emplace(member, family.ext_oneapi_get_kernel(symbol(*member, compiled_)));
      watch_compiler();
    } catch (const sycl::exception& failed) {
      throw build_error(device_, failed.what());
    }
    return kernels_.at(&op);
  }

  bundle load_or_build(std::string_view family) const {
    const std::vector<kernel_cache> caches = kernel_cache::from_environment();
    const std::string text = family_text(family, compiled_), key = environment_key(device_) + text;
    for (const kernel_cache& cache : caches) {
      auto bytes = cache.load(key);
      if (!bytes) continue;
      try {
        return load(context_, device_, *bytes);
      } catch (const sycl::exception& refused) {
        warn("ignoring the kernel cache file {}: the runtime rejected it ({}); a new one will replace it",
             cache.file_of(key).string(), refused.what());
      }
    }
    // Kernels that were just built are loaded from their bytes, like cached ones. The compiler's own bundle must not
    // outlive the compiler: an engine destroyed at process exit would call into an unloaded library.
    std::vector<char> bytes = build(family, text);
    bundle loaded = load(context_, device_, bytes);
    caches.back().store(key, bytes);
    return loaded;
  }

  /// Native code, from the SPIR-V that was made with the library if that fits, else from the source.
  std::vector<char> build(std::string_view family, const std::string& text) const {
    if (auto ready = load_ready_kernels(ready_kernels_file(tuning().name, family), spirv_key() + text)) {
      try {
        return link(context_, device_, *ready);
      } catch (const sycl::exception& refused) {
        warn(
            "the precompiled kernels \"{}\" are not used, because {} rejected them ({}); they are compiled now instead",
            family, device_.get_info<sycl::info::device::name>(), refused.what());
      }
    }
    std::vector<char> spirv = compile(device_, family_source(family, compiled_));
    return link(context_, device_, spirv);
  }

  sycl::context context_;
  sycl::device device_;
  profile compiled_;  // what the kernels are compiled with: the profile, as far as the device can follow it
  std::shared_mutex mutex_;
  std::map<const operation_base*, sycl::kernel, operation_order> kernels_;
};

}  // namespace

std::unique_ptr<kernel_library> make_compiled_library(const sycl::queue& queue, const profile& tuning) {
  return std::make_unique<compiled_library>(queue, tuning);
}

}  // namespace syclamp::launch::jit
