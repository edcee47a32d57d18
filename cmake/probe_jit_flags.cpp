// SPDX-License-Identifier: Apache-2.0
// Configure-time probe: does the run-time compiler accept every flag?   probe_jit_flags FLAG…
#define SYCL_DISABLE_FSYCL_SYCLHPP_WARNING
#include <iostream>
#include <string>
#include <vector>

#include <sycl/sycl.hpp>

namespace experimental = sycl::ext::oneapi::experimental;

constexpr const char* kernel = R"(
#include <sycl/ext/oneapi/free_function_queries.hpp>
#include <sycl/ext/oneapi/kernel_properties/properties.hpp>
extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<1>))
void probe(float* x) { *x = *x / 3.0f; }
)";

int main(int, char** argv) {
  try {
    const sycl::context context{sycl::device{}};
    const auto accepts = [&](const std::vector<std::string>& flags) {
      auto source =
          experimental::create_kernel_bundle_from_source(context, experimental::source_language::sycl, kernel);
      try {
        experimental::build(source, experimental::properties{experimental::build_options{flags}});
        return true;
      } catch (const sycl::exception& failed) {
        std::cout << failed.what() << '\n';
        return false;
      }
    };
    std::vector<std::string> all;
    for (char** flag = argv + 1; *flag != nullptr; ++flag) all.emplace_back(*flag);
    if (accepts(all)) return 0;
    if (!accepts({})) {
      std::cout << "not even a kernel of one line compiles\n";
      return 2;
    }
    for (const auto& flag : all)
      if (!accepts({flag})) std::cout << "refused: " << flag << '\n';
  } catch (const sycl::exception& failed) {
    std::cout << "no SYCL device to compile for: " << failed.what() << '\n';
    return 3;
  }
  return 1;
}
