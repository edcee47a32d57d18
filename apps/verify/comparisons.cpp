// SPDX-License-Identifier: Apache-2.0
#include "apps/verify/comparisons.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

namespace syclamp::verify {
namespace {

/// Sums in FP32 over blocks of a chunk: fewer than 256 roundings of 2^-24 for a sum of squares, half of it for its
/// root.
constexpr double norm_error = 128 * 0x1p-24;

bool is_near(double result, double expected, double error) { return std::abs(result - expected) <= error; }

template <typename T>
std::string differs(const char* name, const T& result, const T& expected) {
  if (result == expected) return {};
  return fmt::format("{} is {} instead of {}", name, result, expected);
}

/// `wrong(i)` describes what is wrong with element i.
template <typename Wrong>
std::string first_of(std::size_t count, Wrong wrong) {
  std::string first;
  std::size_t differences = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string difference = wrong(i);
    if (difference.empty()) continue;
    if (differences == 0) first = fmt::format("element {}: {}", i, difference);
    ++differences;
  }
  return differences == 0 ? "" : fmt::format("{} of {} elements are wrong; {}", differences, count, first);
}

std::string differs_in_number(const inspection& result, const reference::statistics& expected) {
  if (expected.nan_count != 0)
    return std::isnan(result.amax) ? "" : fmt::format("amax is {} instead of a NaN", result.amax);
  if (expected.inf_count != 0)
    return std::isinf(result.amax) ? "" : fmt::format("amax is {} instead of Inf", result.amax);
  std::string amax =
      differs("amax", static_cast<double>(result.amax), reference::rounded_to_float(expected.amax));  // of an FP64
  if (amax.empty()) amax = differs("amax_bits", result.amax_bits, std::bit_cast<std::uint64_t>(expected.amax));
  if (!amax.empty()) return amax;
  const double norm = std::sqrt(expected.sum_of_squares);
  if (is_near(result.norm(), norm, norm_error * norm)) return {};
  return fmt::format("the norm is {} instead of {}", result.norm(), norm);
}

}  // namespace

std::string compare_arithmetic(const arithmetic_report& report) {
  if (report.checks.empty()) return "the self-test has not run";
  for (const arithmetic_check& property : report.checks)
    if (property.relied_upon && !property.passed) return fmt::format("the device fails {}", property.name);
  return {};
}

std::string compare_inspection(const inspection& result, const reference::statistics& expected, std::uint64_t elements,
                               std::uint64_t tensor) {
  const bool is_finite = expected.inf_count + expected.nan_count == 0;
  const std::uint32_t flags = (expected.inf_count != 0 ? found_inf : 0u) | (expected.nan_count != 0 ? found_nan : 0u);
  for (const std::string& difference :
       {differs("elements", result.elements, elements), differs("inf_count", result.inf_count, expected.inf_count),
        differs("nan_count", result.nan_count, expected.nan_count),
        differs("zero_count", result.zero_count, expected.zero_count),
        differs("subnormal_count", result.subnormal_count, expected.subnormal_count),
        differs("flags", result.flags, flags),
        differs("first_nonfinite", result.first_nonfinite, expected.first_nonfinite),
        differs("first_nonfinite_tensor", result.first_nonfinite_tensor, is_finite ? no_element : tensor)})
    if (!difference.empty()) return difference;
  return differs_in_number(result, expected);
}

std::string compare_details(const inspection& result, const reference::statistics& expected, std::uint64_t elements,
                            std::uint64_t tensor) {
  std::string difference = compare_inspection(result, expected, elements, tensor);
  if (!difference.empty() || expected.inf_count + expected.nan_count != 0) return difference;
  const double sum = result.norm(norm_kind::l1);
  if (is_near(sum, expected.abs_sum, 2 * norm_error * expected.abs_sum)) return {};  // no root halves the roundings
  return fmt::format("the sum of absolute values is {} instead of {}", sum, expected.abs_sum);
}

