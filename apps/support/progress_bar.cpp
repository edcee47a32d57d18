// SPDX-License-Identifier: Apache-2.0
#include "apps/support/progress_bar.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include <fmt/format.h>

namespace syclamp::program {
namespace {

constexpr const char* clear_line = "\r\033[K";
constexpr std::size_t columns = 79;  // a line that wraps could not be cleared

}  // namespace

progress_bar::progress_bar() : is_shown_(isatty(STDERR_FILENO) == 1) {}

progress_bar::~progress_bar() { hide(); }

void progress_bar::hide() const {
  if (is_shown_) std::fputs(clear_line, stderr);
}

void progress_bar::skip(double done) {
  skipped_ = done;
  begin_ = std::chrono::steady_clock::now();
}

void progress_bar::show(double done, std::string_view title) {
  if (!is_shown_) return;
  constexpr std::size_t width = 20;
  done = std::clamp(done, 0.0, 1.0);
  const auto full = static_cast<std::size_t>(done * width);
  std::string line = fmt::format("[{}{}] {:3.0f} %", std::string(full, '#'), std::string(width - full, '.'),
                                 std::floor(100 * done + 1e-6));
  if (done > skipped_) {
    const double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    line += fmt::format(", {} left", duration_text(spent * (1 - done) / (done - skipped_)));
  }
  line += fmt::format(" ({})", title);
  std::fputs((clear_line + line.substr(0, columns)).c_str(), stderr);
}

std::string duration_text(double seconds) {
  constexpr double longest = 1e8;  // of three years and more nobody wants to know the minutes
  const auto whole = static_cast<std::uint64_t>(std::lround(std::clamp(seconds, 0.0, longest)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

}  // namespace syclamp::program
