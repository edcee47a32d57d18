// SPDX-License-Identifier: Apache-2.0
// A multi-layer perceptron in device memory, with all that its passes leave behind.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/training/random.hpp"
#include "apps/training/task.hpp"
#include "apps/training/typed_array.hpp"
#include "syclamp/nn/nn.hpp"

namespace syclamp::training {

/// y = W_n · f(… f(W_1 · x + b_1) …) + b_n.
///
/// Formats are those of a policy: weights are FP32 with a copy in the format of the computation, activations and
/// gradients are in that format, sums of products in the format of sums. So the output and what an activation is
/// applied to are FP32, and the loss is computed of what has not been rounded to 16 bits.
class model {
 public:
  /// Weights are a function of the seed. Makes room for passes of up to `rows` samples. Waits.
  model(const engine& engine, const mlp_shape& shape, const nn::precision_policy& formats, std::uint64_t rows,
        std::uint64_t seed);

  /// The output of each row of `x`, valid until the next pass. Does not wait.
  matrix::matrix_view forward(const matrix::const_matrix_view& x);

  /// The gradients of all weights of the last forward pass. Does not wait.
  /// \param dy  with respect to the output; may be scaled
  /// \return the event of its last kernel
  sycl::event backward(const matrix::const_matrix_view& x, const matrix::const_matrix_view& dy);

  /// For an optimizer.
  const std::vector<parameter>& parameters() const { return parameters_; }
  std::uint64_t weights() const;  ///< how many numbers that are learnt

  const void* output() const { return layers_.back().sums.data(); }  ///< where `forward` leaves it
  std::string gemm_path() const;                                     ///< of the last layer's product

 private:
  struct layer {
    std::uint64_t inputs = 0, outputs = 0;
    typed_array master, weight, bias_master, bias;  ///< FP32, and the copy; of FP32 both are one
    typed_array weight_gradient, bias_gradient;
    typed_array sums;           ///< W · x, before the bias
    typed_array activated;      ///< f(W · x + b); the last layer has none
    typed_array sums_gradient;  ///< with respect to `sums`; the last layer has none
  };

  layer make_layer(const std::string& name, std::uint64_t inputs, std::uint64_t outputs, bool is_last, bool has_bias,
                   std::uint64_t rows, random_numbers random);
  void add_parameter(const std::string& name, const typed_array& master, const typed_array& copy,
                     const typed_array& gradient);
  matrix::matrix_view weight_of(const layer& layer) const { return layer.weight.matrix(layer.outputs, layer.inputs); }

  engine engine_;
  matrix::activation between_;
  nn::precision_policy formats_;
  std::vector<layer> layers_;
  std::vector<parameter> parameters_;
  typed_array input_gradient_;  ///< of a layer, before it has gone through the activation below it
};

}  // namespace syclamp::training
