// SPDX-License-Identifier: Apache-2.0
// Prints what loading the library has changed in this process, and whether there is a device.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "syclamp/syclamp.hpp"

int main() {
  const char* drivers = std::getenv("OCL_ICD_FILENAMES");
  std::printf("drivers: %s\n", drivers != nullptr ? drivers : "unset");
  std::printf("loader: %s\n", dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_NOLOAD) != nullptr ? "loaded" : "not loaded");
  try {
    const syclamp::engine engine;
    std::printf("device: found\n");
  } catch (const syclamp::no_device_error& problem) {
    std::printf("device: %s\n", problem.what());
  }
  return 0;
}
