// SPDX-License-Identifier: Apache-2.0
// A progress bar for terminals.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace syclamp::program {

/// A line on standard error that is overwritten with each update and removed at the end. Prints nothing if standard
/// error is not a terminal.
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
