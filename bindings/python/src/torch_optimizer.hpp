// SPDX-License-Identifier: Apache-2.0
// An optimizer on parameters of PyTorch. Python keeps masters and moments as tensors, and this class applies steps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include <syclamp/device_array.hpp>
#include <syclamp/fused_optimizer.hpp>
#include <syclamp/loss_scaler.hpp>

#include "torch_tensors.hpp"

namespace syclamp::python {

class torch_optimizer {
 public:
  /// \param tensor_class  torch.Tensor
  /// \param optimizer     the name of the optimizer, for example "adamw"
  /// \param parameters    one tuple per parameter: (parameter, index of its group, name, master or None, moments…)
  /// \param watched       parameters that have no state, because they are frozen
  /// \param groups        the parameter groups of PyTorch
  torch_optimizer(nanobind::handle tensor_class, std::string optimizer, const nanobind::list& parameters,
                  nanobind::list watched, const nanobind::list& groups);

  /// Reads the addresses of all gradients, and checks the parameters.
  /// \return false if a parameter has moved in memory, the type of a gradient is no longer what the constructor found,
  ///         or a frozen parameter has a gradient; then make a new object
  bool read_gradients();

  /// Parameters with masters to which PyTorch had written when `read_gradients` looked, as indices. Their masters are
  /// out of date.
  const std::vector<std::size_t>& written() const { return written_; }

  void set_group(std::uint32_t index, const nanobind::dict& group);

  /// Applies gradients that are `scale` times too large, unless `skip` is set. Waits.
  /// \param max_norm  clips the norm of the unscaled gradients, and skips the step if a gradient is not finite
  /// \return true if the step was applied
  bool apply(float scale, bool skip, std::optional<float> max_norm);

  /// Lets a scaler decide on the step. Waits.
  bool apply(loss_scaler& scaler, std::optional<float> max_norm);

  std::size_t gradients() const { return gradients_; }  ///< number of gradients that `read_gradients` found
  optimizer_progress progress(std::uint32_t group) const { return optimizer_.progress(group); }
  void set_steps(const std::vector<std::uint64_t>& applied) { optimizer_.set_steps(applied); }
  std::vector<float> tensor_moments() const { return optimizer_.tensor_moments(); }
  void set_tensor_moments(const std::vector<float>& moments) { optimizer_.set_tensor_moments(moments); }

 private:
  /// One of possibly thousands, which each step reads: small, and without allocations.
  struct described_parameter {
    PyObject* tensor;  ///< kept alive by `kept_`
    void* data;
    std::size_t place;  ///< of shape and strides in `layouts_`
    std::uint32_t dimensions;
    element_type type, gradient_type;
    bool has_master;
    std::int64_t version;  ///< of the parameter when its master was last made from it
  };

  std::vector<parameter> describe(const nanobind::list& parameters);
  expected_layout layout_of(const described_parameter& stored, element_type type) const;
  bool read_gradient(std::size_t index, tensor_handle gradient, nanobind::handle holder);
  bool check_parameter(std::size_t index);
  loss_scaler& clipping_scaler(float scale);
  bool finish();
  void release_threads() const;

  tensor_reader reader_;
  std::string name_;
  nanobind::list watched_;
  nanobind::list kept_;  ///< parameters, masters and moments, whose memory the optimizer writes to
  std::vector<described_parameter> parameters_;
  std::vector<std::int64_t> layouts_;
  fused_optimizer optimizer_;
  std::vector<void*> addresses_;
  std::size_t gradients_ = 0;
  std::vector<std::size_t> written_;
  std::vector<nanobind::object> copies_;  ///< of gradients whose elements have another order than the parameter's
  std::optional<loss_scaler> clipping_;   ///< finds the norm where no scaler does
  device_array<step_decision> decision_;  ///< in memory of both the host and the device
};

}  // namespace syclamp::python
