// SPDX-License-Identifier: Apache-2.0
// The model of `syclamp train` against its definition in double.
#include <cmath>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "apps/training/model.hpp"
#include "tests/reference/layers.hpp"
#include "tests/support/devices.hpp"

using namespace syclamp;
using namespace syclamp::nn;
using host_matrix = reference::matrix;
using training::model;
using training::typed_array;

namespace {

constexpr std::uint64_t rows = 6;

std::vector<double> read(const engine& engine, const void* data, std::uint64_t count) {
  std::vector<float> values(count);
  engine.queue().memcpy(values.data(), data, count * sizeof(float)).wait();
  return {values.begin(), values.end()};
}

/// A device array of numbers that follow no pattern.
typed_array numbers(const engine& engine, std::uint64_t count, std::uint64_t seed) {
  training::random_numbers random(seed, 99);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(2 * random.uniform() - 1);
  typed_array made(engine, count, element_type::float32);
  engine.queue().memcpy(made.data(), values.data(), count * sizeof(float)).wait();
  return made;
}

host_matrix as_matrix(const std::vector<double>& values, std::uint64_t columns) {
  host_matrix made(values.size() / columns, columns);
  made.values = values;
  return made;
}

/// The loss of the whole model, from the definition.
double loss_of(const training::mlp_shape& shape, const std::vector<std::vector<double>>& weights, const host_matrix& x,
               const host_matrix& target) {
  host_matrix at = x;
  std::size_t next = 0;
  for (std::size_t i = 1; i < shape.widths.size(); ++i) {
    const bool is_last = i + 1 == shape.widths.size();
    const host_matrix weight = as_matrix(weights[next++], shape.widths[i - 1]);
    const bool has_bias = !is_last || shape.output_has_bias;
    const std::vector<double> bias = has_bias ? weights[next++] : std::vector<double>{};
    at = reference::product(1, at, reference::transposed(weight), 0, host_matrix(rows, shape.widths[i]), bias);
    if (!is_last)
      for (double& value : at.values) value = reference::activated(to_string(shape.between), value);
  }
  return reference::squared_error(at, target);
}

}  // namespace

TEST_CASE("the gradients of the model are those of finite differences") {
  const engine& engine = any_engine();
  for (const bool has_bias : {true, false})
    for (const activation between : {activation::gelu, activation::tanh}) {
      const training::mlp_shape shape{.widths = {3, 5, 4, 7}, .between = between, .output_has_bias = has_bias};
      CAPTURE(engine.profile_name(), has_bias, to_string(between));
      model model(engine, shape, {}, rows, 1);
      REQUIRE(model.parameters().size() == (has_bias ? 6 : 5));
      // Biases are 0 at first, which would hide where they go.
      for (const parameter& each : model.parameters())
        if (each.model.count() <= 7)
          engine.queue()
              .memcpy(each.model.data(), numbers(engine, each.model.count(), 5).data(),
                      each.model.count() * sizeof(float))
              .wait();
      const typed_array x = numbers(engine, rows * 3, 2), target = numbers(engine, rows * 7, 3);
      const typed_array row_losses(engine, rows, element_type::float32), loss(engine, 1, element_type::float32);

      const matrix_view input = x.matrix(rows, 3);
      const matrix_view y = model.forward(input);
      mean_squared_error(engine, y, target.matrix(rows, 7), {row_losses.floats(), loss.floats()}, y);
      model.backward(input, y);
      engine.wait();

      std::vector<std::vector<double>> weights;
      for (const parameter& each : model.parameters())
        weights.push_back(read(engine, each.model.data(), each.model.count()));
      const host_matrix in = as_matrix(read(engine, x.data(), rows * 3), 3),
                        want = as_matrix(read(engine, target.data(), rows * 7), 7);
      // Sums of at most 7 terms below 4, through three layers forwards and back: 64 roundings of numbers below 4.
      constexpr double allowed = 64 * 4 * 0x1p-24;
      CHECK(std::abs(read(engine, loss.data(), 1)[0] - loss_of(shape, weights, in, want)) < allowed);
      for (std::size_t i = 0; i < weights.size(); ++i) {
        const auto found = read(engine, model.parameters()[i].gradient.data(), weights[i].size());
        const auto expected = reference::gradient(
            [&](const std::vector<double>& values) {
              auto moved = weights;
              moved[i] = values;
              return loss_of(shape, moved, in, want);
            },
            weights[i]);
        double worst = 0, largest = 0;
        for (std::size_t k = 0; k < found.size(); ++k) {
          worst = std::max(worst, std::abs(found[k] - expected[k]));
          largest = std::max(largest, std::abs(expected[k]));
        }
        CAPTURE(model.parameters()[i].name);
        CHECK(worst < allowed);
        CHECK(largest > 1000 * allowed);  // else the comparison would say nothing
      }
    }
}

TEST_CASE("a model in 16 bits begins with the weights of the one in FP32, rounded") {
  const syclamp::engine engine;
  const training::mlp_shape shape{.widths = {3, 5, 2}};
  const model wide(engine, shape, precision_preset("float32"), rows, 1),
      narrow(engine, shape, precision_preset("mixed_float16"), rows, 1);
  for (std::size_t i = 0; i < wide.parameters().size(); ++i) {
    const parameter& exact = wide.parameters()[i];
    const parameter& copied = narrow.parameters()[i];
    const std::uint64_t count = exact.model.count();
    const auto first = read(engine, exact.model.data(), count);
    CHECK(first == read(engine, copied.master.data(), count));
    std::vector<sycl::half> copy(count);
    engine.queue().memcpy(copy.data(), copied.model.data(), count * sizeof copy[0]).wait();
    for (std::uint64_t k = 0; k < count; ++k) CHECK(copy[k] == sycl::half(static_cast<float>(first[k])));
  }
}
