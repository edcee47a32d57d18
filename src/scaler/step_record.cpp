// SPDX-License-Identifier: Apache-2.0
#include "syclamp/step_record.hpp"

#include <bit>

namespace SYCLAMP_NAMESPACE {

double step_record::headroom() const {
  inspection result;
  result.amax_bits = std::bit_cast<std::uint64_t>(static_cast<double>(amax));
  return result.headroom(static_cast<double>(amax_limit));
}

const char* to_string(step_outcome outcome) {
  switch (outcome) {
    case step_outcome::applied: return "applied";
    case step_outcome::skipped_inf: return "skipped_inf";
    case step_outcome::skipped_nan: return "skipped_nan";
    case step_outcome::skipped_scale_held: return "skipped_scale_held";
    case step_outcome::stopped: return "stopped";
    case step_outcome::skipped_by_user: return "skipped_by_user";
    case step_outcome::norm_overflow: return "norm_overflow";
    case step_outcome::invalid_number: return "invalid_number";
    case step_outcome::skipped_jointly: return "skipped_jointly";
    case step_outcome::accumulated: return "accumulated";
    case step_outcome::no_gradients: return "no_gradients";
  }
  return "unknown";
}

const char* to_string(step_status status) {
  switch (status) {
    case step_status::ok: return "ok";
    case step_status::at_floor: return "at_floor";
    case step_status::nan_persistent: return "nan_persistent";
    case step_status::too_many_skips: return "too_many_skips";
    case step_status::norm_overflow: return "norm_overflow";
    case step_status::invalid_number: return "invalid_number";
    case step_status::stopped: return "stopped";
  }
  return "unknown";
}

}  // namespace SYCLAMP_NAMESPACE
