// SPDX-License-Identifier: Apache-2.0
// Decisions of the scaler on more than one list of gradients with one scale: several scales, several optimizers, ranks,
// queues, and types that gradients of optimizers do not have.
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "apps/support/trace_replay.hpp"
#include "apps/verify/check.hpp"
#include "apps/verify/comparisons.hpp"
#include "apps/verify/guarded_tensor.hpp"
#include "apps/verify/summing_model.hpp"
#include "tests/support/simulated_ranks.hpp"

namespace syclamp::verify {
namespace {

constexpr float max_norm = 0.5f;

// --- Several scales ---

constexpr const char* traces[] = {".....i..n.......", "..............i.", "iii.....i......n"};
constexpr std::uint32_t scales = std::size(traces);

/// Each scale follows its own trace, as if it were alone.
std::string separate_scales_difference(const engine& engine) {
  const scaling_policy policy{.init_scale = init_scale, .growth_interval = 3};
  std::vector<std::vector<simulated_step>> steps;
  std::vector<described_tensor> tensors;
  for (std::uint32_t i = 0; i < scales; ++i) {
    steps.push_back(read_trace(traces[i]));
    tensors.push_back({.gradient = gradients(1001 + i, i), .group = i});
  }
  summing_model model(engine, tensors);
  loss_scaler scaler(engine, policy, {.scales = scales, .skip_together = false});
  std::vector<std::vector<simulated_result>> results(scales);
  std::vector<std::vector<double>> weights;
  for (const described_tensor& tensor : tensors) weights.emplace_back(tensor.gradient.size());
  for (std::size_t step = 0; step < steps[0].size(); ++step) {
    for (std::uint32_t i = 0; i < scales; ++i) {
      auto content = tensors[i].gradient;
      if ((steps[i][step].flags & found_inf) != 0) content.back() = float16::infinity;
      if ((steps[i][step].flags & found_nan) != 0) content.front() = float16::quiet_nan;
      model.write(i, content);
    }
    scaler.begin_step();
    scaler.step(model.optimizer());
    scaler.update();
    for (std::uint32_t i = 0; i < scales; ++i) {
      const step_record record = scaler.outcome(i);
      results[i].push_back({record.scale, record.next_scale, record.outcome, record.status});
      if (!record.was_applied()) continue;
      const auto gradient = model.gradient(i);
      for (std::size_t k = 0; k < gradient.size(); ++k)
        weights[i][k] += gradient[k] / static_cast<double>(record.scale);
    }
  }
  for (std::uint32_t i = 0; i < scales; ++i) {
    std::string difference = compare_traces(results[i], program::replay_on_host(policy, steps[i]));
    if (difference.empty() && model.weights(i) != weights[i]) difference = "weights of the group are wrong";
    if (!difference.empty()) return fmt::format("scale {}: {}", i, difference);
  }
  return {};
}

/// An overflow of one group skips all groups. Only its own scale moves.
std::string common_skip_difference(const engine& engine) {
  std::vector<described_tensor> tensors;
  for (std::uint32_t i = 0; i < scales; ++i) tensors.push_back({.gradient = gradients(1001, i), .group = i});
  tensors[1].gradient[7] = float16::infinity;
  summing_model model(engine, tensors);
  loss_scaler scaler(engine, {.init_scale = init_scale}, {.scales = scales});
  scaler.begin_step();
  scaler.step(model.optimizer(), {.max_norm = max_norm});
  scaler.update();
  std::string difference = model.unexpected_change();
  for (std::uint32_t i = 0; i < scales && difference.empty(); ++i) {
    difference = wrong_outcome(scaler.outcome(i), i == 1 ? step_outcome::skipped_inf : step_outcome::skipped_jointly);
    const float expected = i == 1 ? init_scale / 2 : init_scale;
    if (difference.empty() && scaler.get_scale(i) != expected)
      difference = fmt::format("the scale is {} instead of {}", scaler.get_scale(i), expected);
    difference = in_part(fmt::format("scale {}", i), difference);
  }
  return difference;
}

// --- Several optimizers ---

/// Two optimizers and their scaler.
struct joint_training {
  joint_training(const engine& engine, const std::vector<described_tensor>& first,
                 const std::vector<described_tensor>& second, const scaler_options& options = {})
      : models{std::make_unique<summing_model>(engine, first), std::make_unique<summing_model>(engine, second)},
        scaler(engine, {.init_scale = init_scale}, options) {}

