// The program of docs/tutorial.md: trains a small network in FP16, and breaks it if you ask it to.
//
//   tutorial_example               a healthy run
//   tutorial_example no-scale      the loss is not scaled: small gradients become zero
//   tutorial_example large-scale   a fixed scale that is too large: every step overflows
//   tutorial_example large-start   the same scale, but the scaler may lower it
//   tutorial_example nan           one NaN in the training data
//
// The network maps two parameters of a damped oscillation to its displacement at 64 moments, in metres. Displacements
// of a millimetre and a mean over 32768 outputs make the gradients tiny.
#include <syclamp/nn/nn.hpp>
#include <syclamp/syclamp.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace nn = syclamp::nn;
using syclamp::element_type;
using syclamp::scaling_mode;
using syclamp::scaling_policy;

constexpr std::uint64_t samples = 512, inputs = 2, hidden = 64, outputs = 64;
constexpr int steps = 400;

/// A matrix in device memory.
class matrix {
 public:
  matrix(const syclamp::engine& engine, std::uint64_t rows, std::uint64_t columns, element_type type)
      : memory_(engine, rows * columns * syclamp::bytes_per_element(type), std::uint8_t{0}),
        view_(memory_.data(), rows, columns, type) {}

  /// Rounds FP32 values to the type of the matrix.
  void fill(const syclamp::engine& engine, const std::vector<float>& values) {
    const syclamp::device_array exact(engine, values);
    syclamp::cast({engine, exact}, {engine, elements()});
  }

  operator const nn::matrix_view&() const { return view_; }
  syclamp::array_view elements() const { return {memory_.data(), view_.rows() * view_.columns(), view_.type()}; }

 private:
  syclamp::device_array<std::uint8_t> memory_;
  nn::matrix_view view_;
};

/// Inputs and the displacements that the network learns.
struct data_set {
  std::vector<float> x, target;
};

data_set make_data(bool has_nan) {
  std::mt19937 random(1);
  data_set data;
  for (std::uint64_t i = 0; i < samples * inputs; ++i)
    data.x.push_back(static_cast<float>(random() % 2001) / 1000.0f - 1.0f);  // -1 to 1
  for (std::uint64_t row = 0; row < samples; ++row)
    for (std::uint64_t column = 0; column < outputs; ++column) {
      const float time = static_cast<float>(column) / static_cast<float>(outputs);
      const float damping = 2 + data.x[row * inputs], frequency = 5 + data.x[row * inputs + 1];
      data.target.push_back(0.001f * std::exp(-damping * time) * std::cos(frequency * time));
    }
  if (has_nan) data.target[137 * outputs + 5] = std::numeric_limits<float>::quiet_NaN();
  return data;
}

/// One line for one step of the ledger.
void print_step(const syclamp::ledger_entry& entry) {
  const syclamp::step_record& record = entry.record;
  const double zeros = 100.0 * static_cast<double>(record.zero_count) / static_cast<double>(record.elements);
  std::printf("step %3d  %-18s  %-14s  scale 2^%-3d", static_cast<int>(record.step), to_string(record.outcome),
              to_string(record.status), std::ilogb(record.scale));
  if (record.was_applied())
    std::printf("  %.0f %% of the gradients are zero\n", zeros);
  else
    std::printf("  first in %s[%d]\n", entry.first_nonfinite_name.c_str(), static_cast<int>(record.first_nonfinite));
}

/// The ledger in brief: every 100th step, and every step that differs from the step before.
void print_ledger(const std::vector<syclamp::ledger_entry>& ledger) {
  const syclamp::step_record* before = nullptr;
  for (const syclamp::ledger_entry& entry : ledger) {
    const syclamp::step_record& record = entry.record;
    const bool is_new = before == nullptr || before->outcome != record.outcome || before->status != record.status ||
                        before->scale != record.scale;
    if (is_new || record.step % 100 == 0) print_step(entry);
    before = &record;
  }
  std::printf("%d steps applied, %d skipped\n", static_cast<int>(before->applied), static_cast<int>(before->skipped));
}

/// What a run ends with.
struct result {
  double error;  ///< in millimetres
  std::uint64_t applied;
};

