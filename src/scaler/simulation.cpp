// SPDX-License-Identifier: Apache-2.0
#include "syclamp/simulation.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

#include <fmt/format.h>

#include "scaler/scaling_rule.hpp"
#include "syclamp/error.hpp"

namespace SYCLAMP_NAMESPACE {

simulated_result simulate_step(scaler_snapshot& scaler, const simulated_step& step) {
  const kernels::scaling_rule rule = rule_of(scaler.policy);
  scale_state& state = scaler.scales.at(0);
  simulated_result result;
  result.scale_before = state.scale;
  const step_outcome shown = kernels::decide(rule, state, {step.flags, true, false, false});
  const kernels::decision decided = kernels::advance(rule, state, shown, shown != step_outcome::applied, step.amax);
  kernels::count(state, decided.outcome);
  kernels::asks_for_retry(rule, state, decided.outcome);
  result.scale_after = state.scale;
  result.outcome = decided.outcome;
  result.status = decided.status;
  return result;
}

std::vector<simulated_step> read_trace(std::string_view letters) {
  std::vector<simulated_step> steps;
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const char letter = letters[i];
    if (std::isspace(static_cast<unsigned char>(letter)) != 0) continue;
    if (letter != '.' && letter != 'i' && letter != 'n')
      throw invalid_argument(fmt::format(
          "the trace has '{}' at position {}; use . for a clean step, i for Inf and n for NaN", letter, i + 1));
    steps.push_back({letter == 'i' ? found_inf : letter == 'n' ? found_nan : found_nothing, 0.0f});
  }
  return steps;
}

namespace {

constexpr std::uint32_t overflow_flags = found_inf | found_nan;

/// Estimates the flags and amax of a recorded step with another scale.
simulated_step rescaled(const step_record& recorded, float scale, double limit) {
  if ((recorded.flags & overflow_flags) != 0)
    return {scale >= recorded.scale ? recorded.flags & overflow_flags : found_nothing, 0.0f};
  const double amax = static_cast<double>(recorded.amax) / recorded.scale * scale;
  return {amax > limit ? found_inf : found_nothing, static_cast<float>(std::min(amax, limit))};
}

/// The largest power of two with which a step stays within the limit. For a step that overflowed, only an upper bound
/// is known: it is below the step's scale.
double safe_scale(const step_record& recorded, double limit) {
  if ((recorded.flags & found_inf) != 0) return std::exp2(std::ceil(std::log2(recorded.scale)) - 1);
  if ((recorded.flags & found_nan) != 0 || recorded.amax == 0) return HUGE_VAL;  // gives no bound for the scale
  const double unscaled = static_cast<double>(recorded.amax) / recorded.scale;
  return std::exp2(std::floor(std::log2(limit / unscaled)));
}

}  // namespace

replay_report replay_ledger(const std::vector<ledger_entry>& ledger, const scaling_policy& policy) {
  scaler_snapshot scaler = scaler_snapshot::fresh(policy);
  replay_report report;
  std::uint64_t elements = 0, zeros = 0, subnormals = 0;
  double safe = HUGE_VAL;
  for (const ledger_entry& entry : ledger) {
    const step_record& recorded = entry.record;
    if (recorded.outcome == step_outcome::no_gradients || recorded.scale_index != 0) continue;
    ++report.steps;
    elements += recorded.elements;
    zeros += recorded.zero_count;
    subnormals += recorded.subnormal_count;
    if (!recorded.was_applied() && recorded.outcome != step_outcome::accumulated) ++report.recorded_skips;
    safe = std::min(safe, safe_scale(recorded, policy.amax_limit));
    const simulated_step step = rescaled(recorded, scaler.scales[0].scale, policy.amax_limit);
    report.results.push_back(simulate_step(scaler, step));
    if (report.results.back().outcome != step_outcome::applied) ++report.skips;
  }
  const auto share = [&](std::uint64_t count) {
    return elements == 0 ? 0.0 : static_cast<double>(count) / static_cast<double>(elements);
  };
  report.zero_share = share(zeros);
  report.subnormal_share = share(subnormals);
  report.final_scale = scaler.scales[0].scale;
  report.max_safe_scale = static_cast<float>(std::min(safe, 0x1p127));
  return report;
}

}  // namespace SYCLAMP_NAMESPACE
