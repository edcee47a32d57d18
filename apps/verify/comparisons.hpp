// SPDX-License-Identifier: Apache-2.0
// Comparisons of a device's results with those of the oracle. Each function returns the first difference in words, or
// an empty text if there is none. None of them uses a device.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "syclamp/syclamp.hpp"
#include "tests/reference/inspect.hpp"
#include "tests/reference/numbers.hpp"

namespace syclamp::verify {

/// A result of FP32 arithmetic: the oracle's number, and how far rounding may move the device's from it.
struct bounded {
  double value = 0;
  double error = 0;
};

/// \return what is wrong with the properties that the library relies upon
std::string compare_arithmetic(const arithmetic_report& report);

/// \param tensor  index of the only tensor with an Inf or NaN, if there is one
std::string compare_inspection(const inspection& result, const reference::statistics& expected, std::uint64_t elements,
                               std::uint64_t tensor = 0);

/// The same for a result with sums of absolute values: of a tensor or of a group.
std::string compare_details(const inspection& result, const reference::statistics& expected, std::uint64_t elements,
                            std::uint64_t tensor = 0);

/// The record of a step whose gradients are as expected. An Inf counts more than a NaN.
std::string compare_record(const step_record& record, const reference::statistics& expected, std::uint64_t elements,
                           std::uint64_t tensor = 0);

/// Elements as bits. Two NaNs are equal.
std::string compare_bits(std::span<const std::uint64_t> result, std::span<const std::uint64_t> expected,
                         reference::number_format format);

std::string compare_values(std::span<const double> result, std::span<const bounded> expected);

/// \param norm  of the unscaled gradients
std::string compare_clip(const clip_result& result, double norm, double max_norm);

/// Results of a policy on the device and on the host: equal in every bit.
std::string compare_traces(std::span<const simulated_result> device, std::span<const simulated_result> host);

/// Records of a step that was replayed from a graph and of one that was submitted call by call: equal in every bit.
std::string compare_records(const step_record& replayed, const step_record& direct);

/// What compare_values found about a part of a result, such as "weights"; empty if it found nothing.
std::string in_part(const std::string& part, const std::string& difference);

/// The first text that is not empty.
std::string first_difference(const std::vector<std::string>& differences);

}  // namespace syclamp::verify