std::string compare_record(const step_record& record, const reference::statistics& expected, std::uint64_t elements,
                           std::uint64_t tensor) {
  const bool is_finite = expected.inf_count + expected.nan_count == 0;
  const step_outcome outcome = is_finite                 ? step_outcome::applied
                               : expected.inf_count != 0 ? step_outcome::skipped_inf
                                                         : step_outcome::skipped_nan;
  for (const std::string& difference :
       {differs("elements", record.elements, elements), differs("inf_count", record.inf_count, expected.inf_count),
        differs("nan_count", record.nan_count, expected.nan_count),
        differs("zero_count", record.zero_count, expected.zero_count),
        differs("subnormal_count", record.subnormal_count, expected.subnormal_count),
        differs("first_nonfinite", record.first_nonfinite, expected.first_nonfinite),
        differs("first_nonfinite_tensor", record.first_nonfinite_tensor, is_finite ? no_element : tensor),
        differs("the outcome", std::string(to_string(record.outcome)), std::string(to_string(outcome)))})
    if (!difference.empty()) return difference;
  const double norm = std::sqrt(expected.sum_of_squares) / static_cast<double>(record.scale);
  if (!is_finite || is_near(static_cast<double>(record.norm), norm, norm_error * norm)) return {};
  return fmt::format("the norm is {} instead of {}", record.norm, norm);
}

std::string compare_bits(std::span<const std::uint64_t> result, std::span<const std::uint64_t> expected,
                         reference::number_format format) {
  if (result.size() != expected.size()) return differs("number of elements", result.size(), expected.size());
  return first_of(result.size(), [&](std::size_t i) -> std::string {
    if (result[i] == expected[i]) return {};
    const auto number = reference::decode(result[i], format), truth = reference::decode(expected[i], format);
    if (number.value_kind == reference::kind::nan && truth.value_kind == reference::kind::nan) return {};
    return fmt::format("{:#x} ({}) instead of {:#x} ({})", result[i], number.value, expected[i], truth.value);
  });
}

std::string compare_values(std::span<const double> result, std::span<const bounded> expected) {
  if (result.size() != expected.size()) return differs("number of elements", result.size(), expected.size());
  return first_of(result.size(), [&](std::size_t i) -> std::string {
    if (is_near(result[i], expected[i].value, expected[i].error)) return {};
    return fmt::format("{} instead of {} ± {:.1e}", result[i], expected[i].value, expected[i].error);
  });
}

std::string compare_clip(const clip_result& result, double norm, double max_norm) {
  if (!is_near(static_cast<double>(result.norm), norm, norm_error * norm))
    return fmt::format("the norm is {} instead of {}", result.norm, norm);
  const double coefficient = std::min(1.0, max_norm / (norm + 1e-6));
  if (is_near(static_cast<double>(result.coefficient), coefficient, norm_error * coefficient)) return {};
  return fmt::format("the clip coefficient is {} instead of {}", result.coefficient, coefficient);
}

std::string compare_traces(std::span<const simulated_result> device, std::span<const simulated_result> host) {
  if (device.size() != host.size()) return differs("number of steps", device.size(), host.size());
  const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
  for (std::size_t i = 0; i < host.size(); ++i) {
    const simulated_result &result = device[i], &expected = host[i];
    if (bits(result.scale_before) == bits(expected.scale_before) &&
        bits(result.scale_after) == bits(expected.scale_after) && result.outcome == expected.outcome &&
        result.status == expected.status)
      continue;
    return fmt::format("step {}: scale {} to {}, {}, {} instead of {} to {}, {}, {}", i + 1, result.scale_before,
                       result.scale_after, to_string(result.outcome), to_string(result.status), expected.scale_before,
                       expected.scale_after, to_string(expected.outcome), to_string(expected.status));
  }
  return {};
}

std::string compare_records(const step_record& replayed, const step_record& direct) {
  // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): equal bits, NaNs included; a record has no padding
  if (std::memcmp(&replayed, &direct, sizeof direct) == 0) return {};
  return fmt::format(
      "the record of step {} differs: scale {} to {}, norm {}, {} instead of scale {} to {}, norm {}, {}", direct.step,
      replayed.scale, replayed.next_scale, replayed.norm, to_string(replayed.outcome), direct.scale, direct.next_scale,
      direct.norm, to_string(direct.outcome));
}

std::string in_part(const std::string& part, const std::string& difference) {
  return difference.empty() ? "" : fmt::format("{}: {}", part, difference);
}

std::string first_difference(const std::vector<std::string>& differences) {
  const auto found = std::ranges::find_if_not(differences, &std::string::empty);
  return found == differences.end() ? "" : *found;
}

}  // namespace syclamp::verify
