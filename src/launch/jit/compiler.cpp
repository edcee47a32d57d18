// SPDX-License-Identifier: Apache-2.0
#include "launch/jit/compiler.hpp"

#include <sstream>

#include <fmt/format.h>

#include "launch/dpcpp_runtime.hpp"
#include "launch/jit/build_log.hpp"
#include "launch/jit/source.hpp"
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
    std::vector<std::string> list{"-std=c++20", "-O3", fmt::format("-I{}", embedded_root)};
    for (const auto& flag : split(SYCLAMP_STRICT_FP_DEVICE_FLAGS)) list.push_back(flag);
    return list;
  }());
  return options;
}

std::string environment_key(const sycl::device& device) {
  std::string key = fmt::format("compiler: {}, {}\n", compiler(), dpcpp_runtime_version());
  key += fmt::format("platform: {}\n", device.get_platform().get_info<sycl::info::platform::version>());
  key += fmt::format("device: {} {}\n", device.get_info<sycl::info::device::vendor>(),
                     device.get_info<sycl::info::device::name>());
  key += fmt::format("driver: {} {}\n", device.get_info<sycl::info::device::driver_version>(),
                     device.get_info<sycl::info::device::version>());
  for (const auto& option : build_options()) key += fmt::format("option: {}\n", option);
  return key;
}

bundle compile(const sycl::context& context, const sycl::device& device, const std::string& source,
               const std::vector<std::string>& options) {
  experimental::include_files headers;
  for (const auto& file : embedded_files())
    headers.add(fmt::format("{}{}", embedded_root, file.path), std::string(file.text));
  std::string log;
  try {
    auto text = experimental::create_kernel_bundle_from_source(context, experimental::source_language::sycl, source,
                                                               experimental::properties{headers});
    return experimental::build(
        text, {device}, experimental::properties{experimental::save_log{&log}, experimental::build_options{options}});
  } catch (const sycl::exception& failed) {
    throw build_error(device, fmt::format("{}\n{}", failed.what(), log));
  }
}

kernel_build_error build_error(const sycl::device& device, const std::string& log) {
  return {explain_build_failure(device.get_info<sycl::info::device::name>(), log), log};
}

std::vector<char> serialise(const bundle& compiled) { return compiled.ext_oneapi_get_content(); }

bundle deserialise(const sycl::context& context, const sycl::device& device, std::vector<char>& bytes) {
  return experimental::get_kernel_bundle<sycl::bundle_state::executable>(context, {device}, sycl::span<char>(bytes));
}

}  // namespace syclamp::launch::jit
