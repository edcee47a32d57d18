// SPDX-License-Identifier: Apache-2.0
/// \file
/// The library's optimizers. One kernel reads FP16, BF16 or FP32 gradients, updates FP32 master weights in FP32
/// arithmetic, and writes a copy of the weights for the forward pass.
///
///     fused_optimizer optimizer(engine, {{.gradient = {g, n}, .model = {w, n}}}, adamw{.lr = 3e-4});
///     scaler.step(optimizer);      // or optimizer.apply() for gradients that were never scaled
///
/// With FP16 or BF16 gradients and copy, a step moves 12 bytes per parameter and 8 bytes per moment: SGD 12, AdamW 28.
/// Remainders save 2 bytes. A BF16 moment takes 4 bytes. The inspection reads 2 more bytes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <syclamp/cast.hpp>
#include <syclamp/export.hpp>
#include <syclamp/hyper_parameters.hpp>
#include <syclamp/optimizer.hpp>
#include <syclamp/optimizer_progress.hpp>
#include <syclamp/optimizer_settings.hpp>
#include <syclamp/scalar.hpp>

namespace SYCLAMP_NAMESPACE {

struct optimizer_parts;  // only the library's own sources complete this type

// --- Storage --------------------------------------------------------------------------------------------------------

/// One tensor of weights, with its gradient. All memory is USM memory that the caller owns and that must outlive the
/// optimizer.
struct parameter {
  array_view gradient;     ///< FP16, BF16 or FP32, scaled or not; a null address means that the gradient is absent
  array_view model = {};   ///< the weights that the forward pass reads: FP32, FP16, BF16 or FP8
  array_view master = {};  ///< FP32 weights. Default: the library allocates them and starts with the model's weights.
                           ///< An FP32 model is its own master, without a copy.
  /// Addresses of the moments, of the type `storage_options::moments`. Null: the library allocates them.
  std::array<void*, 3> states = {};
  std::string name = {};    ///< for messages and ledgers
  std::uint32_t group = 0;  ///< index of its settings
  bool replicated = false;  ///< all ranks hold the same gradient (`tensor::replicated`)
};

/// How an optimizer stores weights and moments.
struct storage_options {
  /// The type of moments: FP32 or BF16.
  element_type moments = element_type::float32;

  /// For BF16 models: stores only the lower 16 bits of the FP32 weights, because the model holds the upper 16 bits.
  /// This saves 2 bytes per parameter and is exact. Weights exactly between two BF16 values are then rounded away from
  /// zero, not to even.
  bool remainders = false;

  /// How BF16 moments and copies of the weights are rounded. Stochastic rounding depends only on the seed, the number
  /// of applied steps, the tensor and the element.
  rounding rounding_mode = rounding::to_nearest;
  std::uint64_t seed = 0;  ///< of stochastic rounding

  /// Allocates FP32 memory for unscaled gradients, which `loss_scaler::unscale` needs for 16-bit gradients.
  bool unscaled_shadow = false;
};

// --- The optimizer --------------------------------------------------------------------------------------------------

/// An optimizer for any number of tensors. A step is one kernel (three for LAMB and NovoGrad).
///
/// The constructor checks, allocates and compiles everything. A step (`apply`) neither waits nor allocates, and a SYCL
/// graph can record it: learning rates, the schedule, the number of applied steps and the bias corrections are in
/// device memory. A skipped step changes no bit of weights, copies, moments or step number. A tensor whose gradient is
/// absent does not change. Gradients are never written.
///
/// Steps are counted per group, while torch.optim counts them per tensor. This matters only for tensors that are absent
/// on some steps. Bias corrections and Adagrad's `lr_decay` use the steps of the group. SGD's momentum starts with g,
/// and NovoGrad's second moment with |g|², only on the first applied step of the group. A tensor that was absent on
/// that step later adds (1 - dampening) · g, or (1 - β2) · |g|², to zero.
///
/// Use an optimizer from one thread at a time; only `progress` may be called from any thread.
class SYCLAMP_API fused_optimizer final : public optimizer {
 public:
  /// Makes an optimizer. Allocates memory and compiles kernels.
  /// \param engine      the device and queue of all parameters
  /// \param parameters  the tensors of weights with their gradients
  /// \param settings    the optimizer and its hyper-parameters, for all groups or one per group. All groups must need
  ///                    the same kernel.
  /// \param storage     how weights and moments are stored
  /// \throws invalid_argument that names the parameter or the setting, its value and the remedy
  fused_optimizer(const engine& engine, std::vector<parameter> parameters, const optimizer_settings& settings,
                  const storage_options& storage = {});
  /// \overload
  fused_optimizer(const engine& engine, std::vector<parameter> parameters,
                  const std::vector<optimizer_settings>& settings, const storage_options& storage = {});
  ~fused_optimizer() override;

  /// Moves an optimizer. A moved-from optimizer can only be destroyed or assigned to. Scalers and recorded steps refer
  /// to the object that they were given: move it before the first step, or pass the new object.
  fused_optimizer(fused_optimizer&&) noexcept;
  fused_optimizer& operator=(fused_optimizer&&) noexcept;

  // --- A step -------------------------------------------------------------------------------------------------------

