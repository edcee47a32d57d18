// SPDX-License-Identifier: Apache-2.0
#include "torch_threads.hpp"

#include <cstring>
#include <string>

#include <dlfcn.h>
#include <link.h>

namespace syclamp::python {
namespace {

constexpr std::uint64_t worthwhile_elements = std::uint64_t{1} << 22;  // a step of some milliseconds
constexpr int omp_pause_soft = 1;                                      // as OpenMP 5.0 numbers it

using pause_function = int (*)(int kind);

int find_runtime(dl_phdr_info* library, std::size_t, void* found) {
  if (library->dlpi_name == nullptr || std::strstr(library->dlpi_name, "/libgomp") == nullptr) return 0;
  *static_cast<std::string*>(found) = library->dlpi_name;
  return 1;
}

/// `omp_pause_resource_all` of the runtime that PyTorch has loaded; null if it has another one.
pause_function find_pause() {
  std::string path;
  dl_iterate_phdr(find_runtime, &path);
  void* runtime = path.empty() ? nullptr : dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  return runtime == nullptr ? nullptr : reinterpret_cast<pause_function>(dlsym(runtime, "omp_pause_resource_all"));
}

}  // namespace

void release_openmp_threads(std::uint64_t elements) {
  if (elements < worthwhile_elements) return;
  static const pause_function pause = find_pause();
  if (pause != nullptr) pause(omp_pause_soft);  // refused inside a parallel region, where nothing has to be done
}

}  // namespace syclamp::python
