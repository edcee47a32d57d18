// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <vector>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "syclamp/matrix/matrix.hpp"
#include "syclamp/nn/nn.hpp"
#include "syclamp/syclamp.hpp"
#include "tests/reference/layer_results.hpp"
#include "tests/reference/layers.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/matrices.hpp"
#include "tests/support/tensors.hpp"

using namespace syclamp;
using namespace syclamp::matrix;
using namespace syclamp::nn;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

using host_matrix = reference::matrix;

array_view row_of(const device_matrix& matrix) {
  return {matrix.view().data(), matrix.view().columns(), matrix.view().type()};
}

host_matrix like(const host_matrix& shape, const std::vector<double>& values) {
  host_matrix result(shape.rows, shape.columns);
  result.values = values;
  return result;
}

/// How many elements differ from what is expected by more than `error(i)` and the rounding to their type.
template <typename Error>
std::size_t count_wrong(const std::vector<double>& found, const std::vector<double>& expected, element_type type,
                        Error error) {
  std::size_t wrong = found.size() != expected.size();
  for (std::size_t i = 0; i < found.size() && i < expected.size(); ++i) {
    const double allowed = error(i) + rounding_of(type, std::abs(expected[i]) + error(i));
    wrong += !(std::abs(found[i] - expected[i]) <= allowed);
  }
  return wrong;
}

std::size_t count_wrong(const device_matrix& found, const reference::bounded_values& expected) {
  return count_wrong(found.read().values, expected.values, found.view().type(),
                     [&](std::size_t i) { return expected.errors[i]; });
}

struct size {
  std::size_t rows, columns;
};
constexpr size sizes_to_test[] = {{1, 1}, {1, 17}, {5, 3}, {7, 64}, {3, 65}, {130, 10}, {2, 600}};

/// Losses in device memory.
struct device_loss {
  device_loss(const engine& engine, std::size_t rows)
      : of_rows(engine.queue(), std::vector<float>(rows)), mean(engine.queue(), {0.0f}) {}
  loss_values view() const { return {of_rows.data(), mean.data()}; }
  double value() const { return static_cast<double>(mean.read()[0]); }
  bool is_alone() const { return of_rows.canaries_are_alive() && mean.canaries_are_alive(); }

  device_buffer<float> of_rows, mean;
};

}  // namespace

TEMPLATE_TEST_CASE("activations and their gradients", "", float16, bfloat16, float32) {
  const engine& engine = any_engine();
  for (const auto& [rows, columns] : sizes_to_test)
    for (const activation kind : activations) {
      CAPTURE(engine.profile_name(), rows, columns, to_string(kind));
      const device_matrix x(engine, TestType::type, rows, columns, 1, 3, 1),
          bias(engine, element_type::float32, 1, columns, 2);
      const device_matrix y(engine, TestType::type, rows, columns, 3, 1), dy(engine, TestType::type, rows, columns, 4);
      const device_matrix dx(engine, TestType::type, rows, columns, 5, 2);
      activate(engine, x.view(), y.view(), kind, row_of(bias));
      activate_backward(engine, x.view(), dy.view(), dx.view(), kind, row_of(bias));
      engine.wait();

      auto at = x.read();
      for (std::size_t i = 0; i < at.values.size(); ++i) at.values[i] += bias.read().values[i % columns];
      const auto name = to_string(kind);
      CHECK(count_wrong(y, reference::activation_results(name, at.values)) == 0);
      CHECK(count_wrong(dx, reference::activation_gradients(name, at.values, dy.read().values)) == 0);
      CHECK((x.is_alone() && y.is_alone() && dx.is_alone()));
    }
}

TEST_CASE("activations hold over the whole range of FP16, and a NaN stays one") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  std::vector<std::uint64_t> patterns(65536);
  for (std::size_t i = 0; i < patterns.size(); ++i) patterns[i] = i;
  const typed_buffer x(engine.queue(), element_type::float16, patterns);
  const typed_buffer ones(engine.queue(), element_type::float32,
                          std::vector<std::uint64_t>(patterns.size(), reference::encode(1.0, reference::binary32)));
  const typed_buffer y(engine.queue(), element_type::float32, std::vector<std::uint64_t>(patterns.size()));
  const typed_buffer slope(engine.queue(), element_type::float32, std::vector<std::uint64_t>(patterns.size()));
  const auto view = [](const typed_buffer& buffer) { return matrix_view(buffer.data(), 64, 1024, buffer.type()); };
  for (const activation kind : {activation::relu, activation::gelu, activation::tanh}) {
    CAPTURE(to_string(kind));
    activate(engine, view(x), view(y), kind);
    activate_backward(engine, view(x), view(ones), view(slope), kind);
    engine.wait();
    const auto in = x.values(), out = y.values(), slopes = slope.values();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (std::isnan(in[i])) {
        wrong += !std::isnan(out[i]) || !std::isnan(slopes[i]);
      } else if (std::isfinite(in[i])) {
        const double expected = reference::activated(to_string(kind), in[i]);
        const double scale =
            std::max(std::abs(in[i]), kind == activation::gelu ? std::min(std::abs(in[i]), 1.0) : 0x1p-24);
        wrong += !(std::abs(out[i] - expected) <= 16 * float_rounding * scale);
        wrong += !(std::abs(slopes[i]) <= 1.13) ||
                 (in[i] > 20 && slopes[i] != (kind == activation::tanh ? 0.0 : 1.0)) ||
                 (in[i] < -20 && slopes[i] != 0.0);
      }
    }
    CHECK(wrong == 0);
  }
}

