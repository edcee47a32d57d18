// SPDX-License-Identifier: Apache-2.0
#include "bindings/c/conversions.hpp"

#include "bindings/c/structs.hpp"

namespace syclamp::c {
namespace {

// The enumerations of the C interface are those of the library, in the same order.
template <typename Enumeration>
constexpr bool same(int value, Enumeration enumerator) {
  return value == static_cast<int>(enumerator);
}
static_assert(same(SYCLAMP_FLOAT16, element_type::float16) && same(SYCLAMP_BFLOAT16, element_type::bfloat16) &&
              same(SYCLAMP_FLOAT32, element_type::float32) && same(SYCLAMP_FLOAT64, element_type::float64) &&
              same(SYCLAMP_FLOAT8_E4M3, element_type::float8_e4m3) && same(SYCLAMP_FLOAT8_E5M2, last_element_type));
static_assert(same(SYCLAMP_FOUND_INF, found_inf) && same(SYCLAMP_FOUND_NAN, found_nan) &&
              same(SYCLAMP_FOUND_BY_USER, found_by_user) && SYCLAMP_NO_ELEMENT == no_element);
static_assert(same(SYCLAMP_APPLIED, step_outcome::applied) && same(SYCLAMP_SKIPPED_INF, step_outcome::skipped_inf) &&
              same(SYCLAMP_SKIPPED_NAN, step_outcome::skipped_nan) &&
              same(SYCLAMP_SKIPPED_SCALE_HELD, step_outcome::skipped_scale_held) &&
              same(SYCLAMP_STOPPED, step_outcome::stopped) &&
              same(SYCLAMP_SKIPPED_BY_USER, step_outcome::skipped_by_user) &&
              same(SYCLAMP_NORM_OVERFLOW, step_outcome::norm_overflow) &&
              same(SYCLAMP_SKIPPED_JOINTLY, step_outcome::skipped_jointly) &&
              same(SYCLAMP_ACCUMULATED, step_outcome::accumulated) &&
              same(SYCLAMP_NO_GRADIENTS, step_outcome::no_gradients) &&
              same(SYCLAMP_INVALID_NUMBER, step_outcome::invalid_number));
static_assert(same(SYCLAMP_STEP_AT_FLOOR, step_status::at_floor) &&
              same(SYCLAMP_STEP_NAN_PERSISTENT, step_status::nan_persistent) &&
              same(SYCLAMP_STEP_TOO_MANY_SKIPS, step_status::too_many_skips) &&
              same(SYCLAMP_STEP_NORM_OVERFLOW, step_status::norm_overflow) &&
              same(SYCLAMP_STEP_STOPPED, step_status::stopped) &&
              same(SYCLAMP_STEP_INVALID_NUMBER, step_status::invalid_number));
static_assert(same(SYCLAMP_NORM_L1, norm_kind::l1) && same(SYCLAMP_NORM_L_INFINITY, norm_kind::l_infinity));
static_assert(sizeof(syclamp_step_decision) == sizeof(step_decision) &&
              offsetof(syclamp_step_decision, clip) == offsetof(step_decision, clip));
static_assert(sizeof(syclamp_device_inspection) == sizeof(inspection) &&
              offsetof(syclamp_device_inspection, first_nonfinite) == offsetof(inspection, first_nonfinite) &&
              offsetof(syclamp_device_inspection, scale) == offsetof(inspection, scale) &&
              offsetof(syclamp_device_inspection, flags) == offsetof(inspection, flags) &&
              offsetof(syclamp_device_inspection, abs_sum_exponent) == offsetof(inspection, abs_sum_exponent) &&
              sizeof(exponent_histogram) == 256 * sizeof(std::uint64_t));

}  // namespace

element_type to_element_type(std::int32_t type, const char* name) {
  return checked_enumeration(type, last_element_type, name);
}

scalar to_scalar(const engine_object& engine, float value, const float* address, const char* name) {
  if (address == nullptr) return value;
  find_block(engine, address, sizeof(float), name);
  return device_value(engine.engine, address);
}

step_options to_step_options(const engine_object& engine, const syclamp_step_options* given) {
  const syclamp_step_options options = read_options(given, "options");
  need_zero(options.reserved, "options.reserved");
  step_options made{.clip_separately = options.clip_separately != 0};
  if (options.clip != 0)
    made.max_norm = to_scalar(engine, options.max_norm, options.device_max_norm, "options.device_max_norm");
  else if (options.max_norm != 0.0f || options.device_max_norm != nullptr)
    throw invalid_argument("options.max_norm is set, but options.clip is 0; set it to 1 to clip");
  return made;
}

syclamp_step_record from_record(const step_record& record, std::string_view first_nonfinite_name) {
  syclamp_step_record made{.struct_size = sizeof made,
                           .step = record.step,
                           .applied = record.applied,
                           .skipped = record.skipped,
                           .elements = record.elements,
                           .inf_count = record.inf_count,
                           .nan_count = record.nan_count,
                           .zero_count = record.zero_count,
                           .subnormal_count = record.subnormal_count,
                           .first_nonfinite_tensor = record.first_nonfinite_tensor,
                           .first_nonfinite = record.first_nonfinite,
                           .headroom = record.headroom(),
                           .outcome = static_cast<syclamp_step_outcome>(record.outcome),
                           .status = static_cast<syclamp_step_status>(record.status),
                           .first_nonfinite_list = record.first_nonfinite_list,
                           .scale_index = record.scale_index,
                           .flags = record.flags,
                           .skips_in_a_row = record.skips_in_a_row,
                           .retry = record.retry,
                           .lists = record.lists,
                           .skipped_lists = record.skipped_lists,
                           .scale = record.scale,
                           .next_scale = record.next_scale,
                           .norm = record.norm,
                           .clip = record.clip,
                           .amax = record.amax,
                           .amax_limit = record.amax_limit,
                           .reserved = 0,
                           .first_nonfinite_name = {}};
  copy_text(made.first_nonfinite_name, first_nonfinite_name);
  return made;
}

syclamp_simulated_step from_simulated(const simulated_result& result) {
  return {.struct_size = sizeof(syclamp_simulated_step),
          .scale_before = result.scale_before,
          .scale_after = result.scale_after,
          .outcome = static_cast<syclamp_step_outcome>(result.outcome),
          .status = static_cast<syclamp_step_status>(result.status)};
}

syclamp_inspection from_inspection(const inspection& result) {
  return {.struct_size = sizeof(syclamp_inspection),
          .elements = result.elements,
          .inf_count = result.inf_count,
          .nan_count = result.nan_count,
          .zero_count = result.zero_count,
          .subnormal_count = result.subnormal_count,
          .first_nonfinite_tensor = result.first_nonfinite_tensor,
          .first_nonfinite = result.first_nonfinite,
          .norm_l2 = result.norm(norm_kind::l2),
          .norm_l1 = result.norm(norm_kind::l1),
          .headroom = result.headroom(),
          .amax = result.amax,
          .unscaled_amax = result.unscaled_amax,
          .scale = result.scale,
          .flags = result.flags};
}

}  // namespace syclamp::c

const char* syclamp_step_outcome_name(syclamp_step_outcome outcome) {
  using syclamp::step_outcome;
  if (outcome < 0 || outcome > static_cast<std::int32_t>(step_outcome::invalid_number)) return "unknown";
  return syclamp::to_string(static_cast<step_outcome>(outcome));
}

const char* syclamp_step_status_name(syclamp_step_status status) {
  using syclamp::step_status;
  if (status < 0 || status > static_cast<std::int32_t>(step_status::invalid_number)) return "unknown";
  return syclamp::to_string(static_cast<step_status>(status));
}
