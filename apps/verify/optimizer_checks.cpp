// SPDX-License-Identifier: Apache-2.0
// Optimizer steps against the oracle: scaled gradients of all types, clipped, and one overflow that must be skipped.
#include <algorithm>

#include <fmt/format.h>

#include "apps/verify/check.hpp"
#include "apps/verify/comparisons.hpp"
#include "apps/verify/guarded_tensor.hpp"
#include "tests/reference/optimizers.hpp"
#include "tests/support/optimizer_cases.hpp"

namespace syclamp::verify {
namespace {

constexpr float scale = 1024.0f;
constexpr float max_norm = 0.5f;
constexpr std::uint64_t sizes[] = {0, 1, 7, 8, 1023, 65537};

/// A tensor of weights with everything that belongs to it.
template <typename Format>
struct trained_tensor {
  trained_tensor(const engine& engine, std::uint64_t count, std::uint32_t seed)
      : gradient(engine, normal_gradients<Format>(count, seed), seed % 2),
        model(engine, std::vector<typename Format::bits>(count), seed % 2),
        master(engine, normal_gradients<float32>(count, seed + 1), seed % 2) {
    for (int i = 0; i < 3; ++i) states.emplace_back(engine, std::vector<std::uint32_t>(count), seed % 2);
  }

  parameter describe() const {
    parameter described{.gradient = gradient.view(), .master = master.view()};
    if (Format::type != element_type::float32) described.model = model.view();
    for (std::size_t i = 0; i < states.size(); ++i) described.states[i] = states[i].data();
    return described;
  }

  /// Weights and moments as the oracle takes them.
  std::vector<reference::element> read() const {
    std::vector<reference::element> all;
    for (const double weight : master.values()) all.push_back({weight, {}});
    for (std::size_t state = 0; state < states.size(); ++state) {
      const auto values = states[state].values();
      for (std::size_t i = 0; i < values.size(); ++i) all[i].state[state] = values[i];
    }
    return all;
  }

