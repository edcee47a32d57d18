// SPDX-License-Identifier: Apache-2.0
// Weights, gradients and moments of all sizes and alignments, in memory with canaries, and an optimizer on them.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include "syclamp/syclamp.hpp"
#include "tests/support/optimizer_cases.hpp"
#include "tests/support/tensors.hpp"

/// For a test case that is to run with each of them.
inline const optimizer_case& any_case() {
  return optimizer_cases()[GENERATE(Catch::Generators::range(std::size_t{0}, optimizer_cases().size()))];
}

inline const optimizer_case& any_tensor_wise_case() {
  return tensor_wise_cases()[GENERATE(Catch::Generators::range(std::size_t{0}, tensor_wise_cases().size()))];
}

/// A copy of the weights as the gradients are stored; none for FP32.
template <typename Gradient>
using copy_of = std::conditional_t<std::is_same_v<Gradient, float32>, void, Gradient>;

/// Gradients that are scaled by 4 and clipped to three quarters.
inline constexpr syclamp::step_decision unscale_and_clip{1, 1.0f, 0.25f, 0.75f};
inline constexpr double unscaled_and_clipped = 0.25 * 0.75;

/// All bits that a step may change.
struct training_state {
  std::vector<std::uint32_t> master, states[3];
  std::vector<std::uint64_t> model;
  std::uint64_t steps = 0;

  bool operator==(const training_state& other) const {
    return master == other.master && model == other.model && steps == other.steps && states[0] == other.states[0] &&
           states[1] == other.states[1] && states[2] == other.states[2];
  }
};

/// A decision in device memory.
struct device_decision {
  device_decision(const syclamp::engine& engine, const syclamp::step_decision& value)
      : memory(engine.queue(), {value}) {}
  operator const syclamp::step_decision*() const { return memory.data(); }
  device_buffer<syclamp::step_decision> memory;
};

/// All memory belongs to the test. The model is a copy, or absent if `Model` is void.
template <typename Gradient, typename Model>
struct training {
  static constexpr bool has_model = !std::is_void_v<Model>;
  using model_format = std::conditional_t<has_model, Model, float32>;
  using flat = tensors_of_all_sizes<float32>;

  training(const syclamp::engine& engine, const syclamp::optimizer_settings& settings, std::size_t offset,
           const syclamp::storage_options& storage = {}, std::uint32_t states = 3)
      : engine(engine),
        gradients(engine, 1, offset, true),
        master(engine, 2, offset, true),
        model(engine, 3, offset, true),
        first(engine.queue(), std::vector<std::uint32_t>(flat::total()), offset),
        second(engine.queue(), std::vector<std::uint32_t>(flat::total()), offset),
        third(engine.queue(), std::vector<std::uint32_t>(flat::total()), offset),
        optimizer(engine, describe(states), settings, storage) {}

  std::vector<syclamp::parameter> describe(std::uint32_t states) const {
    std::vector<syclamp::parameter> all;
    std::uint64_t place = 0;
    for (std::size_t i = 0; i < gradients.list.size(); ++i) {
      syclamp::parameter each{.gradient = gradients.list.writable(i), .master = master.list.writable(i)};
      if (has_model) each.model = model.list.writable(i);
      if (states > 0) each.states = {first.data() + place, second.data() + place, third.data() + place};
      all.push_back(each);
      place += gradients.list[i].count() + 3;
    }
    return all;
  }

  /// New gradients. All are finite except the one at `overflow`, if it is given.
  void backward(std::uint32_t seed, std::optional<std::uint64_t> overflow = {}) {
    gradients.content = finite_bits<Gradient>(flat::total(), seed);
    if (overflow) gradients.content[*overflow] = Gradient::infinity;
    const auto bytes = gradients.content.size() * sizeof gradients.content[0];
    engine.queue().memcpy(gradients.memory.data(), gradients.content.data(), bytes).wait();
  }

  training_state read() const {
    training_state now;
    now.master = master.memory.read();
    const auto copy = model.memory.read();
    now.model.assign(copy.begin(), copy.end());
    now.states[0] = first.read();
    now.states[1] = second.read();
    now.states[2] = third.read();
    now.steps = optimizer.steps();
    return now;
  }

  bool canaries_are_alive() const {
    return master.memory.canaries_are_alive() && model.memory.canaries_are_alive() && first.canaries_are_alive() &&
           second.canaries_are_alive() && third.canaries_are_alive() && gradients.memory.canaries_are_alive();
  }

  void step(const syclamp::step_decision& decision) {
    const device_decision there(engine, decision);
    optimizer.apply(syclamp::step_inputs{optimizer.gradients(), there, false});
    engine.wait();
  }

  double gradient(std::uint64_t i) const { return reference::decode(gradients.content[i], Gradient::format).value; }

  syclamp::engine engine;
  tensors_of_all_sizes<Gradient> gradients;
  flat master;
  tensors_of_all_sizes<model_format> model;
  device_buffer<std::uint32_t> first, second, third;
  syclamp::fused_optimizer optimizer;
};

inline double number(std::uint32_t bits) { return static_cast<double>(std::bit_cast<float>(bits)); }

inline bool is_near(double got, double want, double size) {
  return std::abs(got - want) <= reference::rounding_error(size);
}

/// The number of elements that differ from the oracle after a step from `before` to `after`. Memory between the tensors
/// must not have changed.
template <typename Training>
std::uint64_t count_wrong(const Training& run, const reference::optimizer_settings& settings,
                          const training_state& before, const training_state& after, double unscale,
                          std::uint32_t states) {
  std::uint64_t wrong = 0, undecided = 0;
  for (std::uint64_t i = 0; i < after.master.size(); ++i) {
    if (Training::flat::in_gap(i)) {
      wrong += after.master[i] != before.master[i] || after.model[i] != before.model[i];
      for (const auto k : {0, 1, 2}) wrong += after.states[k][i] != before.states[k][i];
      continue;
    }
    reference::element now{number(before.master[i]), {}};
    for (std::uint32_t k = 0; k < states; ++k) now.state[k] = number(before.states[k][i]);
    const auto want = reference::step(settings, before.steps + 1, run.gradient(i) * unscale, now);
    undecided += want.is_undecided ? 1 : 0;
    bool good = want.is_undecided || is_near(number(after.master[i]), want.next.weight, want.weight_size);
    for (std::uint32_t k = 0; k < states; ++k)
      good = good && is_near(number(after.states[k][i]), want.next.state[k], want.state_size[k]);
    const std::uint64_t copy = reference::encode(number(after.master[i]), Training::model_format::format);
    good = good && after.model[i] == (Training::has_model ? copy : before.model[i]);
    if (!good) ++wrong;
  }
  // A sum of random terms is as near to 0 as 2^-20 of its size about once in a million times.
  CHECK(undecided <= after.master.size() / 10'000);
  return wrong;
}
