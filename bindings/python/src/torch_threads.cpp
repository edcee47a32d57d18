// SPDX-License-Identifier: Apache-2.0
#include "torch_threads.hpp"

#include <cstring>
#include <string>

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

namespace syclamp::python {
namespace {

constexpr std::uint64_t worthwhile_elements = std::uint64_t{1} << 22;  // a step of some milliseconds
constexpr int omp_pause_soft = 1;                                      // as OpenMP 5.0 numbers it

const pid_t loading_process = getpid();

using pause_function = int (*)(int kind);

int find_runtime(dl_phdr_info* library, std::size_t, void* found) {
  if (library->dlpi_name == nullptr || std::strstr(library->dlpi_name, "/libgomp") == nullptr) return 0;
  *static_cast<std::string*>(found) = library->dlpi_name;
  return 1;
}

/// `omp_pause_resource_all` of the first libgomp of the process, which PyTorch uses; null if there is none.
pause_function find_pause() {
  std::string path;
  dl_iterate_phdr(find_runtime, &path);
  void* runtime = path.empty() ? nullptr : dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  return runtime == nullptr ? nullptr : reinterpret_cast<pause_function>(dlsym(runtime, "omp_pause_resource_all"));
}

}  // namespace

void release_openmp_threads(std::uint64_t elements) {
  // In a forked child, the runtime would wait for threads that exist only in the parent.
  if (elements < worthwhile_elements || getpid() != loading_process) return;
  static const pause_function pause = find_pause();
  if (pause != nullptr) pause(omp_pause_soft);  // refused inside a parallel region, where nothing has to be done
}

}  // namespace syclamp::python
