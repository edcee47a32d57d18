// SPDX-License-Identifier: Apache-2.0
#include "bench/measure.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "support/checksum.hpp"

namespace syclamp::bench {
namespace {

double seconds(const std::function<void()>& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

timing summary(std::vector<double> times) {
  std::ranges::sort(times);
  return {times[times.size() / 2], times.front()};
}

}  // namespace

double median(std::vector<double> numbers) { return summary(std::move(numbers)).median; }

comparison alternate(int repetitions, const std::function<void()>& ours, const std::function<void()>& reference) {
  constexpr int warm_up = 2;
  std::vector<double> our_times, reference_times;
  for (int i = 0; i < repetitions + warm_up; ++i) {
    const double a = seconds(ours), b = seconds(reference);
    if (i < warm_up) continue;
    our_times.push_back(a);
    reference_times.push_back(b);
  }
  return {summary(our_times), summary(reference_times)};
}

std::string checksum(const void* data, std::size_t bytes) {
  return fmt::format("{:016x}", syclamp::checksum({static_cast<const char*>(data), bytes}));
}

}  // namespace syclamp::bench
