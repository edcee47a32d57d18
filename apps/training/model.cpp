// SPDX-License-Identifier: Apache-2.0
#include "apps/training/model.hpp"

#include <algorithm>
#include <cmath>

namespace syclamp::training {

model::model(const engine& on, const mlp_shape& shape, const precision_policy& formats, std::uint64_t rows,
             std::uint64_t seed)
    : on_(on), between_(shape.between), formats_(formats) {
  const std::size_t count = shape.widths.size() - 1;
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_last = i + 1 == count;
    layers_.push_back(make_layer("layer " + std::to_string(i + 1), shape.widths[i], shape.widths[i + 1], is_last,
                                 !is_last || shape.output_has_bias, rows, random_numbers(seed, i)));
  }
  std::uint64_t widest = 0;
  for (std::size_t i = 1; i < count; ++i) widest = std::max(widest, shape.widths[i]);
  input_gradient_ = device_array(on_, rows * widest, gradient_type(formats_));
}

model::layer model::make_layer(const std::string& name, std::uint64_t inputs, std::uint64_t outputs, bool is_last,
                               bool has_bias, std::uint64_t rows, random_numbers random) {
  const std::uint64_t weights = inputs * outputs;
  const element_type compute = formats_.compute, gradient = gradient_type(formats_);
  const bool is_copied = compute != element_type::float32;
  layer made;
  made.inputs = inputs;
  made.outputs = outputs;
  made.master = device_array(on_, weights, element_type::float32);
  made.weight = is_copied ? device_array(on_, weights, compute) : made.master;
  made.weight_gradient = device_array(on_, weights, gradient);

  // Uniform, with the variance 2 / (inputs + outputs) of Glorot and Bengio (2010).
  const double limit = std::sqrt(6.0 / static_cast<double>(inputs + outputs));
  std::vector<float> first(weights);
  for (float& one : first) one = static_cast<float>(limit * (2 * random.uniform() - 1));
  on_.queue().memcpy(made.master.data(), first.data(), weights * sizeof(float)).wait();
  add_parameter(name + " weight", made.master, made.weight, made.weight_gradient);

  if (has_bias) {
    made.bias_master = device_array(on_, outputs, element_type::float32);
    made.bias = is_copied ? device_array(on_, outputs, compute) : made.bias_master;
    made.bias_gradient = device_array(on_, outputs, gradient);
    on_.queue().fill(made.bias_master.floats(), 0.0f, outputs).wait();
    add_parameter(name + " bias", made.bias_master, made.bias, made.bias_gradient);
  }
  made.sums = device_array(on_, rows * outputs, formats_.accumulate);
  if (!is_last) {
    made.activated = device_array(on_, rows * outputs, compute);
    made.sums_gradient = device_array(on_, rows * outputs, gradient);
  }
  return made;
}

void model::add_parameter(const std::string& name, const device_array& master, const device_array& copy,
                          const device_array& gradient) {
  parameter one{.gradient = gradient.view(), .model = copy.view(), .name = name};
  if (copy.data() != master.data()) {
    one.master = master.view();
    cast(tensor_list(on_, master.view()), tensor_list(on_, copy.view()));
  }
  parameters_.push_back(one);
}

std::uint64_t model::weights() const {
  std::uint64_t sum = 0;
  for (const parameter& one : parameters_) sum += one.model.count();
  return sum;
}

std::string model::gemm_path() const {
  const layer& last = layers_.back();
  const std::uint64_t rows = last.sums.count() / last.outputs;
  const matrix_view x = layers_[layers_.size() - 2].activated.matrix(rows, last.inputs);
  return gemm_path_for(on_, x, transposed(weight_of(last)), last.sums.matrix(rows, last.outputs));
}

matrix_view model::forward(const matrix_view& x) {
  const std::uint64_t rows = x.rows();
  matrix_view input = x;
  for (const layer& one : layers_) {
    const matrix_view sums = one.sums.matrix(rows, one.outputs);
    linear(on_, input, weight_of(one), {}, sums);
    if (one.activated.count() != 0) {
      input = one.activated.matrix(rows, one.outputs);
      activate(on_, sums, input, between_, one.bias.view());
    } else {
      if (one.bias.count() != 0) activate(on_, sums, sums, activation::none, one.bias.view());
      input = sums;
    }
  }
  return input;
}

sycl::event model::backward(const matrix_view& x, const matrix_view& dy) {
  const std::uint64_t rows = x.rows();
  matrix_view gradient = dy;
  sycl::event last;
  for (std::size_t i = layers_.size(); i-- > 0;) {
    const layer& one = layers_[i];
    const matrix_view input = i == 0 ? x : layers_[i - 1].activated.matrix(rows, one.inputs);
    linear_gradients wanted{.weight = one.weight_gradient.matrix(one.outputs, one.inputs),
                            .bias = one.bias_gradient.view()};
    if (i != 0) wanted.x = input_gradient_.matrix(rows, one.inputs);
    last = linear_backward(on_, input, weight_of(one), gradient, wanted);
    if (i == 0) break;
    const layer& below = layers_[i - 1];
    gradient = below.sums_gradient.matrix(rows, below.outputs);
    activate_backward(on_, below.sums.matrix(rows, below.outputs), *wanted.x, gradient, between_, below.bias.view());
  }
  return last;
}

}  // namespace syclamp::training