  /// Bits of everything that a step may change.
  std::vector<std::uint64_t> bits() const {
    std::vector<std::uint64_t> all = master.read();
    for (const auto& part : {model.read(), states[0].read(), states[1].read(), states[2].read()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }

  std::string written_outside() const {
    for (const std::string& written :
         {gradient.written_outside(), model.written_outside(), master.written_outside(), states[0].written_outside(),
          states[1].written_outside(), states[2].written_outside()})
      if (!written.empty()) return written;
    return {};
  }

  guarded_tensor<Format> gradient, model;
  guarded_tensor<float32> master;
  std::vector<guarded_tensor<float32>> states;
  double second = 0;  ///< NovoGrad's second moment, as the oracle counts it
};

bool is_tensor_wise(const optimizer_case& test_case) {
  return std::ranges::any_of(tensor_wise_cases(), [&](const auto& entry) { return entry.name == test_case.name; });
}

std::vector<reference::stepped> oracle_step(const optimizer_case& test_case, std::uint64_t step,
                                            const std::vector<double>& gradients,
                                            const std::vector<reference::element>& before, double& second) {
  if (is_tensor_wise(test_case)) return reference::step_of_tensor(test_case.expected, step, gradients, before, second);
  std::vector<reference::stepped> all;
  for (std::size_t i = 0; i < before.size(); ++i)
    all.push_back(reference::step(test_case.expected, step, gradients[i], before[i]));
  return all;
}

/// Compares a tensor after a step with what the oracle makes of it before.
template <typename Format>
std::string step_difference(const optimizer_case& test_case, std::uint64_t step, double coefficient,
                            const std::vector<reference::element>& before, trained_tensor<Format>& tensor,
                            std::uint32_t states) {
  std::vector<double> gradients = tensor.gradient.values();
  for (double& gradient : gradients) gradient *= coefficient / scale;
  const auto expected = oracle_step(test_case, step, gradients, before, tensor.second);
  const auto after = tensor.read();
  std::vector<double> result;
  std::vector<bounded> bounds;
  const auto collect = [&](auto value_of, auto bound_of) {
    result.clear(), bounds.clear();
    for (std::size_t i = 0; i < after.size(); ++i) {
      result.push_back(value_of(after[i]));
      bounds.push_back(bound_of(expected[i], result.back()));
    }
    return compare_values(result, bounds);
  };
  // Where rounding may turn the sign of a direction, any weight is accepted.
  std::string difference =
      in_part("weights", collect([](const auto& element) { return element.weight; },
                                 [](const auto& oracle, double got) {
                                   if (oracle.is_undecided) return bounded{got, 0};
                                   return bounded{oracle.next.weight, reference::rounding_error(oracle.weight_size)};
                                 }));
  for (std::uint32_t k = 0; k < states && difference.empty(); ++k)
    difference =
        in_part(fmt::format("moment {}", k), collect([&](const auto& element) { return element.state[k]; },
                                                     [&](const auto& oracle, double) {
                                                       return bounded{oracle.next.state[k],
                                                                      reference::rounding_error(oracle.state_size[k])};
                                                     }));
  if (!difference.empty()) return difference;
  if (Format::type != element_type::float32) {
    std::vector<std::uint64_t> copies;
    for (const auto& element : after) copies.push_back(reference::encode(element.weight, Format::format));
    difference = in_part("model copy", compare_bits(tensor.model.read(), copies, Format::format));
  }
  return difference.empty() ? tensor.written_outside() : difference;
}

template <typename Format>
std::string optimizer_difference(const engine& engine, const optimizer_case& test_case) {
  std::vector<trained_tensor<Format>> tensors;
  std::vector<parameter> parameters;
  for (const std::uint64_t size : sizes)
    parameters.push_back(tensors.emplace_back(engine, size, static_cast<std::uint32_t>(tensors.size())).describe());
  fused_optimizer optimizer(engine, parameters, test_case.settings);
  loss_scaler scaler(engine, {.init_scale = scale, .growth_interval = 1000});
  const auto step = [&] {
    scaler.begin_step();
    scaler.step(optimizer, {.max_norm = max_norm});
    scaler.update();
    return scaler.outcome();
  };
  for (std::uint64_t t = 1; t <= 2; ++t) {
    std::vector<std::vector<reference::element>> before;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      tensors[i].gradient.write(normal_gradients<Format>(sizes[i], static_cast<std::uint32_t>(10 * t + i)));
      before.push_back(tensors[i].read());
    }
    const step_record record = step();
    if (!record.was_applied()) return fmt::format("step {} is {}", t, to_string(record.outcome));
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const std::string difference =
          step_difference(test_case, t, static_cast<double>(record.clip), before[i], tensors[i], optimizer.states());
      if (!difference.empty()) return fmt::format("step {}, {} elements: {}", t, sizes[i], difference);
    }
  }
  // An overflow in the last tensor: nothing changes.
  auto overflow = normal_gradients<Format>(sizes[std::size(sizes) - 1], 99);
  overflow.back() = Format::infinity;
  tensors.back().gradient.write(overflow);
  std::vector<std::vector<std::uint64_t>> before;
  for (const auto& tensor : tensors) before.push_back(tensor.bits());
  const step_record record = step();
  if (record.outcome != step_outcome::skipped_inf)
    return fmt::format("a step with an Inf is {}", to_string(record.outcome));
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].bits() != before[i])
      return fmt::format("the skipped step changed the tensor of {} elements", sizes[i]);
  return {};
}

/// The three that most models use, or all.
std::vector<optimizer_case> cases(const settings& settings) {
  std::vector<optimizer_case> all;
  if (settings.quick) {
    for (const char* name : {"sgd", "adamw", "lion"}) all.push_back(optimizer_case_named(name));
    return all;
  }
  all = optimizer_cases();
  all.insert(all.end(), tensor_wise_cases().begin(), tensor_wise_cases().end());
  return all;
}

}  // namespace

std::vector<check> optimizer_checks(const engine& engine, const settings& settings) {
  std::vector<check> checks;
  for (const optimizer_case& test_case : cases(settings))
    checks.push_back(
        {fmt::format("optimizer {}", test_case.name),
         "Update the driver of the device and run verify again. Do not train with this optimizer here until "
         "the check passes.",
         [engine, test_case] {
           std::string all;
           for_each_gradient_type([&](auto format) {
             add_difference(all, to_string(format.type), optimizer_difference<decltype(format)>(engine, test_case));
           });
           return passed_unless(
               all, fmt::format("3 types, {} tensors, 2 clipped steps and a skipped one", std::size(sizes)));
         }});
  return checks;
}

}  // namespace syclamp::verify
