// SPDX-License-Identifier: Apache-2.0
#include "apps/support/progress_bar.hpp"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include <fmt/format.h>

namespace syclamp::program {
namespace {

constexpr const char* clear_line = "\r\033[K";

}  // namespace

progress_bar::progress_bar(std::string title) : title_(std::move(title)), is_shown_(isatty(STDERR_FILENO) == 1) {
  show(0, 1);
}

progress_bar::~progress_bar() {
  if (is_shown_) std::fputs(clear_line, stderr);
}

void progress_bar::show(std::uint64_t done, std::uint64_t all) const {
  if (!is_shown_ || all == 0) return;
  constexpr std::uint64_t width = 30;
  const std::uint64_t full = done * width / all;
  const double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  const double left = done == 0 ? 0.0 : spent * static_cast<double>(all - done) / static_cast<double>(done);
  const std::string bar = std::string(full, '#') + std::string(width - full, '.');
  const std::string rest = done == 0 ? "" : fmt::format(" {:.0f} s left", left);
  std::fputs(fmt::format("{}{:<22} [{}] {:3} %{}", clear_line, title_, bar, 100 * done / all, rest).c_str(), stderr);
}

}  // namespace syclamp::program