TEMPLATE_TEST_CASE("sums over rows", "", float16, bfloat16, float32) {
  const engine& engine = any_engine();
  for (const size shape : {size{0, 5}, {1, 1}, {5, 17}, {64, 64}, {65, 300}, {1000, 33}, {3, 2000}}) {
    const auto [rows, columns] = shape;
    CAPTURE(engine.profile_name(), rows, columns);
    const device_matrix in(engine, TestType::type, rows, columns, 1, 2, 1),
        sums(engine, element_type::float32, 1, columns, 2);
    const device_matrix again(engine, element_type::float32, 1, columns, 3);
    sum_rows(engine, in.view(), row_of(sums));
    sum_rows(engine, in.view(), row_of(again));
    engine.wait();

    CHECK(count_wrong(sums, reference::row_sums(in.read())) == 0);
    CHECK(sums.patterns() == again.patterns());
    CHECK(sums.is_alone());
  }
}

TEMPLATE_TEST_CASE("layer norm and its gradients", "", float16, bfloat16, float32) {
  const engine& engine = any_engine();
  const float epsilon = 1e-3f;
  for (const size shape : {size{1, 2}, {5, 3}, {7, 64}, {3, 65}, {70, 10}}) {
    const auto [rows, columns] = shape;
    CAPTURE(engine.profile_name(), rows, columns);
    const device_matrix x(engine, TestType::type, rows, columns, 1, 3, 1),
        y(engine, TestType::type, rows, columns, 2, 1);
    const device_matrix scale(engine, element_type::float32, 1, columns, 3),
        shift(engine, TestType::type, 1, columns, 4);
    const device_matrix dy(engine, TestType::type, rows, columns, 5), dx(engine, TestType::type, rows, columns, 6, 2);
    const device_matrix dscale(engine, element_type::float32, 1, columns, 7),
        dshift(engine, element_type::float32, 1, columns, 8);
    const device_buffer<float> mean(engine.queue(), std::vector<float>(rows)),
        inverse(engine.queue(), std::vector<float>(rows));
    const row_statistics statistics{mean.data(), inverse.data()};
    layer_norm(engine, x.view(), row_of(scale), row_of(shift), y.view(), statistics, epsilon);
    layer_norm_backward(engine, x.view(), row_of(scale), dy.view(), statistics, dx.view(), row_of(dscale),
                        row_of(dshift));
    engine.wait();

    const auto expected = reference::layer_norm_with_gradients(x.read(), scale.read().values, shift.read().values,
                                                               dy.read(), static_cast<double>(epsilon));
    CHECK(count_wrong(y, expected.y) == 0);
    CHECK(count_wrong(dx, expected.dx) == 0);
    CHECK(count_wrong(dscale, expected.dscale) == 0);
    CHECK(count_wrong(dshift, expected.dshift) == 0);
    CHECK((x.is_alone() && y.is_alone() && dx.is_alone() && dscale.is_alone() && dshift.is_alone()));
    CHECK((mean.canaries_are_alive() && inverse.canaries_are_alive()));
  }
}

TEST_CASE("layer norm of large FP16 numbers does not overflow") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  std::vector<std::uint64_t> patterns;
  for (int i = 0; i < 64; ++i) patterns.push_back(reference::encode(i % 2 == 0 ? 60000.0 : -60000.0, float16::format));
  const typed_buffer x(engine.queue(), element_type::float16, patterns),
      y(engine.queue(), element_type::float16, patterns);
  const device_buffer<float> ones(engine.queue(), std::vector<float>(64, 1.0f)),
      zeros(engine.queue(), std::vector<float>(64));
  const device_buffer<float> mean(engine.queue(), {0.0f}), inverse(engine.queue(), {0.0f});
  layer_norm(engine, matrix_view(x.data(), 1, 64, element_type::float16), array_view(ones.data(), 64),
             array_view(zeros.data(), 64), matrix_view(y.data(), 1, 64, element_type::float16),
             {mean.data(), inverse.data()});
  engine.wait();
  const auto values = y.values();
  for (std::size_t i = 0; i < values.size(); ++i) CHECK(values[i] == (i % 2 == 0 ? 1.0 : -1.0));
}

