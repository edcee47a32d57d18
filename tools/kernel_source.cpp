// SPDX-License-Identifier: Apache-2.0
// Prints the source that the run-time compiler gets, for tools/ptx/ptx (docs/gpu-code.md).
//   kernel_source PROFILE FAMILY
#include <iostream>
#include <string>

#include "backends/profiles.hpp"
#include "launch/jit/source.hpp"

int main(int argc, char** argv) {
  const syclamp::profile* tuning = argc == 3 ? syclamp::backends::find(argv[1]) : nullptr;
  if (tuning != nullptr) {
    // Embedded headers are found in sycl_kernels/ by the compiler's -I instead.
    std::string text = syclamp::launch::jit::family_source(argv[2], *tuning);
    const auto root = syclamp::launch::jit::embedded_root;
    if (const auto at = text.find(root); at != text.npos) text.erase(at, root.size());
    std::cout << text;
    return 0;
  }
  std::cerr << "usage: kernel_source PROFILE FAMILY\n";
  return 2;
}
