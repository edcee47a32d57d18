// SPDX-License-Identifier: Apache-2.0
#include "syclamp/step_record.hpp"

#include <bit>

namespace syclamp {

double headroom(const step_record& of) {
  inspection seen;
  seen.worst_bits = std::bit_cast<std::uint64_t>(static_cast<double>(of.amax));
  return headroom(seen, of.limit);
}

const char* name_of(step_outcome outcome) {
  switch (outcome) {
    case step_outcome::applied: return "applied";
    case step_outcome::skipped_inf: return "skipped_inf";
    case step_outcome::skipped_nan: return "skipped_nan";
    case step_outcome::held: return "held";
    case step_outcome::stopped: return "stopped";
    case step_outcome::by_user: return "by_user";
    case step_outcome::norm_overflow: return "norm_overflow";
    case step_outcome::invalid_number: return "invalid_number";
    case step_outcome::with_others: return "with_others";
    case step_outcome::accumulated: return "accumulated";
    case step_outcome::nothing: return "nothing";
  }
  return "unknown";
}

const char* name_of(step_status status) {
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

}  // namespace syclamp
