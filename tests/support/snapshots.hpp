// SPDX-License-Identifier: Apache-2.0
// Snapshots to save and load.
#pragma once

#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <vector>

#include "syclamp/scaler_snapshot.hpp"

/// A snapshot in which no field has its default value.
inline syclamp::scaling_policy odd_policy() {
  return {.mode = syclamp::scaling_mode::fixed,
          .init_scale = 0.1,
          .growth_factor = std::nextafter(1.5, 2.0),
          .backoff_factor = 0.7,
          .growth_interval = 4294967295u,
          .min = 1e-5,
          .max = 1e30,
          .power_of_two = false,
          .growth_mode = syclamp::growth_kind::headroom,
          .hysteresis = 3,
          .hysteresis_mode = syclamp::hysteresis_kind::accumulated,
          .tolerance = 1.0 / 3,
          .amax_limit = 448,
          .margin = 2,
          .max_jump = 5,
          .nan_patience = 6,
          .give_up_after = 7,
          .on_give_up = syclamp::give_up_action::hold,
          .on_floor = syclamp::give_up_action::stop,
          .spike_threshold = 4.5,
          .spike_window = 8,
          .retries = 9,
          .clear_on_skip = true,
          .replay = {.growth_test = syclamp::interval_test::wrapping,
                     .bounds = syclamp::bounds_kind::refuse,
                     .arithmetic = syclamp::scale_arithmetic::float64,
                     .backoff_by_growth = true,
                     .one_step_late = true}};
}

inline syclamp::scale_state odd_state() {
  syclamp::scale_state state;
  state.exact = {(1ull << 53) - 1, -60};
  state.next = {(1ull << 52) + 1, 75};
  state.scale = 0x1p-7f;  // that of `exact`, rounded up
  std::uint32_t* counters[] = {&state.clean_steps,      &state.tolerated,      &state.since_change,
                               &state.overflows,        &state.skips_in_a_row, &state.nan_skips_in_a_row,
                               &state.retries_in_a_row, &state.norms};
  for (std::uint32_t i = 0; i < std::size(counters); ++i) *counters[i] = (1u << 31) - i;
  state.has_overflowed = 1;
  state.stopped = 1;
  float* reals[] = {&state.mean,        &state.slow_mean, &state.slow_variance, &state.mean_weight,
                    &state.slow_weight, &state.norm_mean, &state.norm_variance};
  for (float i = 1; float* real : reals) *real = 0.1f * i++;
  state.norm_variance = 0x1.fffffep126f;
  state.slow_mean = -0.0f;
  state.mean = -std::numeric_limits<float>::denorm_min();
  state.attempted = 1ull << 52;
  state.applied = (1ull << 51) + 1;
  state.skipped = (1ull << 51) - 1;
  return state;
}

inline std::vector<syclamp::ledger_entry> odd_ledger() {
  std::vector<syclamp::ledger_entry> ledger(2);
  ledger[0].record.step = 1;
  syclamp::step_record& record = ledger[1].record;
  record.outcome = syclamp::step_outcome::norm_overflow;
  record.status = syclamp::step_status::norm_overflow;
  record.norm = std::numeric_limits<float>::infinity();
  record.amax = std::nanf("");
  record.clip = -std::nanf("");
  record.scale = 0.1f;
  record.amax_limit = -std::numeric_limits<float>::infinity();
  record.step = (1ull << 51) + 1;
  record.first_nonfinite = 0;
  record.first_nonfinite_tensor = 5;
  record.first_nonfinite_list = 6;
  ledger[1].first_nonfinite_name = "a \"b\", \xc3\xbc\n";
  return ledger;
}

inline syclamp::scaler_snapshot odd_snapshot() { return {odd_policy(), {odd_state(), odd_state()}, odd_ledger()}; }

inline syclamp::scaler_snapshot small_snapshot() {
  syclamp::scaler_snapshot snapshot = syclamp::scaler_snapshot::fresh({});
  snapshot.scales[0].attempted = 1;
  snapshot.ledger.emplace_back().first_nonfinite_name = "w";
  snapshot.ledger[0].record.step = 1;
  return snapshot;
}