  step_record step(const step_options& options) {
    optimizer* const both[] = {&models[0]->optimizer(), &models[1]->optimizer()};
    scaler.step(both, options);
    scaler.update();
    return scaler.outcome();
  }
  std::string unexpected_change() const {
    return first_difference({models[0]->unexpected_change(), models[1]->unexpected_change()});
  }

  std::unique_ptr<summing_model> models[2];
  loss_scaler scaler;
};

std::string clipped_difference(const step_record& record, double squares,
                               const std::vector<const summing_model*>& models) {
  const double norm = std::sqrt(squares) / static_cast<double>(init_scale), limit = static_cast<double>(max_norm);
  std::string difference = wrong_outcome(record, step_outcome::applied);
  if (difference.empty()) difference = compare_clip({.norm = record.norm, .coefficient = record.clip}, norm, limit);
  const double factor = std::min(1.0, limit / (norm + 1e-6)) / static_cast<double>(init_scale);
  for (const summing_model* model : models)
    if (difference.empty()) difference = model->difference(factor);
  return difference;
}

std::string joint_step_difference(const engine& engine) {
  const std::vector<described_tensor> first{{gradients(70'001, 1)}, {gradients(67, 2)}};
  std::vector<described_tensor> second{{gradients(300'000, 3)}};
  joint_training clipped(engine, first, second);
  clipped.scaler.begin_step();
  const step_record record = clipped.step({.max_norm = max_norm});
  std::string difference = clipped_difference(record, sum_of_squares(first) + sum_of_squares(second),
                                              {clipped.models[0].get(), clipped.models[1].get()});
  if (!difference.empty()) return in_part("clipped jointly", difference);

  second[0].gradient[100'000] = float16::infinity;
  joint_training skipped(engine, first, second), unscaled(engine, first, second);
  skipped.scaler.begin_step();
  difference = wrong_outcome(skipped.step({.max_norm = max_norm}), step_outcome::skipped_inf);
  if (difference.empty()) difference = skipped.unexpected_change();
  if (!difference.empty()) return in_part("overflow", difference);
  // The first optimizer's gradients are decided before those of the second are inspected.
  unscaled.scaler.begin_step();
  unscaled.scaler.unscale(unscaled.models[0]->optimizer());
  difference = wrong_outcome(unscaled.step({}), step_outcome::skipped_inf);
  if (difference.empty()) difference = unscaled.unexpected_change();
  return in_part("overflow after unscaling", difference);
}

// --- Ranks ---

struct rank_result {
  step_record record;
  std::unique_ptr<joint_training> training;
};

/// Each rank holds a tensor that is the same on all ranks, and its own part of another one.
std::string consensus_difference(const engine& engine) {
  constexpr std::uint32_t ranks = 2;
  const std::vector<described_tensor> replicated{{.gradient = gradients(70'001, 1), .replicated = true}};
  for (const bool overflows : {false, true}) {
    double squares = sum_of_squares(replicated);
    std::vector<std::vector<described_tensor>> divided;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      divided.push_back({{.gradient = gradients(200'000 + rank, 2 + rank)}});
      squares += sum_of_squares(divided.back());
    }
    if (overflows) divided.back().front().gradient.back() = float16::infinity;
    const auto results = simulated_ranks(ranks).run([&](const consensus& rank) {
      auto training =
          std::make_unique<joint_training>(engine, replicated, divided[rank.rank], scaler_options{.consensus = rank});
      training->scaler.begin_step();
      const step_record record = training->step({.max_norm = max_norm});
      return rank_result{record, std::move(training)};
    });
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      const auto& [record, training] = results[rank];
      const std::string difference =
          overflows
              ? first_difference({wrong_outcome(record, step_outcome::skipped_inf), training->unexpected_change()})
              : clipped_difference(record, squares, {training->models[0].get(), training->models[1].get()});
      if (!difference.empty()) return fmt::format("rank {}{}: {}", rank, overflows ? ", overflow" : "", difference);
    }
  }
  return {};
}

// --- Types ---

/// A tensor of a type that gradients of optimizers do not have, beside one of FP16.
template <typename Format>
std::string other_type_difference(const engine& engine) {
  constexpr std::uint64_t count = 70'001;
  for (const bool overflows : {false, true}) {
    const auto half = gradients(count, 1);
    auto other = uniform_numbers<Format>(count, 2);
    other[5] = 0, other[6] = 1;  // 1: the smallest subnormal
    if (overflows) other[count - 3] = Format::infinity;
    const guarded_tensor<float16> half_memory(engine, half, 1);
    const guarded_tensor<Format> other_memory(engine, other, 1);
    const tensor_list list(engine, {{.data = half_memory.view()}, {.data = other_memory.view()}});
    loss_scaler scaler(engine, {.init_scale = init_scale});
    scaler.begin_step();
    scaler.inspect(list);
    scaler.update();
    auto expected = reference::inspect(count, Format::format, [&](std::uint64_t i) { return other[i]; });
    const auto beside = reference::inspect(count, reference::binary16, [&](std::uint64_t i) { return half[i]; });
    expected.zero_count += beside.zero_count;
    expected.sum_of_squares += beside.sum_of_squares;
    const std::string difference = compare_record(scaler.outcome(), expected, 2 * count, 1);
    if (!difference.empty()) return difference;
  }
  return {};
}

std::string other_types_difference(const engine& engine) {
  std::string all;
  add_difference(all, to_string(element_type::float64), other_type_difference<float64>(engine));
  add_difference(all, to_string(element_type::float8_e4m3), other_type_difference<float8_e4m3>(engine));
  add_difference(all, to_string(element_type::float8_e5m2), other_type_difference<float8_e5m2>(engine));
  return all;
}

// --- Queues ---

/// An optimizer on another queue than the scaler's gives the same bits as one on the scaler's queue.
std::string second_queue_difference(const engine& engine) {
  const sycl::queue& home = engine.queue();
  const syclamp::engine other(
      sycl::queue(home.get_context(), home.get_device(), sycl::property_list{sycl::property::queue::in_order{}}),
      engine.profile_name());
  for (const bool overflows : {false, true}) {
    std::vector<described_tensor> tensors{{gradients(70'001, 1)}};
    if (overflows) tensors[0].gradient[70'000] = float16::quiet_nan;
    step_record records[2];
    std::vector<double> weights[2];
    for (const bool is_away : {false, true}) {
      summing_model model(is_away ? other : engine, tensors);
      loss_scaler scaler(engine, {.init_scale = init_scale});
      scaler.begin_step();
      scaler.step(model.optimizer(), {.max_norm = max_norm});
      scaler.update();
      records[is_away] = scaler.outcome();
      other.wait();
      weights[is_away] = model.weights(0);
    }
    std::string difference = compare_records(records[1], records[0]);
    if (difference.empty() && weights[1] != weights[0]) difference = "weights differ";
    if (!difference.empty()) return difference;
  }
  return {};
}

}  // namespace

std::vector<check> decision_checks(const engine& engine, const settings&) {
  const auto add = [&](const char* name, auto difference, const std::string& detail) {
    return check{name,
                 "Update the driver of the device and run verify again. Training with one scale and one optimizer does "
                 "not need it.",
                 [=] { return passed_unless(difference(engine), detail); }};
  };
  return {
      add(
          "several scales",
          [](const syclamp::engine& on) {
            return first_difference({in_part("skipping separately", separate_scales_difference(on)),
                                     in_part("skipping together", common_skip_difference(on))});
          },
          fmt::format("{} scales, {} steps, bit-identical to the host", scales, read_trace(traces[0]).size())),
      add("joint steps", joint_step_difference, "2 optimizers, clipped by the joint norm, 2 overflows"),
      add("consensus of ranks", consensus_difference, "2 simulated ranks, clipped by the norm over both, an overflow"),
      add("gradients of FP64 and FP8", other_types_difference, "3 types beside float16, with and without Inf or NaN"),
      add("second queue", second_queue_difference, "2 steps, bit-identical to one queue"),
  };
}

}  // namespace syclamp::verify
