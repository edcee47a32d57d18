// SPDX-License-Identifier: Apache-2.0
// The task `field`: a surrogate model that replaces a simulation. The loss is the mean over all points of
// all samples, so the gradient of an output is 2 / (4096 · 4096) of its error: about 1e-7, where FP16 ends.
#include <array>
#include <cmath>
#include <numbers>
#include <thread>

#include <fmt/format.h>

#include "apps/training/random.hpp"
#include "apps/training/task.hpp"

namespace syclamp::training {
namespace {

constexpr std::uint64_t side = 16, points = side * side * side, batches = 4;
constexpr std::uint64_t data_seed = 20;  // not the seed of a run: every run learns the same

/// What a wave depends on, each from a range.
enum parameter_index : std::uint8_t {
  source_x,
  source_y,
  source_z,
  wave_number,
  damping,
  speed,
  time,
  phase,
  parameter_count
};
struct range {
  double low, high;
};
constexpr std::array<range, parameter_count> ranges{{{-1.0, -0.5},
                                                     {0.25, 0.75},
                                                     {0.25, 0.75},
                                                     {2.0, 3.0},
                                                     {0.0, 2.0},
                                                     {0.5, 1.5},
                                                     {0.0, 1.0},
                                                     {0.0, std::numbers::pi}}};

/// exp(-damping · t) · cos(k · (r - speed · t) + phase), with r from the source to each point of the unit cube.
void compute_wave(const std::array<double, parameter_count>& parameters, float* field) {
  const auto place = [](std::uint64_t i) { return (static_cast<double>(i) + 0.5) / side; };
  const auto amplitude = static_cast<float>(std::exp(-parameters[damping] * parameters[time]));
  const auto shift =
      static_cast<float>(parameters[phase] - parameters[wave_number] * parameters[speed] * parameters[time]);
  const auto k = static_cast<float>(parameters[wave_number]);
  for (std::uint64_t i = 0; i < side; ++i)
    for (std::uint64_t j = 0; j < side; ++j)
      for (std::uint64_t l = 0; l < side; ++l) {
        const double x = place(i) - parameters[source_x], y = place(j) - parameters[source_y],
                     z = place(l) - parameters[source_z];
        const auto r = static_cast<float>(std::sqrt(x * x + y * y + z * z));
        *field++ = amplitude * std::cos(k * r + shift);
      }
}

/// Samples number `first` and following of an endless sequence; inputs are from -1 to 1.
samples make_samples(std::uint64_t first, std::uint64_t count) {
  samples made{.count = count};
  made.inputs.resize(count * parameter_count);
  made.targets.resize(count * points);
  const auto make = [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      random_numbers random(data_seed, first + i);
      std::array<double, parameter_count> at{};
      for (std::uint64_t p = 0; p < parameter_count; ++p) {
        const double share = random.uniform();
        at[p] = ranges[p].low + share * (ranges[p].high - ranges[p].low);
        made.inputs[i * parameter_count + p] = static_cast<float>(2 * share - 1);
      }
      compute_wave(at, made.targets.data() + i * points);
    }
  };
  std::thread half(make, 0, count / 2);
  make(count / 2, count);
  half.join();
  return made;
}

}  // namespace

task field_task(std::uint64_t batch) {
  task field{.name = "field",
             .model = {.widths = {parameter_count, 64, 64, points}},
             .batch = 4096,
             .epochs = 70,
             .shuffles_rows = false,
             .optimizer = {.lr = 4e-3, .weight_decay = 0.0},
             .schedule = {.kind = lr_schedule::shape::decay, .gamma = 0.5f, .warm_up = 10, .steps = 60}};
  if (batch != 0) field.batch = batch;
  constexpr std::uint64_t most = 1u << 16;
  if (field.batch > most)
    throw invalid_argument(fmt::format("train: --batch is {}; it must be at most {}", batch, most));
  const std::uint64_t count = field.batch * batches;
  field.training = make_samples(0, count);
  field.held_out = make_samples(count, (field.batch + 3) / 4);
  return field;
}

}  // namespace syclamp::training
