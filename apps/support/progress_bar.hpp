// SPDX-License-Identifier: Apache-2.0
// How far something has come, on a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace syclamp::program {

/// A line on standard error that is written over and over, and gone at the end. Nothing if that is no terminal.
class progress_bar {
 public:
  explicit progress_bar(std::string title);
  ~progress_bar();
  progress_bar(const progress_bar&) = delete;
  progress_bar& operator=(const progress_bar&) = delete;

  void show(std::uint64_t done, std::uint64_t all) const;

 private:
  std::string title_;
  bool is_shown_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace syclamp::program
