// SPDX-License-Identifier: Apache-2.0
// Training whose every step is a function of its number, with parameters that are cut into tensors in any way: what a
// run that was saved and loaded has to repeat.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "syclamp/syclamp.hpp"
#include "tests/support/device_buffer.hpp"
#include "tests/support/formats.hpp"

/// How weights are kept.
struct storage_case {
  std::string name;
  syclamp::element_type gradient, model;
  bool has_model, has_master;  ///< that the test owns; if it has no master, the library keeps one, or needs none
  syclamp::storage_options options = {};
};

/// A tensor: so many of the next elements of a group.
struct cut {
  std::uint64_t count;
  std::uint32_t group;
};

inline constexpr std::array<std::uint64_t, 2> group_sizes = {3000, 1157};

inline std::vector<cut> few_tensors() { return {{3000, 0}, {1157, 1}}; }

/// The same elements; groups take turns, some tensors are empty or have one element.
inline std::vector<cut> many_tensors() {
  return {{1, 1}, {1000, 0}, {0, 0}, {17, 0}, {1000, 1}, {63, 0}, {0, 1}, {156, 1}, {1920, 0}};
}

/// Everything that training has changed, each group one after the other, as if it were one tensor.
struct training_content {
  std::vector<std::uint32_t> weights;
  std::array<std::vector<std::uint32_t>, 3> moments;  ///< as FP32, which holds BF16 exactly
  std::vector<std::uint64_t> model;
  std::array<std::uint64_t, 2> steps{};

  bool operator==(const training_content&) const = default;
};

class resumable_training {
 public:
  resumable_training(const syclamp::engine& engine, const syclamp::optimizer_settings& settings,
                     const storage_case& storage, const std::vector<cut>& cuts,
                     const syclamp::scaling_policy& policy = {}, double first_weight = 1.0)
      : engine(engine),
        storage_(storage),
        cuts_(cuts),
        gradients_(engine.queue(), zeros(storage.gradient)),
        model_(engine.queue(), weights(storage.model, first_weight)),
        master_(engine.queue(), weights(syclamp::element_type::float32, first_weight)),
        optimizer(engine, describe(), std::vector{settings, settings}, storage.options),
        scaler(engine, policy) {}

  /// Step `number`, counted from 0. Its gradients overflow if that ends in 2 or 5.
  void step(std::uint64_t number, const syclamp::step_options& options = {}) {
    const double scale = static_cast<double>(scaler.get_scale());
    std::vector<std::uint8_t> content = zeros(storage_.gradient);
    for (std::uint64_t i = 0; i < total(); ++i) put(content, storage_.gradient, i, gradient(number, i) * scale);
    if (number % 10 == 2 || number % 10 == 5)
      put(content, storage_.gradient, 1234, std::numeric_limits<double>::infinity());
    engine.queue().memcpy(gradients_.data(), content.data(), content.size()).wait();
    scaler.begin_step();
    scaler.step(optimizer, options);
    scaler.update();
  }

  training_content read() const {
    training_content now;
    now.weights.resize(total());
    for (std::uint32_t k = 0; k < optimizer.states(); ++k) now.moments[k].resize(total());
    std::array<std::uint64_t, 2> next = {0, group_sizes[0]};
    for (std::size_t i = 0; i < cuts_.size(); ++i) {
      const std::uint64_t first = next[cuts_[i].group];
      next[cuts_[i].group] += cuts_[i].count;
      const std::vector<float> values = optimizer.weights(i);
      for (std::uint64_t e = 0; e < cuts_[i].count; ++e)
        now.weights[first + e] = std::bit_cast<std::uint32_t>(values[e]);
      for (std::uint32_t k = 0; k < optimizer.states(); ++k) {
        const auto moment = patterns(optimizer.state(i, k).data(), cuts_[i].count, storage_.options.moments);
        const bool is_bf16 = storage_.options.moments == syclamp::element_type::bfloat16;
        for (std::uint64_t e = 0; e < cuts_[i].count; ++e)
          now.moments[k][first + e] = static_cast<std::uint32_t>(is_bf16 ? moment[e] << 16 : moment[e]);
      }
    }
    if (storage_.has_model) now.model = patterns(model_.data(), total(), storage_.model);
    now.steps = {optimizer.steps(0), optimizer.steps(1)};
    return now;
  }

  bool canaries_are_alive() const {
    return gradients_.canaries_are_alive() && model_.canaries_are_alive() && master_.canaries_are_alive();
  }

  syclamp::checkpoint_parts parts() { return {.optimizers = {&optimizer}, .scaler = &scaler}; }

  static std::uint64_t total() { return group_sizes[0] + group_sizes[1]; }

  syclamp::engine engine;

 private:
  /// Between -2^-6 and 2^-6.
  static double gradient(std::uint64_t step, std::uint64_t element) {
    const std::uint64_t mixed = (step * 0x9e3779b97f4a7c15u + element + 1) * 0xd1342543de82ef95u;
    return (static_cast<double>(mixed >> 44) * 0x1p-19 - 1.0) * 0x1p-6;
  }

  static std::vector<std::uint8_t> zeros(syclamp::element_type type) {
    return std::vector<std::uint8_t>(total() * syclamp::bytes_per_element(type));
  }

  static void put(std::vector<std::uint8_t>& to, syclamp::element_type type, std::uint64_t index, double value) {
    const std::uint64_t bits = reference::encode(value, format_of(type));
    const std::uint32_t size = syclamp::bytes_per_element(type);
    for (std::uint32_t i = 0; i < size; ++i) to[index * size + i] = static_cast<std::uint8_t>(bits >> (8 * i));
  }

  std::vector<std::uint8_t> weights(syclamp::element_type type, double first) const {
    std::vector<std::uint8_t> content = zeros(type);
    for (std::uint64_t i = 0; i < total(); ++i)
      put(content, type, i, first * (static_cast<double>(i * 37 % 101) - 50) / 50);
    return content;
  }

  std::vector<std::uint64_t> patterns(const void* data, std::uint64_t count, syclamp::element_type type) const {
    const std::uint32_t size = syclamp::bytes_per_element(type);
    std::vector<std::uint8_t> bytes(count * size);
    if (count != 0) engine.queue().memcpy(bytes.data(), data, bytes.size()).wait();
    std::vector<std::uint64_t> all(count);
    for (std::uint64_t i = 0; i < bytes.size(); ++i) all[i / size] |= std::uint64_t{bytes[i]} << (8 * (i % size));
    return all;
  }

  std::vector<syclamp::parameter> describe() const {
    std::vector<syclamp::parameter> all;
    std::array<std::uint64_t, 2> next = {0, group_sizes[0]};
    for (const cut& cut : cuts_) {
      const std::uint64_t first = next[cut.group];
      next[cut.group] += cut.count;
      const auto view = [&](const device_buffer<std::uint8_t>& buffer, syclamp::element_type type) {
        return syclamp::array_view{buffer.data() + first * syclamp::bytes_per_element(type), cut.count, type};
      };
      syclamp::parameter each{.gradient = view(gradients_, storage_.gradient), .group = cut.group};
      if (storage_.has_model) each.model = view(model_, storage_.model);
      if (storage_.has_master) each.master = view(master_, syclamp::element_type::float32);
      all.push_back(each);
    }
    return all;
  }

  storage_case storage_;
  std::vector<cut> cuts_;
  device_buffer<std::uint8_t> gradients_, model_, master_;

 public:
  syclamp::fused_optimizer optimizer;
  syclamp::loss_scaler scaler;
};
