// SPDX-License-Identifier: Apache-2.0
#include "bench/plain.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <variant>

namespace syclamp::bench {
namespace {

/// The value of a pattern of 16 bits, of which the lowest `fraction` are the fraction.
double value_of(std::uint32_t bits, int fraction) {
  const int exponent_bits = 15 - fraction, bias = (1 << (exponent_bits - 1)) - 1;
  const auto exponent = static_cast<int>((bits >> fraction) & ((1u << exponent_bits) - 1));
  const double digits = bits & ((1u << fraction) - 1), sign = (bits >> 15) != 0 ? -1.0 : 1.0;
  if (exponent == (1 << exponent_bits) - 1)
    return digits == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  const double significand = exponent == 0 ? digits : digits + std::ldexp(1.0, fraction);
  return sign * std::ldexp(significand, std::max(exponent, 1) - bias - fraction);
}

std::vector<double> all_values(int fraction) {
  std::vector<double> values(1u << 16);
  for (std::uint32_t bits = 0; bits < values.size(); ++bits) values[bits] = value_of(bits, fraction);
  return values;
}

template <typename T>
T element(const void* data, std::uint64_t index) {
  T value;
  std::memcpy(&value, static_cast<const unsigned char*>(data) + index * sizeof value, sizeof value);
  return value;
}

double smallest_normal(element_type type) { return type == element_type::float16 ? 0x1p-14 : 0x1p-126; }

/// A number with at most 24 bits as `type` holds it. FP16 needs no rounding: `fill` makes multiples of 2^-24 with 11
/// bits.
double rounded(double value, element_type type) {
  if (type == element_type::float16) return value < 65520.0 ? value : std::numeric_limits<double>::infinity();
  if (type != element_type::bfloat16) return static_cast<float>(value);
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return std::bit_cast<float>((bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u);
}

// The first step from moments of zero: with its bias corrected, Adam's direction is the gradient over its magnitude.
double direction(const sgd&, double gradient) { return gradient; }
double direction(const adam& settings, double gradient) { return gradient / (std::abs(gradient) + settings.eps); }
double direction(const adamw& settings, double gradient) { return gradient / (std::abs(gradient) + settings.eps); }
double direction(const lion&, double gradient) { return gradient > 0 ? 1.0 : gradient < 0 ? -1.0 : 0.0; }

}  // namespace

std::vector<double> decoded(const void* data, std::uint64_t count, element_type type) {
  std::vector<double> values(count);
  if (type == element_type::float32) {
    for (std::uint64_t i = 0; i < count; ++i) values[i] = element<float>(data, i);
  } else {
    const auto table = all_values(type == element_type::float16 ? 10 : 7);
    for (std::uint64_t i = 0; i < count; ++i) values[i] = table[element<std::uint16_t>(data, i)];
  }
  return values;
}

double norm_of(const std::vector<double>& gradients) {
  double squares = 0;
  for (const double gradient : gradients) squares += gradient * gradient;
  return std::sqrt(squares);
}

bool is_true_of(const inspection& result, const std::vector<double>& gradients, element_type type) {
  std::uint64_t zeros = 0, subnormals = 0;
  double amax = 0;
  for (const double gradient : gradients) {
    amax = std::max(amax, std::abs(gradient));
    zeros += gradient == 0 ? 1 : 0;
    subnormals += gradient != 0 && std::abs(gradient) < smallest_normal(type) ? 1 : 0;
  }
  const double norm = norm_of(gradients);
  return result.elements == gradients.size() && result.inf_count == 0 && result.nan_count == 0 &&
         result.zero_count == zeros && result.subnormal_count == subnormals && result.amax == amax &&
         result.all_finite() &&
         std::abs(result.norm() - norm) <= 1e-6 * norm;  // sums of FP32 in blocks: a few roundings of 6e-8
}

bool holds_product(const void* out, element_type type, const std::vector<double>& gradients, double factor) {
  const auto values = decoded(out, gradients.size(), type);
  for (std::size_t i = 0; i < gradients.size(); ++i)
    if (values[i] != rounded(gradients[i] * factor, type)) return false;
  return true;
}

bool holds_first_step(const std::vector<float>& weights, const std::vector<double>& gradients, double factor,
                      const optimizer_settings& settings) {
  return std::visit(
      [&](const auto& chosen) {
        if constexpr (requires { direction(chosen, 0.0); }) {
          const bool decays = std::is_same_v<std::decay_t<decltype(chosen)>, adamw> ||
                              std::is_same_v<std::decay_t<decltype(chosen)>, lion>;
          const double decayed = decays ? 1.0 - static_cast<double>(chosen.lr) * chosen.weight_decay : 1.0;
          for (std::size_t i = 0; i < weights.size(); ++i) {
            const double update = chosen.lr * direction(chosen, gradients[i] * factor);
            // The update has a dozen roundings, the decayed weight two, and their difference one.
            const double tolerance = 1e-6 * std::abs(update) + 0x1p-22;
            if (!(std::abs(weights[i] - (decayed - update)) <= tolerance)) return false;
          }
          return true;
        } else {
          return false;
        }
      },
      settings);
}

}  // namespace syclamp::bench
