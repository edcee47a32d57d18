// SPDX-License-Identifier: Apache-2.0
// The loss scaler behind syclamp.torch.GradScaler.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include <syclamp/device_array.hpp>
#include <syclamp/loss_scaler.hpp>

#include "torch_optimizer.hpp"

namespace syclamp::python {

class torch_scaler {
 public:
  /// \param tensor_class  torch.Tensor
  torch_scaler(nanobind::handle tensor_class, const scaling_policy& policy, std::uint32_t ledger);

  /// Inspects, clips and applies the gradients of an optimizer of this package. Waits.
  /// \return true if the step was applied
  bool step(torch_optimizer& optimizer, std::optional<float> max_norm);

  /// Inspects gradients for an optimizer of PyTorch. Waits.
  /// \param key      the same number for the same optimizer, so that tables are made once
  /// \param tensors  dense tensors; order and layout of elements do not matter
  /// \return true if all are finite
  bool inspect(std::uint64_t key, const nanobind::list& tensors);

  /// Takes into account a check that was made outside the library. Waits on the first call only.
  void add_flag(bool overflow);

  void update();                    ///< moves the scale; does not wait
  void set_scale(float new_scale);  ///< does not wait

  scale_state state() const;  ///< waits only if an `update` has not finished yet
  void set_policy(const scaling_policy& policy) { scaler_.set_policy(policy); }
  const scaling_policy& policy() const { return scaler_.policy(); }

  std::string snapshot() const;  ///< as JSON, without the ledger; waits
  void load(const std::string& snapshot);
  void load_pytorch(const std::string& state);
  std::vector<ledger_entry> ledger() const { return scaler_.ledger(); }  ///< does not wait

  void collect_records(bool is_wanted);      ///< for `take_records`, from now on
  std::vector<ledger_entry> take_records();  ///< those that are visible by now; does not wait

 private:
  struct inspected_list {
    tensor_list list;
    std::vector<tensor_layout> layouts;
  };
  /// More lists are made again when they are needed. Few trainings have more optimizers.
  static constexpr std::size_t max_lists = 32;

  const tensor_list& list_of(std::uint64_t key, const nanobind::list& tensors);

  tensor_reader reader_;
  loss_scaler scaler_;
  std::map<std::uint64_t, inspected_list> lists_;
  device_array<float> flag_numbers_;                       ///< 0 and Inf, made when the first flag is added
  std::optional<tensor_list> clean_flag_, overflow_flag_;  ///< one of these numbers each
  std::vector<ledger_entry> new_records_;
  mutable std::optional<sycl::event> pending_;
};

}  // namespace syclamp::python