result train(const scaling_policy& policy, const data_set& data) {
  const syclamp::engine engine;
  const element_type fp16 = element_type::float16, fp32 = element_type::float32;

  // The network: h = x·w1ᵀ + b1, a = gelu(h), y = a·w2ᵀ + b2. Everything that is computed is FP16.
  std::mt19937 random(2);
  const auto random_values = [&](std::uint64_t count, float largest) {
    std::vector<float> values;
    for (std::uint64_t i = 0; i < count; ++i)
      values.push_back((static_cast<float>(random() % 2001) / 1000.0f - 1.0f) * largest);
    return values;
  };
  matrix x(engine, samples, inputs, fp16), target(engine, samples, outputs, fp32);
  x.fill(engine, data.x);
  target.fill(engine, data.target);
  matrix w1(engine, hidden, inputs, fp16), b1(engine, 1, hidden, fp16), w2(engine, outputs, hidden, fp16),
      b2(engine, 1, outputs, fp16);
  w1.fill(engine, random_values(hidden * inputs, 1.0f));
  w2.fill(engine, random_values(outputs * hidden, 0.001f));
  const matrix h(engine, samples, hidden, fp16), a(engine, samples, hidden, fp16), y(engine, samples, outputs, fp16);

  // Gradients are FP16 as well. The optimizer keeps FP32 weights of its own.
  const matrix dh(engine, samples, hidden, fp16), dy(engine, samples, outputs, fp16);
  const matrix dw1(engine, hidden, inputs, fp16), db1(engine, 1, hidden, fp16), dw2(engine, outputs, hidden, fp16),
      db2(engine, 1, outputs, fp16);
  syclamp::fused_optimizer optimizer(engine,
                                     {{.gradient = dw1.elements(), .model = w1.elements(), .name = "w1"},
                                      {.gradient = db1.elements(), .model = b1.elements(), .name = "b1"},
                                      {.gradient = dw2.elements(), .model = w2.elements(), .name = "w2"},
                                      {.gradient = db2.elements(), .model = b2.elements(), .name = "b2"}},
                                     syclamp::adam{.lr = 1e-3, .eps = 1e-12});
  optimizer.set_schedule({.kind = syclamp::lr_schedule::shape::cosine, .steps = steps});
  const syclamp::device_array<float> losses(engine, samples + 1);  // one per sample, then the mean

  const auto error = [&] { return 1000 * std::sqrt(losses.to_vector()[samples]); };  // in millimetres

  syclamp::loss_scaler scaler(engine, policy);
  for (int step = 0; step < steps; ++step) {
    // Forward pass.
    nn::linear(engine, x, w1, b1.elements(), h);
    nn::activate(engine, h, a, nn::activation::gelu);
    nn::linear(engine, a, w2, b2.elements(), y);

    // Loss. Its gradient, dy, is multiplied by the scale before it is rounded to FP16.
    const float* scale = scaler.begin_step();
    nn::mean_squared_error(engine, y, target, {losses.data(), losses.data() + samples}, dy,
                           syclamp::device_value(engine, scale));

    // Backward pass. All gradients are scaled.
    nn::linear_backward(engine, a, w2, dy, {.x = dh, .weight = dw2, .bias = db2.elements()});
    nn::activate_backward(engine, h, dh, dh, nn::activation::gelu);
    nn::linear_backward(engine, x, w1, dh, {.weight = dw1, .bias = db1.elements()});

    scaler.step(optimizer);  // applies the gradients, or skips the step
    scaler.update();         // moves the scale, and writes the ledger
    if (step == 0) std::printf("error at the start: %.2g mm\n", error());
    if (step % 20 == 19) engine.wait();  // keeps the host close to the device
  }
  engine.wait();

  print_ledger(scaler.ledger());
  std::printf("error at the end: %.2g mm\n", error());
  const std::vector<float> last = losses.to_vector();
  for (std::uint64_t row = 0; row < samples; ++row)
    if (std::isnan(last[row])) std::printf("the loss of sample %d is NaN\n", static_cast<int>(row));
  return {error(), scaler.outcome().applied};
}

int main(int count, char** arguments) try {
  const std::string broken = count > 1 ? arguments[1] : "";
  scaling_policy policy{.growth_interval = 100};  // 100 instead of 2000: this run is short
  if (broken == "no-scale")
    policy = {.mode = scaling_mode::fixed, .init_scale = 1};
  else if (broken == "large-scale")
    policy = {.mode = scaling_mode::fixed, .init_scale = 0x1p40};
  else if (broken == "large-start")
    policy = {.init_scale = 0x1p40, .growth_interval = 100, .max = 0x1p40};
  else if (!broken.empty() && broken != "nan") {
    std::cerr << "tutorial: there is no mode " << broken
              << "; use no-scale, large-scale, large-start, nan or nothing\n";
    return 2;
  }
  const result result = train(policy, make_data(broken == "nan"));

  // Tests run this program. It fails if a mode does not show what docs/tutorial.md says.
  if (broken == "no-scale") return result.error > 0.1 ? 0 : 1;
  if (broken == "large-scale" || broken == "nan") return result.applied == 0 ? 0 : 1;
  return result.error < 0.05 ? 0 : 1;
} catch (const syclamp::error& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}
