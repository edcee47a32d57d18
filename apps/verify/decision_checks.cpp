// SPDX-License-Identifier: Apache-2.0
// Decisions of the scaler on more than one list of gradients with one scale: several scales, several optimizers, ranks,
// queues, types without gradients; and what else can stop a step.
#include <cmath>
#include <limits>
#include <memory>

#include <fmt/format.h>

#include "apps/support/trace_replay.hpp"
#include "apps/verify/check.hpp"
#include "apps/verify/comparisons.hpp"
#include "apps/verify/guarded_tensor.hpp"
#include "tests/support/simulated_ranks.hpp"

namespace syclamp::verify {
namespace {

constexpr float init_scale = 1024.0f;
constexpr float max_norm = 0.5f;

/// Gradients of one tensor: multiples of 1/16 up to 1, so that unscaled gradients and their sums are exact.
std::vector<std::uint16_t> gradients(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::uint16_t> data(count);
  for (auto& entry : data) {
    const double sixteenths = static_cast<double>(random() % 33) - 16;
    entry = static_cast<std::uint16_t>(reference::encode(sixteenths / 16, reference::binary16));
  }
  return data;
}

struct described_tensor {
  std::vector<std::uint16_t> gradient;
  std::uint32_t group = 0;
  bool replicated = false;
};

double sum_of_squares(const std::vector<described_tensor>& tensors) {
  double sum = 0;
  for (const described_tensor& tensor : tensors)
    for (const auto entry : tensor.gradient) {
      const double value = reference::decode(entry, reference::binary16).value;
      sum += value * value;
    }
  return sum;
}

/// FP16 gradients, FP32 weights that begin at 0, and SGD that adds the unscaled and clipped gradients to them.
class summing_model {
 public:
  summing_model(const engine& engine, const std::vector<described_tensor>& tensors)
      : optimizer_(engine, describe(engine, tensors), sgd{.lr = 1, .maximize = true}, {.unscaled_shadow = true}) {}

  fused_optimizer& optimizer() { return optimizer_; }
  void write(std::size_t tensor, const std::vector<std::uint16_t>& gradient) { gradients_[tensor].write(gradient); }
  std::vector<double> gradient(std::size_t tensor) const { return gradients_[tensor].values(); }
  std::vector<double> weights(std::size_t tensor) const { return weights_[tensor].values(); }

  /// Weights that should be a factor times the gradients, after one step.
  std::string difference(double factor) const {
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      std::vector<bounded> expected;
      // Norm and clip coefficient err by 128 roundings each, as in compare_clip.
      for (const double value : gradient(i))
        expected.push_back({value * factor, 256 * 0x1p-24 * std::abs(value * factor)});
      std::string wrong = compare_values(weights(i), expected);
      if (wrong.empty()) wrong = weights_[i].written_outside();
      if (!wrong.empty()) return fmt::format("weights of tensor {}: {}", i, wrong);
    }
    return {};
  }

  /// Empty if no step was applied.
  std::string applied() const {
    for (const auto& tensor : weights_)
      for (const double weight : tensor.values())
        if (weight != 0) return "the skipped step changed weights";
    return {};
  }

 private:
  std::vector<parameter> describe(const engine& engine, const std::vector<described_tensor>& tensors) {
    std::vector<parameter> parameters;
    for (const described_tensor& tensor : tensors) {
      gradients_.emplace_back(engine, tensor.gradient, 1);
      weights_.emplace_back(engine, std::vector<std::uint32_t>(tensor.gradient.size()), 1);
      parameters.push_back({.gradient = gradients_.back().view(),
                            .model = weights_.back().view(),
                            .group = tensor.group,
                            .replicated = tensor.replicated});
    }
    return parameters;
  }

