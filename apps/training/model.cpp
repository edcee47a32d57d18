// SPDX-License-Identifier: Apache-2.0
#include "apps/training/model.hpp"

#include <algorithm>
#include <cmath>

namespace syclamp::training {

model::model(const engine& engine, const mlp_shape& shape, const nn::precision_policy& formats, std::uint64_t rows,
             std::uint64_t seed)
    : engine_(engine), between_(shape.between), formats_(formats) {
  const std::size_t count = shape.widths.size() - 1;
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_last = i + 1 == count;
    layers_.push_back(make_layer("layer " + std::to_string(i + 1), shape.widths[i], shape.widths[i + 1], is_last,
                                 !is_last || shape.output_has_bias, rows, random_numbers(seed, i)));
  }
  std::uint64_t widest = 0;
  for (std::size_t i = 1; i < count; ++i) widest = std::max(widest, shape.widths[i]);
  input_gradient_ = typed_array(engine_, rows * widest, nn::gradient_type(formats_));
}

model::layer model::make_layer(const std::string& name, std::uint64_t inputs, std::uint64_t outputs, bool is_last,
                               bool has_bias, std::uint64_t rows, random_numbers random) {
  const std::uint64_t weights = inputs * outputs;
  const element_type compute = formats_.compute, gradient = nn::gradient_type(formats_);
  const bool is_copied = compute != element_type::float32;
  layer made;
  made.inputs = inputs;
  made.outputs = outputs;
  made.master = typed_array(engine_, weights, element_type::float32);
  made.weight = is_copied ? typed_array(engine_, weights, compute) : made.master;
  made.weight_gradient = typed_array(engine_, weights, gradient);

  // Uniform, with the variance 2 / (inputs + outputs) of Glorot and Bengio (2010).
  const double limit = std::sqrt(6.0 / static_cast<double>(inputs + outputs));
  std::vector<float> first(weights);
  for (float& value : first) value = static_cast<float>(limit * (2 * random.uniform() - 1));
  engine_.queue().memcpy(made.master.data(), first.data(), weights * sizeof(float)).wait();
  add_parameter(name + " weight", made.master, made.weight, made.weight_gradient);

  if (has_bias) {
    made.bias_master = typed_array(engine_, outputs, element_type::float32);
    made.bias = is_copied ? typed_array(engine_, outputs, compute) : made.bias_master;
    made.bias_gradient = typed_array(engine_, outputs, gradient);
    engine_.queue().memset(made.bias_master.floats(), 0, outputs * sizeof(float)).wait();
    add_parameter(name + " bias", made.bias_master, made.bias, made.bias_gradient);
  }
  made.sums = typed_array(engine_, rows * outputs, formats_.accumulate);
  if (!is_last) {
    made.activated = typed_array(engine_, rows * outputs, compute);
    made.sums_gradient = typed_array(engine_, rows * outputs, gradient);
  }
  return made;
}

void model::add_parameter(const std::string& name, const typed_array& master, const typed_array& copy,
                          const typed_array& gradient) {
  parameter parameter{.gradient = gradient.view(), .model = copy.view(), .name = name};
  if (copy.data() != master.data()) {
    parameter.master = master.view();
    cast(tensor_list(engine_, master.view()), tensor_list(engine_, copy.view()));
  }
  parameters_.push_back(parameter);
}

std::uint64_t model::weights() const {
  std::uint64_t sum = 0;
  for (const parameter& parameter : parameters_) sum += parameter.model.count();
  return sum;
}

std::string model::gemm_path() const {
  const layer& last = layers_.back();
  const std::uint64_t rows = last.sums.count() / last.outputs;
  const matrix::matrix_view x = layers_[layers_.size() - 2].activated.matrix(rows, last.inputs);
  return matrix::gemm_path_for(engine_, x, transposed(weight_of(last)), last.sums.matrix(rows, last.outputs));
}

matrix::matrix_view model::forward(const matrix::const_matrix_view& x) {
  const std::uint64_t rows = x.rows();
  matrix::const_matrix_view input = x;
  matrix::matrix_view output = layers_.front().sums.matrix(rows, layers_.front().outputs);
  for (const layer& layer : layers_) {
    const matrix::matrix_view sums = layer.sums.matrix(rows, layer.outputs);
    nn::linear(engine_, input, weight_of(layer), {}, sums);
    if (layer.activated.count() != 0) {
      output = layer.activated.matrix(rows, layer.outputs);
      nn::activate(engine_, sums, output, between_, layer.bias.view());
    } else {
      if (layer.bias.count() != 0) nn::activate(engine_, sums, sums, matrix::activation::none, layer.bias.view());
      output = sums;
    }
    input = output;
  }
  return output;
}

sycl::event model::backward(const matrix::const_matrix_view& x, const matrix::const_matrix_view& dy) {
  const std::uint64_t rows = x.rows();
  matrix::const_matrix_view gradient = dy;
  sycl::event last;
  for (std::size_t i = layers_.size(); i-- > 0;) {
    const auto& layer = layers_[i];
    const matrix::const_matrix_view input = i == 0 ? x : layers_[i - 1].activated.matrix(rows, layer.inputs);
    nn::linear_gradients wanted{.weight = layer.weight_gradient.matrix(layer.outputs, layer.inputs),
                                .bias = layer.bias_gradient.view()};
    if (i != 0) wanted.x = input_gradient_.matrix(rows, layer.inputs);
    last = nn::linear_backward(engine_, input, weight_of(layer), gradient, wanted);
    if (i == 0) break;
    const auto& below = layers_[i - 1];
    const matrix::matrix_view below_gradient = below.sums_gradient.matrix(rows, below.outputs);
    nn::activate_backward(engine_, below.sums.matrix(rows, below.outputs), *wanted.x, below_gradient, between_,
                          below.bias.view());
    gradient = below_gradient;
  }
  return last;
}

}  // namespace syclamp::training
