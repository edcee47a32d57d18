// SPDX-License-Identifier: Apache-2.0
// Prints the source that the run-time compiler gets, for tools/ptx/ptx (docs/gpu-code.md).
//   kernel_source PROFILE FAMILY [--with-headers]
// With --with-headers it also prints our headers: all text on which the compiled kernels depend.
#include <iostream>
#include <string>
#include <string_view>

#include "backends/profiles.hpp"
#include "launch/jit/source.hpp"

int main(int argc, char** argv) {
  const bool with_headers = argc == 4 && argv[3] == std::string_view("--with-headers");
  const syclamp::profile* tuning = argc == 3 || with_headers ? syclamp::backends::find(argv[1]) : nullptr;
  if (tuning != nullptr && with_headers) {
    std::cout << syclamp::launch::jit::family_text(argv[2], *tuning);
    return 0;
  }
  if (tuning != nullptr) {
    // Embedded headers are found in sycl_kernels/ by the compiler's -I instead.
    std::string text = syclamp::launch::jit::family_source(argv[2], *tuning);
    const auto root = syclamp::launch::jit::embedded_root;
    if (const auto at = text.find(root); at != text.npos) text.erase(at, root.size());
    std::cout << text;
    return 0;
  }
  std::cerr << "usage: kernel_source PROFILE FAMILY [--with-headers]\n";
  return 2;
}