TEMPLATE_TEST_CASE("softmax cross-entropy and its gradient, times the loss scale", "", float16, bfloat16, float32) {
  const engine& engine = any_engine();
  for (const auto& [rows, columns] : sizes_to_test)
    for (const double scale : {1.0, 1024.0}) {
      CAPTURE(engine.profile_name(), rows, columns, scale);
      const device_matrix logits(engine, TestType::type, rows, columns, 1, 3, 1),
          dz(engine, TestType::type, rows, columns, 2, 2);
      std::vector<std::uint32_t> labels(rows);
      for (std::size_t row = 0; row < rows; ++row) labels[row] = static_cast<std::uint32_t>(row * 7 % columns);
      const device_buffer<std::uint32_t> device_labels(engine.queue(), labels);
      const device_loss loss(engine, rows);
      const device_scalar device_scale(engine, static_cast<float>(scale));
      softmax_cross_entropy(engine, logits.view(), device_labels.data(), loss.view(), dz.view(),
                            scale == 1.0 ? scalar(1.0f) : scalar(device_scale));
      engine.wait();

      const auto expected = reference::cross_entropy_with_gradient(logits.read(), labels, scale);
      CHECK(std::abs(loss.value() - expected.loss) <= expected.loss_error);
      CHECK(count_wrong(dz, expected.gradient) == 0);
      CHECK((logits.is_alone() && dz.is_alone() && loss.is_alone()));
    }
}

TEST_CASE("cross-entropy is safe with the largest logits, and does not pass a wrong label") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const auto high = reference::encode(65504.0, float16::format), low = reference::encode(-65504.0, float16::format);
  const typed_buffer logits(engine.queue(), element_type::float16, {high, low, low, high, low, low, high, low, low});
  const typed_buffer gradient(engine.queue(), element_type::float32, std::vector<std::uint64_t>(9));
  const device_buffer<std::uint32_t> labels(engine.queue(), {0, 1, 3});  // right; wrong by far; no column
  const device_loss loss(engine, 3);
  softmax_cross_entropy(engine, matrix_view(logits.data(), 3, 3, element_type::float16), labels.data(), loss.view(),
                        matrix_view(gradient.data(), 3, 3, element_type::float32));
  engine.wait();
  const auto losses = loss.of_rows.read();
  const auto dz = gradient.values();
  const double third = static_cast<double>(1.0f / 3.0f);
  CHECK(losses[0] == 0.0f);
  CHECK(losses[1] == 2 * 65504.0f);
  CHECK(std::isnan(losses[2]));
  CHECK((dz[0] == 0 && dz[1] == 0 && dz[2] == 0));
  CHECK((dz[3] == third && dz[4] == -third && dz[5] == 0));
  CHECK((std::isnan(dz[6]) && std::isnan(dz[7]) && std::isnan(dz[8])));
}

TEMPLATE_TEST_CASE("mean squared error and its gradient, times the loss scale", "", float16, bfloat16, float32) {
  const engine& engine = any_engine();
  for (const auto& [rows, columns] : sizes_to_test)
    for (const double scale : {1.0, 65536.0}) {
      CAPTURE(engine.profile_name(), rows, columns, scale);
      const device_matrix y(engine, TestType::type, rows, columns, 1, 3, 1),
          target(engine, element_type::float32, rows, columns, 2);
      const device_matrix dy(engine, element_type::float32, rows, columns, 3, 1);
      const device_loss loss(engine, rows);
      const device_scalar device_scale(engine, static_cast<float>(scale));
      mean_squared_error(engine, y.view(), target.view(), loss.view(), dy.view(), device_scale);
      engine.wait();

      const auto expected = reference::squared_error_with_gradient(y.read(), target.read(), scale);
      CHECK(std::abs(loss.value() - expected.loss) <= expected.loss_error);
      CHECK(count_wrong(dy, expected.gradient) == 0);
      CHECK((y.is_alone() && dy.is_alone() && loss.is_alone()));
    }
}

