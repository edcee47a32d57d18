// SPDX-License-Identifier: Apache-2.0
#include "launch/jit/compiler.hpp"

#include <sstream>

#include <fmt/format.h>

#include "launch/dpcpp_runtime.hpp"
#include "launch/jit/build_log.hpp"
#include "launch/jit/source.hpp"
#include "launch/jit/spirv.hpp"
#include "launch/kernel_library.hpp"
#include "syclamp/error.hpp"

namespace syclamp::launch::jit {
namespace {

namespace experimental = sycl::ext::oneapi::experimental;

std::vector<std::string> split(const std::string& words) {
  std::istringstream stream(words);
  std::vector<std::string> result;
  for (std::string word; stream >> word;) result.push_back(word);
  return result;
}

}  // namespace

const std::vector<std::string>& build_options() {
  static const auto& options = *new const std::vector<std::string>([] {  // never destroyed: see process_exit.hpp
    // One image per family: images that use different features of a device cannot be linked together.
    std::vector<std::string> list{"-std=c++20", "-O3", "-fsycl-device-code-split=off",
                                  fmt::format("-I{}", embedded_root)};
    for (const auto& flag : split(SYCLAMP_STRICT_FP_DEVICE_FLAGS)) list.push_back(flag);
    return list;
  }());
  return options;
}

std::string spirv_key() {
  std::string key = fmt::format("compiler: {}, {}\n", compiler(), dpcpp_runtime_release());
  for (const auto& option : build_options()) key += fmt::format("option: {}\n", option);
  return key + fmt::format("marks: {}\n", mark_version);
}

std::string environment_key(const sycl::device& device) {
  std::string key = spirv_key();
  key += fmt::format("runtime: {}\n", dpcpp_runtime_version());
  key += fmt::format("platform: {}\n", device.get_platform().get_info<sycl::info::platform::version>());
  key += fmt::format("device: {} {}\n", device.get_info<sycl::info::device::vendor>(),
                     device.get_info<sycl::info::device::name>());
  key += fmt::format("driver: {} {}\n", device.get_info<sycl::info::device::driver_version>(),
                     device.get_info<sycl::info::device::version>());
  return key;
}

std::vector<char> compile(const sycl::device& device, const std::string& source,
                          const std::vector<std::string>& options) {
  experimental::include_files headers;
  for (const auto& file : embedded_files())
    headers.add(fmt::format("{}{}", embedded_root, file.path), std::string(file.text));
  std::string log;
  try {
    const sycl::context context(device);
    auto text = experimental::create_kernel_bundle_from_source(context, experimental::source_language::sycl, source,
                                                               experimental::properties{headers});
    const auto object = experimental::compile(
        text, {device}, experimental::properties{experimental::save_log{&log}, experimental::build_options{options}});
    std::vector<char> spirv = object.ext_oneapi_get_content();
    mark_vector_kernels(spirv);
    return spirv;
  } catch (const sycl::exception& failed) {
    throw build_error(device, fmt::format("{}\n{}", failed.what(), log));
  }
}

std::vector<char> link(const sycl::context& context, const sycl::device& device, std::vector<char>& spirv) {
  // All three must outlive the build: each refers to memory of the one before it.
  const sycl::span<char> bytes(spirv);
  const auto object = experimental::get_kernel_bundle<sycl::bundle_state::object>(context, {device}, bytes);
  const bundle linked = sycl::link(object);
  return linked.ext_oneapi_get_content();
}

kernel_build_error build_error(const sycl::device& device, const std::string& log) {
  return {explain_build_failure(device.get_info<sycl::info::device::name>(), log), log};
}

bundle load(const sycl::context& context, const sycl::device& device, std::vector<char>& native) {
  return experimental::get_kernel_bundle<sycl::bundle_state::executable>(context, {device}, sycl::span<char>(native));
}

}  // namespace syclamp::launch::jit
