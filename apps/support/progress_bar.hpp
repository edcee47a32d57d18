// SPDX-License-Identifier: Apache-2.0
// A progress bar for terminals.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace syclamp::program {

/// A line on standard error that is overwritten with each update and removed at the end. Prints nothing if standard
/// error is not a terminal.
class progress_bar {
 public:
  progress_bar();
  ~progress_bar();
  progress_bar(const progress_bar&) = delete;
  progress_bar& operator=(const progress_bar&) = delete;

  /// Draws the bar.
  /// \param done   share of all the work that is done, from 0 to 1; it only ever grows
  /// \param title  what is being worked on; cut if the line would be too long
  void show(double done, std::string_view title);

  /// Work that was done before this process, for example by the run that is resumed: it says nothing about speed.
  void skip(double done);

  /// Clears the line, so that other output can be printed. The next call of `show` draws it again.
  void hide() const;

 private:
  bool is_shown_;
  double skipped_ = 0.0;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// "45 s", "2 min 05 s" or "1 h 02 min".
std::string duration_text(double seconds);

}  // namespace syclamp::program
