// SPDX-License-Identifier: Apache-2.0
// Runs small computations on the device whose results show how its compiler treats floating point.
#include <algorithm>
#include <cmath>

#include "engine/command_queue.hpp"
#include "engine/device_memory.hpp"
#include "launch/kernel_library.hpp"
#include "launch/operations.hpp"
#include "syclamp/system_info.hpp"

namespace SYCLAMP_NAMESPACE {
namespace {

constexpr kernels::arithmetic_inputs questions{
    .quiet_nan = 0x7fc00000,
    .half_subnormals = {0x0001, 0x0003, 0x03ff, 0x0400},
    .tie_to_even_low = 2049.0f,   // halfway between the halves 2048 and 2050
    .tie_to_even_high = 2051.0f,  // halfway between 2050 and 2052
    .below_overflow = 65519.0f,   // the last one that rounds to 65504
    .overflow = 65520.0f,
    .large = 16777216.0f,
    .small = 0.5f,
    .factor = 1.0f + 0x1p-12f,
    .addend = -(1.0f + 0x1p-11f),
    .dividend = 5.0f,  // 5 / 41 is not 5 times the rounded 1 / 41
    .divisor = 41.0f,
    .radicand = 14.0f,  // nor is its root 14 times the rounded 1 / root
    .subnormal_float = 0x1p-140f,
};

}  // namespace

bool arithmetic_report::sound() const {
  return !checks.empty() &&
         std::ranges::all_of(checks, [](const arithmetic_check& check) { return check.passed || !check.relied_upon; });
}

arithmetic_report test_arithmetic(const engine& engine) {
  const command_queue queue(engine);
  const auto inputs = allocate_on_device<kernels::arithmetic_inputs>(queue, 1);
  const auto outputs = allocate_on_device<kernels::arithmetic_answers>(queue, 1);
  kernels::arithmetic_answers answers{};
  queue.memcpy(inputs.get(), &questions, sizeof questions);
  engine.kernels().submit(queue, launch::self_test, 1, inputs.get(), outputs.get());
  queue.memcpy(&answers, outputs.get(), sizeof answers);
  engine.wait();

  bool half_subnormals = true;
  for (int i = 0; i < 4; ++i) {
    const float exact = std::ldexp(static_cast<float>(questions.half_subnormals[i]), -24);
    half_subnormals &= answers.widened_subnormals[i] == exact;
    half_subnormals &= answers.narrowed_subnormals[i] == questions.half_subnormals[i];
  }
  constexpr std::uint16_t half_2048 = 0x6800, half_2052 = 0x6802, half_65504 = 0x7bff, half_infinity = 0x7c00;
  const bool half_rounds_to_even = answers.rounded_low == half_2048 && answers.rounded_high == half_2052 &&
                                   answers.largest == half_65504 && answers.overflowed == half_infinity;
  return {{{"half_subnormals", half_subnormals, true},
           {"half_rounds_to_even", half_rounds_to_even, true},
           {"no_reassociation", answers.reassociated == 0.0f, true},
           {"no_contraction", answers.contracted == 0.0f, true},
           {"exact_fma", answers.fused == 0x1p-24f, true},
           {"exact_division", answers.quotient == questions.dividend / questions.divisor, true},
           {"exact_square_root", answers.root == std::sqrt(questions.radicand), true},
           {"nan_tests_survive", answers.nan_differs_from_itself != 0, false},
           {"float_subnormals", answers.subnormal_doubled == 0x1p-139f, false}}};
}

}  // namespace SYCLAMP_NAMESPACE
