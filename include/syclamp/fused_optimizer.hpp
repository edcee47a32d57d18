// SPDX-License-Identifier: Apache-2.0
/// \file
/// The library's optimizers: gradients in FP16, BF16 or FP32, arithmetic and master weights in FP32, and a copy of the
/// weights for the forward pass, all in one kernel that reads and writes everything once.
///
///     fused_optimizer optimizer(engine, {{.gradient = {g, n}, .model = {w, n}}}, adamw{.lr = 3e-4});
///     scaler.step(optimizer);      // or optimizer.apply() for gradients that were never scaled
///
/// Bytes that a step moves for each parameter, with FP16 or BF16 gradients and copy: 12, and 8 for each moment. So SGD
/// moves 12 and AdamW 28. With remainders there are 2 bytes less; a BF16 moment takes 4. The inspection reads 2 more.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
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

/// One tensor of weights, with its gradient. All pointers are USM memory that the caller owns.
struct parameter {
  array_view gradient;     ///< FP16, BF16 or FP32, scaled or not; the address may be null: absent for now
  array_view model = {};   ///< the weights that the forward pass reads: FP32, FP16, BF16 or FP8
  array_view master = {};  ///< FP32 weights. Not given: the library keeps them, and begins with those of the model;
                           ///< if that is FP32, it is its own master, and there is no copy
  std::array<void*, 3> states = {};  ///< moments, of the type that `storage_options` says; null: the library keeps them
  std::string name = {};
  std::uint32_t group = 0;  ///< which of the settings are its own
  bool replicated = false;  ///< all ranks hold the gradient alike (`tensor::replicated`)
};

struct storage_options {
  /// FP32 or BF16.
  element_type moments = element_type::float32;

  /// For models in BF16: keeps the 16 bits that they lack instead of FP32 weights. Both together are the FP32 weights,
  /// bit by bit, with 2 bytes less to read and to keep. (A model that lies exactly between two BF16 is rounded away
  /// from zero, not to even.)
  bool remainders = false;

  /// Of BF16 moments and of copies of the weights. Stochastic: a function of seed, applied steps, tensor and element.
  rounding rounding_mode = rounding::to_nearest;
  std::uint64_t seed = 0;

  /// Room for unscaled gradients in FP32, for `loss_scaler::unscale` on gradients in 16 bits.
  bool unscaled_shadow = false;
};

// --- The optimizer --------------------------------------------------------------------------------------------------

/// An optimizer on any number of tensors, a step of which is one kernel.
///
/// Everything is checked, allocated and compiled when it is made. A step (`apply`) neither waits nor allocates, and a
/// SYCL graph can record it: learning rates, the schedule, the number of applied steps and the bias corrections live on
/// the device. If the decision on a step is to skip it, not a bit of weights, copy, moments or step number changes. A
/// tensor whose gradient is absent is left as it is. Gradients are never written.
///
/// Steps are counted by group, where torch.optim counts them by tensor. It makes a difference for tensors that are
/// absent on a step: bias corrections and Adagrad's `lr_decay` go by the steps of the group, and only on its first
/// applied one do SGD's momentum begin with g and NovoGrad's second moment with |g|². A tensor that is absent then
/// adds (1 - dampening) · g to a momentum of zero later, or (1 - β2) · |g|² to a second moment of zero.
///
/// For one thread at a time.
class SYCLAMP_API fused_optimizer final : public optimizer {
 public:
  /// \param settings  of all parameters, or of each group; of one kind
  /// \throws invalid_argument that names the parameter or the setting, its value and the remedy
  fused_optimizer(const engine& engine, std::vector<parameter> parameters, const optimizer_settings& settings,
                  const storage_options& storage = {});
  fused_optimizer(const engine& engine, std::vector<parameter> parameters,
                  const std::vector<optimizer_settings>& settings, const storage_options& storage = {});
  ~fused_optimizer() override;

  /// A moved-from optimizer can only be destroyed or assigned to. Scalers and recorded steps refer to the object that
  /// they were given: move it before it steps, or give them the new one.
  fused_optimizer(fused_optimizer&&) noexcept;
  fused_optimizer& operator=(fused_optimizer&&) noexcept;

  // --- A step -------------------------------------------------------------------------------------------------------

  const tensor_list& gradients() const override;

  /// \throws misuse_error if gradients have 16 bits and there is no `storage_options::unscaled_shadow`
  const tensor_list& unscaled_gradients() const override;

  /// Checks learning rates that are read from device memory, or may have been changed there.
  bool check_numbers(std::uint32_t* invalid_numbers) override;

  sycl::event apply(const step_inputs& inputs) override;

  /// Applies gradients that were never scaled. Nothing is skipped.
  sycl::event apply(const std::vector<sycl::event>& dependencies = {});

  /// Sets all gradients to zero, for backward passes that add to them.
  sycl::event zero_gradients(const std::vector<sycl::event>& dependencies = {});

  // --- Hyper-parameters: from the next step on, without waiting; not while a graph is recorded (`misuse_error`) ------

  /// \throws invalid_argument if there is no such group, or the value is not usable
  void set_lr(double lr, std::uint32_t group);
  void set_lr(double lr);  ///< of all groups

  /// Reads the learning rate from device memory on every step; `std::nullopt` ends that. While it is negative, infinite
  /// or NaN, a scaler skips the step, with the status `invalid_number`. The check costs one kernel. Call this before a
  /// step is recorded: a graph that was recorded earlier does not check.
  void set_lr_source(const std::optional<device_value>& lr, std::uint32_t group);
  void set_lr_source(const std::optional<device_value>& lr);

  /// Replaces all settings of a group; moments stay.
  /// \throws invalid_argument if they need other moments than there are
  void set(const optimizer_settings& settings, std::uint32_t group = 0);

  /// For all groups.
  void set_schedule(const lr_schedule& schedule);

  /// In device memory, for kernels that change them. Change all numbers of a `decay_rate` together. Call this before a
  /// step is recorded, so that the step checks the learning rate.
  hyper_parameters* device_hyper_parameters(std::uint32_t group = 0) const;

  // --- Readings -----------------------------------------------------------------------------------------------------

  /// The steps that the device has finished, from host-visible memory. Does not wait. Any thread.
  optimizer_progress progress(std::uint32_t group = 0) const;

  const std::uint64_t* device_steps(std::uint32_t group = 0) const;  ///< applied steps, in device memory
  std::uint64_t steps(std::uint32_t group = 0) const;                ///< applied steps of all that was submitted; waits

  /// The settings of a group, with the learning rate that `set_lr` gave, or those of a checkpoint that was loaded. What
  /// kernels have changed on the device is not in them.
  optimizer_settings settings(std::uint32_t group = 0) const;
  double lr(std::uint32_t group = 0) const;  ///< of `settings(group)`: before the schedule
  std::size_t size() const;                  ///< number of parameters
  std::uint32_t groups() const;
  std::uint32_t states() const;                                        ///< moments that each parameter has
  std::uint64_t device_bytes() const;                                  ///< that the library keeps for it
  array_view state(std::size_t parameter, std::uint32_t index) const;  ///< a moment, in device memory

  /// The weights in FP32, whatever their storage. Waits.
  std::vector<float> weights(std::size_t parameter) const;

  const engine& get_engine() const;

  // For the library's own operations.
  optimizer_parts parts() const;

 private:
  struct impl;
  impl& state() const;  ///< \throws misuse_error if this was moved from

  std::unique_ptr<impl> impl_;
};

}  // namespace SYCLAMP_NAMESPACE