  std::vector<guarded_tensor<float16>> gradients_;
  std::vector<guarded_tensor<float32>> weights_;
  fused_optimizer optimizer_;
};

std::string wrong_outcome(const step_record& record, step_outcome expected) {
  if (record.outcome == expected) return {};
  return fmt::format("the step is {} instead of {}", to_string(record.outcome), to_string(expected));
}

/// The first text that is not empty.
std::string first_of(const std::vector<std::string>& differences) {
  for (const std::string& difference : differences)
    if (!difference.empty()) return difference;
  return {};
}

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
  std::string difference = model.applied();
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
  std::string applied() const { return first_of({models[0]->applied(), models[1]->applied()}); }

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
  if (difference.empty()) difference = skipped.applied();
  if (!difference.empty()) return in_part("overflow", difference);
  // The first optimizer's gradients are decided before those of the second are inspected.
  unscaled.scaler.begin_step();
  unscaled.scaler.unscale(unscaled.models[0]->optimizer());
  difference = wrong_outcome(unscaled.step({}), step_outcome::skipped_inf);
  if (difference.empty()) difference = unscaled.applied();
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
          overflows ? first_of({wrong_outcome(record, step_outcome::skipped_inf), training->applied()})
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

/// An optimizer on a queue of its own, beside one on the queue of the scaler: equal in every bit.
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

// --- What else stops a step ---

std::string spike_difference(const engine& engine) {
  summing_model model(engine, {{gradients(100, 1)}});
  loss_scaler scaler(engine, {.init_scale = init_scale});
  const spike_guard guard(engine, {.threshold = 5, .window = 4});
  const auto outcome_at = [&](float loss, step_outcome expected) {
    const device_array<float> value(engine, 1, loss);
    guard.check(device_value(engine, value.data()), scaler);
    scaler.begin_step();
    scaler.step(model.optimizer());
    scaler.update();
    return in_part(fmt::format("a loss of {}", loss), wrong_outcome(scaler.outcome(), expected));
  };
  std::string difference;
  for (int i = 0; i < 8 && difference.empty(); ++i)
    difference = outcome_at(i % 2 == 0 ? 2.0f : 2.2f, step_outcome::applied);
  if (difference.empty()) difference = outcome_at(9.0f, step_outcome::skipped_by_user);
  if (difference.empty()) difference = outcome_at(1.0f, step_outcome::applied);  // a low loss is no spike
  return difference;
}

std::string stop_difference(const engine& engine) {
  auto bad = gradients(100, 1);
  bad[50] = float16::infinity;
  summing_model model(engine, {{bad}});
  loss_scaler scaler(engine, {.init_scale = init_scale, .give_up_after = 2, .on_give_up = give_up_action::stop});
  const auto step = [&] {
    scaler.begin_step();
    scaler.step(model.optimizer());
    scaler.update();
    return scaler.outcome();
  };
  std::string difference = wrong_outcome(step(), step_outcome::skipped_inf);
  const step_status status = step().status;
  if (difference.empty() && status != step_status::too_many_skips)
    difference = fmt::format("the status of the second overflow is {}", to_string(status));
  model.write(0, gradients(100, 1));
  if (difference.empty()) difference = in_part("after the stop", wrong_outcome(step(), step_outcome::stopped));
  if (difference.empty()) difference = model.applied();
  scaler.resume();
  if (difference.empty()) difference = in_part("after resume", wrong_outcome(step(), step_outcome::applied));
  return difference;
}

/// A limit or a learning rate in device memory that is a NaN skips the step.
std::string invalid_number_difference(const engine& engine) {
  const device_array<float> invalid(engine, 1, std::numeric_limits<float>::quiet_NaN());
  const device_value value(engine, invalid.data());
  for (const bool is_limit : {true, false}) {
    summing_model model(engine, {{gradients(100, 1)}});
    loss_scaler scaler(engine, {.init_scale = init_scale});
    if (!is_limit) model.optimizer().set_lr_source(value);
    scaler.begin_step();
    if (is_limit) clip_by_value(scaler.unscale(model.optimizer()), value);
    scaler.step(model.optimizer());
    scaler.update();
    const std::string difference =
        first_of({wrong_outcome(scaler.outcome(), step_outcome::invalid_number), model.applied()});
    if (!difference.empty()) return in_part(is_limit ? "limit" : "learning rate", difference);
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
            return first_of({in_part("skipping separately", separate_scales_difference(on)),
                             in_part("skipping together", common_skip_difference(on))});
          },
          fmt::format("{} scales, {} steps, bit-identical to the host", scales, read_trace(traces[0]).size())),
      add("joint steps", joint_step_difference, "2 optimizers, clipped by the joint norm, 2 overflows"),
      add("consensus of ranks", consensus_difference, "2 simulated ranks, clipped by the norm over both, an overflow"),
      add("gradients of FP64 and FP8", other_types_difference, "3 types beside float16, with and without Inf or NaN"),
      add("second queue", second_queue_difference, "2 steps, bit-identical to one queue"),
      add(
          "spikes, stops, invalid numbers",
          [](const syclamp::engine& on) {
            return first_of({in_part("spike guard", spike_difference(on)), in_part("stop", stop_difference(on)),
                             in_part("NaN", invalid_number_difference(on))});
          },
          "a spike of the loss, 2 overflows, a limit and a learning rate that are NaN"),
  };
}

}  // namespace syclamp::verify