TEST_CASE("a gradient that FP16 would lose survives by the loss scale, because it is applied before rounding") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const std::size_t rows = 64, columns = 4096;  // 2 · 0.001 / 2^18 is 7.6e-9; the smallest FP16 is 6.0e-8
  const std::vector<std::uint64_t> residual(rows * columns, reference::encode(0.001, float16::format));
  const typed_buffer y(engine.queue(), element_type::float16, residual);
  const typed_buffer target(engine.queue(), element_type::float16, std::vector<std::uint64_t>(rows * columns));
  const typed_buffer dy(engine.queue(), element_type::float16, residual);
  const device_loss loss(engine, rows);
  const device_scalar scale(engine, 65536.0f);
  const auto view = [&](const typed_buffer& buffer) {
    return matrix_view(buffer.data(), rows, columns, buffer.type());
  };
  const auto lost = [&](const scalar& value) {
    mean_squared_error(engine, view(y), view(target), loss.view(), view(dy), value);
    engine.wait();
    return dy.values()[rows * columns / 2] == 0.0;
  };
  CHECK(lost(1.0f));
  CHECK_FALSE(lost(scale));
}

TEST_CASE("linear and its gradients") {
  const engine& engine = any_engine();
  const std::size_t rows = 7, in = 5, out = 9;
  CAPTURE(engine.profile_name());
  const device_matrix x(engine, element_type::float32, rows, in, 1), weight(engine, element_type::float32, out, in, 2);
  const device_matrix bias(engine, element_type::float32, 1, out, 3), y(engine, element_type::float32, rows, out, 4);
  const device_matrix dy(engine, element_type::float32, rows, out, 5), dx(engine, element_type::float32, rows, in, 6);
  const device_matrix dweight(engine, element_type::float32, out, in, 7),
      dbias(engine, element_type::float32, 1, out, 8);
  linear(engine, x.view(), weight.view(), row_of(bias), y.view(), activation::relu);
  linear_backward(engine, x.view(), weight.view(), dy.view(),
                  {.x = dx.view(), .weight = dweight.view(), .bias = row_of(dbias)});
  engine.wait();

  const auto at = x.read(), by = weight.read(), weights = dy.read();
  const auto plus = bias.read().values;
  const auto forward = [&](const host_matrix& a, const host_matrix& w, const std::vector<double>& b) {
    return reference::product(1, a, reference::transposed(w), 0, weights, b);
  };
  auto expected = forward(at, by, plus).values;
  for (double& value : expected) value = reference::activated("relu", value);
  const auto few = [](auto) { return 16 * 8 * float_rounding + 1e-10; };  // at most 9 products below 1, and 7 rows
  CHECK(count_wrong(y.read().values, expected, element_type::float32, few) == 0);
  const auto loss = [&](const host_matrix& product) { return reference::inner_product(weights, product); };
  CHECK(count_wrong(dx.read().values,
                    reference::gradient([&](const auto& v) { return loss(forward(like(at, v), by, plus)); }, at.values),
                    element_type::float32, few) == 0);
  CHECK(count_wrong(dweight.read().values,
                    reference::gradient([&](const auto& v) { return loss(forward(at, like(by, v), plus)); }, by.values),
                    element_type::float32, few) == 0);
  CHECK(count_wrong(dbias.read().values,
                    reference::gradient([&](const auto& v) { return loss(forward(at, by, v)); }, plus),
                    element_type::float32, few) == 0);
}

TEST_CASE("layers refuse what does not fit, and say why") {
  const syclamp::engine engine;
  const device_matrix x(engine, element_type::float32, 4, 6, 1), y(engine, element_type::float32, 4, 5, 2);
  const device_loss loss(engine, 4);
  const auto refuses = [](auto call, const char* why) {
    CHECK_THROWS_MATCHES(call(), invalid_argument, MessageMatches(ContainsSubstring(why)));
  };
  refuses([&] { activate(engine, x.view(), y.view(), activation::relu); }, "must be 4 x 6");
  refuses([&] { activate(engine, transposed(x.view()), x.view(), activation::relu); }, "transposed");
  refuses([&] { activate(engine, x.view(), x.view(), activation::relu, row_of(y)); }, "bias has 5 elements");
  refuses([&] { sum_rows(engine, x.view(), row_of(y)); }, "sums has 5 elements");
  refuses([&] { mean_squared_error(engine, x.view(), y.view(), loss.view(), {}); }, "target is 4 x 5");
  refuses([&] { mean_squared_error(engine, x.view(), x.view(), {nullptr, nullptr}, {}); }, "loss.of_rows is null");
  refuses([&] { softmax_cross_entropy(engine, x.view(), nullptr, loss.view(), {}); }, "labels is null");
  refuses(
      [&] { activate(engine, matrix_view(x.view().data(), 2, 2, element_type::float64), x.view(), activation::relu); },
      "float64");
}
