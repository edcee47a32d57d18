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

/// Streams of the native loop, skewed like the library's, so that addresses do not bias the comparison.
struct native_memory {
  native_memory(const engine& engine, std::uint64_t elements, unsigned moments)
      : bytes(elements * sizeof(float) + page), memory(engine, bytes * (1 + moments)) {
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
  const std::uint32_t value = type == element_type::float16    ? 0x3c00u
                              : type == element_type::bfloat16 ? 0x3f80u
                                                               : 0x3f800000u;
  for (std::uint64_t i = 0; i < count; ++i)
    std::memcpy(data + i * bytes_per_element(type), &value, bytes_per_element(type));
}

/// The model's weights and the gradients have the same type; FP32 has no copy.
result measure(const contender& contender, bool clip, const engine& engine, element_type type,
               const settings& options) {
  const bool has_copy = type != element_type::float32;
  const buffer gradient(engine, options.elements * bytes_per_element(type)),
      model(engine, options.elements * bytes_per_element(type));
  fill(gradient.data, options.elements, type);
  fill_with_ones(model.data, options.elements, type);
  std::vector<parameter> parameters;
  const auto gradients = cut(gradient.data, type, options), weights = cut(model.data, type, options);
  for (std::size_t i = 0; i < gradients.size(); ++i)
    parameters.push_back({.gradient = view_of(gradients[i]), .model = view_of(weights[i])});
  fused_optimizer optimizer(engine, parameters, contender.settings);
  loss_scaler scaler(engine, {.init_scale = 1024});
  scaler.prepare(optimizer.gradients());
  const step_options clipping{.max_norm = clip ? std::optional<scalar>(1.0f) : std::nullopt};

  const auto step = [&] {
    scaler.begin_step();
    scaler.step(optimizer, clipping);
    scaler.update();
  };
  result row;
  const std::uint64_t submitted = engine.statistics().kernels_submitted;
  step();
  row.kernels = engine.statistics().kernels_submitted - submitted;
  engine.wait();
  std::vector<float> after;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    std::ranges::copy(optimizer.weights(i), std::back_inserter(after));
  const auto values = decoded(gradient.data, options.elements, type);
  const double norm = norm_of(values) / 1024, factor = clip ? std::min(1.0, 1.0 / (norm + 1e-6)) / 1024 : 1.0 / 1024;
  row.verified = scaler.outcome().was_applied() && optimizer.steps() == 1 &&
                 holds_first_step(after, values, factor, contender.settings);
  row.checksum = checksum(after.data(), after.size() * sizeof(float));

  const native_memory other(engine, options.elements, contender.moments);
  const auto times = alternate(
      options.repetitions,
      [&] {
        step();
        engine.wait();
      },
      [&] {
        native::read(gradient.data, options.elements * bytes_per_element(type));
        native::optimizer_step(gradient.data, bytes_per_element(type), other.streams, contender.moments,
                               has_copy ? model.data : nullptr, options.elements);
      });
  const double bytes = bytes_per_element(type) * (has_copy ? 3.0 : 2.0) + 8.0 * (1 + contender.moments);
  fill_in(row, std::string(contender.name) + (clip ? "_step_clip" : "_step"), type, options, bytes, times);
  return row;
}

}  // namespace

std::vector<std::pair<std::string, operation>> optimizer_operations() {
  std::vector<std::pair<std::string, operation>> all;
  for (const contender& contender : contenders)
    for (const bool clip : {false, true})
      all.emplace_back(std::string(contender.name) + (clip ? "_step_clip" : "_step"),
                       [&contender, clip](const engine& engine, element_type type, const settings& options) {
                         return measure(contender, clip, engine, type, options);
                       });
  return all;
}

}  // namespace syclamp::bench
