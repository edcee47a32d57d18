// SPDX-License-Identifier: Apache-2.0
#include "bench/optimizers.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "bench/data.hpp"
#include "bench/native.hpp"
#include "bench/plain.hpp"

namespace syclamp::bench {
namespace {

struct contender {
  const char* name;
  optimizer_settings settings;
  unsigned moments;  ///< FP32 streams beside the weights
};

const contender contenders[] = {{"sgd", sgd{.lr = 1e-3}, 0},
                                {"momentum", sgd{.lr = 1e-3, .momentum = 0.9}, 1},
                                {"adam", adam{}, 2},
                                {"adamw", adamw{}, 2},
                                {"lion", lion{}, 1}};

/// Streams of the native loop, skewed as the library's are: what is compared is code, not the luck of addresses.
struct native_memory {
  native_memory(const engine& on, std::uint64_t elements, unsigned moments)
      : bytes(elements * sizeof(float) + page), memory(on, bytes * (1 + moments)) {
    for (unsigned i = 0; i <= moments; ++i)
      streams[i] =
          reinterpret_cast<float*>(memory.data + i * bytes + (i + 1) * skew % page / sizeof(float) * sizeof(float));
    native::clear(memory.data, bytes * (1 + moments) / 8 * 8);
  }

  static constexpr std::size_t page = 4096, skew = 832;
  std::size_t bytes;
  buffer memory;
  float* streams[3] = {};
};

void fill_with_ones(unsigned char* data, std::uint64_t count, element_type type) {
  const std::uint32_t one = type == element_type::float16    ? 0x3c00u
                            : type == element_type::bfloat16 ? 0x3f80u
                                                             : 0x3f800000u;
  for (std::uint64_t i = 0; i < count; ++i) std::memcpy(data + i * size_of(type), &one, size_of(type));
}

/// The model's weights and the gradients have the same type; FP32 has no copy.
result measure(const contender& one, bool clip, const engine& on, element_type type, const settings& with) {
  const bool has_copy = type != element_type::float32;
  const buffer gradient(on, with.elements * size_of(type)), model(on, with.elements * size_of(type));
  fill(gradient.data, with.elements, type);
  fill_with_ones(model.data, with.elements, type);
  std::vector<parameter> parameters;
  const auto gradients = cut(gradient.data, type, with), weights = cut(model.data, type, with);
  for (std::size_t i = 0; i < gradients.size(); ++i)
    parameters.push_back({.gradient = gradients[i].elements, .model = weights[i].elements});
  fused_optimizer optimizer(on, parameters, one.settings);
  loss_scaler scaler(on, {.init = 1024});
  scaler.prepare(optimizer.gradients());
  const buffer scalar(on, sizeof(float));
  auto* max_norm = reinterpret_cast<float*>(scalar.data);
  *max_norm = 1.0f;

  const auto step = [&] {
    scaler.scaled_by_caller();
    scaler.step(optimizer, clip ? max_norm : nullptr);
    scaler.update();
  };
  result row;
  const std::uint64_t submitted = on.kernels_submitted();
  step();
  row.kernels = on.kernels_submitted() - submitted;
  on.wait();
  std::vector<float> after;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    std::ranges::copy(optimizer.weights(i), std::back_inserter(after));
  const auto values = decoded(gradient.data, with.elements, type);
  const double norm = norm_of(values) / 1024, factor = clip ? std::min(1.0, 1.0 / (norm + 1e-6)) / 1024 : 1.0 / 1024;
  row.verified =
      scaler.outcome().was_applied() && optimizer.steps() == 1 && holds_first_step(after, values, factor, one.settings);
  row.checksum = checksum(after.data(), after.size() * sizeof(float));

  const native_memory other(on, with.elements, one.moments);
  const auto times = alternate(
      with.repetitions,
      [&] {
        step();
        on.wait();
      },
      [&] {
        native::read(gradient.data, with.elements * size_of(type));
        native::optimizer_step(gradient.data, size_of(type), other.streams, one.moments,
                               has_copy ? model.data : nullptr, with.elements);
      });
  const double bytes = size_of(type) * (has_copy ? 3.0 : 2.0) + 8.0 * (1 + one.moments);
  fill_in(row, std::string(one.name) + (clip ? "_step_clip" : "_step"), type, with, bytes, times);
  return row;
}

}  // namespace

std::vector<std::pair<std::string, operation>> optimizer_operations() {
  std::vector<std::pair<std::string, operation>> all;
  for (const contender& one : contenders)
    for (const bool clip : {false, true})
      all.emplace_back(std::string(one.name) + (clip ? "_step_clip" : "_step"),
                       [&one, clip](const engine& on, element_type type, const settings& with) {
                         return measure(one, clip, on, type, with);
                       });
  return all;
}

}  // namespace syclamp::bench