  /// The gradients of all parameters, in order.
  const tensor_list& gradients() const override;

  /// The list that `loss_scaler::unscale` writes: the FP32 gradients themselves, or the FP32 shadow of 16-bit
  /// gradients.
  /// \throws misuse_error if gradients have 16 bits and there is no `storage_options::unscaled_shadow`
  const tensor_list& unscaled_gradients() const override;

  /// Submits a check of learning rates that are in device memory or may have been changed there. The loss scaler calls
  /// it.
  bool check_numbers(std::uint32_t* invalid_numbers) override;

  /// Applies a step as decided by a loss scaler, which calls this function. Does not wait.
  sycl::event apply(const step_inputs& inputs) override;

  /// Applies gradients that were never scaled. Does not inspect them and never skips. Does not wait.
  /// \param dependencies  events that must be complete before the step begins
  /// \return an event that is complete when the step is
  sycl::event apply(const std::vector<sycl::event>& dependencies = {});

  /// Sets all gradients to zero, for backward passes that add to them. Does not wait.
  /// \param dependencies  events that must be complete before
  /// \return an event that is complete when all gradients are zero
  sycl::event zero_gradients(const std::vector<sycl::event>& dependencies = {});

  // --- Hyper-parameters: from the next step on, without waiting; not while a graph is recorded (`misuse_error`) ------

  /// Sets the learning rate of a group.
  /// \throws invalid_argument if there is no such group, or the value is negative or not finite
  void set_lr(double lr, std::uint32_t group);
  void set_lr(double lr);  ///< sets the learning rate of all groups

  /// Reads the learning rate of a group from device memory on every step. While it is negative, infinite or NaN, a
  /// scaler skips the step with the status `invalid_number`. The check takes one more kernel. Call this before a step
  /// is recorded, because a graph that was recorded earlier does not check.
  /// \param lr     the learning rate in device memory, owned by the caller; `std::nullopt`: the learning rate of
  ///               `set_lr` again
  /// \param group  index of the group
  void set_lr_source(const std::optional<device_value>& lr, std::uint32_t group);
  void set_lr_source(const std::optional<device_value>& lr);  ///< the same for all groups

  /// Replaces all settings of a group. The moments do not change.
  /// \throws invalid_argument if the settings need another kernel than the present ones, or a value is invalid
  void set(const optimizer_settings& settings, std::uint32_t group = 0);

  /// Sets the learning-rate schedule of all groups. Default: constant.
  /// \throws invalid_argument if a value is invalid
  void set_schedule(const lr_schedule& schedule);

  /// The hyper-parameters of a group in device memory, for kernels that change them. Change all numbers of a
  /// `decay_rate` together. Call this before a step is recorded, so that the step checks the learning rate. The
  /// optimizer owns the memory.
  hyper_parameters* device_hyper_parameters(std::uint32_t group = 0) const;

  // --- Readings -----------------------------------------------------------------------------------------------------

  /// The numbers of steps that the device has finished and applied. Does not wait. May be called from any thread.
  optimizer_progress progress(std::uint32_t group = 0) const;

  const std::uint64_t* device_steps(std::uint32_t group = 0) const;  ///< applied steps, in device memory
  std::uint64_t steps(std::uint32_t group = 0) const;  ///< number of applied steps; waits for all submitted steps

  /// The settings of a group as the host knows them: from the constructor, `set`, `set_lr` or a loaded checkpoint.
  /// Changes by kernels on the device are not included.
  optimizer_settings settings(std::uint32_t group = 0) const;
  double lr(std::uint32_t group = 0) const;  ///< learning rate of `settings(group)`, before the schedule
  std::size_t size() const;                  ///< number of parameters
  std::uint32_t groups() const;              ///< number of parameter groups
  std::uint32_t states() const;              ///< number of moments per parameter
  std::uint64_t device_bytes() const;        ///< device memory that the library has allocated for it
  array_view state(std::size_t parameter, std::uint32_t index) const;  ///< a moment, in device memory

  /// The weights of a parameter in FP32, whatever their storage. Waits.
  /// \throws invalid_argument if there is no such parameter
  std::vector<float> weights(std::size_t parameter) const;

  const engine& get_engine() const;  ///< the engine from the constructor

  // --- State for callers that keep checkpoints of their own, such as Python's state_dict ----------------------------

  /// Sets the numbers of applied steps, on which bias corrections depend. `progress` starts again. Waits.
  /// \param applied  one number per group
  /// \throws invalid_argument if the number of numbers is not the number of groups
  void set_steps(std::span<const std::uint64_t> applied);

  /// NovoGrad's second moments, which it keeps per tensor: one per parameter. Empty for other optimizers. Waits.
  std::vector<float> tensor_moments() const;

  /// Sets NovoGrad's second moments. Waits.
  /// \throws invalid_argument if their number is not that of `tensor_moments()`, or a value is negative or not finite
  void set_tensor_moments(std::span<const float> moments);

  // For the library's own operations.
  optimizer_parts parts() const;

 private:
  struct impl;
  impl& state() const;  ///< \throws misuse_error if this was moved from

  std::unique_ptr<impl> impl_;
};

}  // namespace SYCLAMP_NAMESPACE
