// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include <catch2/catch_test_macros.hpp>

/// A file in memory: thousands of them on a disk take their time.
class memory_file {
 public:
  explicit memory_file(const std::string& content) : descriptor_(memfd_create("syclamp-test", 0)) {
    REQUIRE(write(descriptor_, content.data(), content.size()) == static_cast<ssize_t>(content.size()));
  }
  ~memory_file() { close(descriptor_); }
  memory_file(const memory_file&) = delete;
  memory_file& operator=(const memory_file&) = delete;

  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};
