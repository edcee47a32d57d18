// SPDX-License-Identifier: Apache-2.0
#include "scaler/snapshot_check.hpp"

#include <bit>
#include <limits>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "scaler/scale_numbers.hpp"
#include "support/json_reader.hpp"
#include "syclamp/error.hpp"

namespace SYCLAMP_NAMESPACE {
namespace {

[[noreturn]] void refuse(std::string_view path, std::string_view why) {
  throw invalid_argument(fmt::format("scaler state: {} {}", path, why));
}

template <typename Number>
[[noreturn]] void refuse(std::string_view path, Number value, std::string_view must) {
  refuse(path, fmt::format("is {}; it must be {}", value, must));
}

void check_number(const scale_number& number, const std::string& path) {
  constexpr std::uint64_t lowest = std::uint64_t{1} << (kernels::significand_bits - 1);
  if (number.significand < lowest || number.significand >= 2 * lowest)
    refuse(path + ".significand", number.significand, "from 2^52 to 2^53 - 1");
  if (kernels::compare(number, kernels::smallest_scale) < 0 || kernels::compare(number, kernels::largest_scale) > 0)
    refuse(path, fmt::format("is {} · 2^{}; a scale must be from 2^-126 to 3.4028235e38, the largest FP32 number",
                             number.significand, number.exponent));
}

void check_flag(std::uint32_t value, const std::string& path) {
  if (value > 1) refuse(path, value, "0 or 1");
}

/// Kernels never produce a running mean that is not finite. Loading one would make the scale NaN.
void check_mean(float value, float least, float most, const std::string& path) {
  if (!(value >= least && value <= most)) refuse(path, value, fmt::format("from {} to {}", least, most));
}

void check_means(const scale_state& state, const std::string& path) {
  constexpr float largest_log = 512, largest = std::numeric_limits<float>::max();  // log2 of FP32 numbers
  constexpr float heaviest = 2048;  // weights are 1 / (1 - 0.999) at most
  check_mean(state.mean, -largest_log, largest_log, path + ".mean");
  check_mean(state.slow_mean, -largest_log, largest_log, path + ".slow_mean");
  check_mean(state.slow_variance, 0, largest_log * largest_log, path + ".slow_variance");
  check_mean(state.mean_weight, 0, heaviest, path + ".mean_weight");
  check_mean(state.slow_weight, 0, heaviest, path + ".slow_weight");
  check_mean(state.norm_mean, -largest, largest, path + ".norm_mean");
  check_mean(state.norm_variance, 0, 0x1p127f, path + ".norm_variance");  // no summand is above 2^126
}

void check_state(const scale_state& state, const std::string& path) {
  check_number(state.exact, path + ".exact");
  check_number(state.next, path + ".next");
  const float scale = kernels::to_float(state.exact);
  if (std::bit_cast<std::uint32_t>(state.scale) != std::bit_cast<std::uint32_t>(scale))
    refuse(path + ".scale", state.scale,
           fmt::format("{}, which is the field \"exact\", {} · 2^{}, rounded to FP32", scale, state.exact.significand,
                       state.exact.exponent));
  check_flag(state.has_overflowed, path + ".has_overflowed");
  check_flag(state.stopped, path + ".stopped");
  check_means(state, path);
  if (state.applied > state.attempted || state.skipped > state.attempted - state.applied)
    refuse(path, fmt::format("has {} applied and {} skipped steps, but only {} attempted steps; the file is damaged",
                             state.applied, state.skipped, state.attempted));
}

void check_record(const step_record& record, const scaler_snapshot& snapshot, const std::string& path) {
  if (record.scale_index >= snapshot.scales.size())
    refuse(path + ".scale_index", record.scale_index,
           fmt::format("below the number of scales, {}", snapshot.scales.size()));
  const std::uint64_t attempted = snapshot.scales[record.scale_index].attempted;
  if (record.step == 0 || record.step > attempted)
    refuse(path + ".step", record.step, fmt::format("from 1 to the steps attempted, {}", attempted));
}

}  // namespace

void check(const scaler_snapshot& snapshot) {
  snapshot.policy.validate();
  if (snapshot.scales.empty() || snapshot.scales.size() > max_elements)
    refuse("scales", fmt::format("has {} elements; it must have 1 to {}", snapshot.scales.size(), max_elements));
  if (snapshot.ledger.size() > max_elements)
    refuse("ledger", fmt::format("has {} entries; it must have at most {}", snapshot.ledger.size(), max_elements));
  for (std::size_t i = 0; i < snapshot.scales.size(); ++i) {
    const scale_state& state = snapshot.scales[i];
    const std::string path = fmt::format("scales[{}]", i);
    check_state(state, path);
    if (state.attempted != snapshot.scales[0].attempted)
      refuse(path + ".attempted", state.attempted, "equal for all scales, because they step together");
    if (snapshot.policy.mode == scaling_mode::disabled && state.scale != 1.0f)
      refuse(path + ".scale", state.scale, "1, because scaling is disabled");
  }
  for (std::size_t i = 0; i < snapshot.ledger.size(); ++i)
    check_record(snapshot.ledger[i].record, snapshot, fmt::format("ledger[{}]", i));
}

}  // namespace SYCLAMP_NAMESPACE
