// SPDX-License-Identifier: Apache-2.0
#include "torch_scaler.hpp"

#include <limits>
#include <utility>

#include <syclamp/framework_states.hpp>
#include <syclamp/scaler_snapshot.hpp>

#include "torch_engine.hpp"

namespace nb = nanobind;

namespace syclamp::python {

torch_scaler::torch_scaler(nb::handle tensor_class, const scaling_policy& policy, std::uint32_t ledger)
    : reader_(tensor_class), scaler_(cpu_engine(), policy, {.ledger = ledger}) {}

bool torch_scaler::step(torch_optimizer& optimizer, std::optional<float> max_norm) {
  return optimizer.apply(scaler_, max_norm);
}

const tensor_list& torch_scaler::list_of(std::uint64_t key, const nb::list& tensors) {
  std::vector<void*> addresses(tensors.size());
  for (nb::handle tensor : tensors) reader_.need_tensor(tensor, "a gradient");
  if (const auto found = lists_.find(key); found != lists_.end() && found->second.layouts.size() == tensors.size()) {
    bool fits = true;
    for (std::size_t i = 0; fits && i < addresses.size(); ++i) {
      const tensor_layout& layout = found->second.layouts[i];
      fits = reader_.read_again(reader_.handle_of(nb::handle(tensors[i]).ptr()),
                                {layout.type, layout.shape, layout.strides}, &addresses[i]);
    }
    if (fits) {
      found->second.list.set_addresses(addresses);
      return found->second.list;
    }
  }
  std::vector<tensor> described;
  std::vector<tensor_layout> layouts;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    layouts.push_back(reader_.read(tensors[i], "gradient " + std::to_string(i)));
    described.push_back({.data = {layouts.back().data, layouts.back().type}, .count = layouts.back().count});
  }
  lists_.erase(key);
  if (lists_.size() == max_lists) lists_.clear();  // most belong to optimizers that no longer exist
  return lists_.emplace(key, inspected_list{tensor_list(cpu_engine(), described), std::move(layouts)})
      .first->second.list;
}

bool torch_scaler::inspect(std::uint64_t key, const nb::list& tensors) {
  const tensor_list& list = list_of(key, tensors);
  const nb::gil_scoped_release unlocked;
  scaler_.begin_step();
  const step_decision* decision = scaler_.inspect(list);
  step_decision read;
  cpu_engine().queue().memcpy(&read, decision, sizeof read);
  cpu_engine().wait();
  return read.apply != 0;
}

void torch_scaler::add_flag(bool overflow) {
  if (flag_numbers_.size() == 0) {
    flag_numbers_ = device_array(cpu_engine(), std::vector<float>{0.0f, std::numeric_limits<float>::infinity()});
    const auto list_of_one = [](float* number) {
      return tensor_list(cpu_engine(), std::vector<tensor>{{.data = number, .count = 1, .name = "found_inf"}});
    };
    clean_flag_.emplace(list_of_one(flag_numbers_.data()));
    overflow_flag_.emplace(list_of_one(flag_numbers_.data() + 1));
  }
  scaler_.begin_step();
  scaler_.inspect(overflow ? *overflow_flag_ : *clean_flag_);
}

void torch_scaler::update() { pending_ = scaler_.update(); }
void torch_scaler::set_scale(float new_scale) { pending_ = scaler_.update(new_scale); }

scale_state torch_scaler::state() const {
  using status = sycl::info::event_command_status;
  if (pending_) {
    if (pending_->get_info<sycl::info::event::command_execution_status>() != status::complete) {
      const nb::gil_scoped_release unlocked;
      cpu_engine().wait();
    }
    pending_.reset();
  }
  return *scaler_.device_state();  // the host can read the memory of a CPU device
}

std::string torch_scaler::snapshot() const {
  scaler_snapshot complete = scaler_.state();
  complete.ledger.clear();
  return to_json(complete);
}

void torch_scaler::load(const std::string& snapshot) {
  scaler_.load(snapshot_from_json(snapshot));
  pending_.reset();
}

void torch_scaler::load_pytorch(const std::string& state) {
  scaler_snapshot base = scaler_snapshot::fresh(scaler_.policy());
  base.scales.front() = this->state();
  base.ledger = scaler_.ledger();
  scaler_.load(from_framework_state(state, "pytorch", base));
}

/// Handlers stay in Python, where cycles are found.
void torch_scaler::collect_records(bool is_wanted) {
  if (!is_wanted) return scaler_.on_step({});
  scaler_.report();
  scaler_.on_step([this](const ledger_entry& entry) { new_records_.push_back(entry); });
}

std::vector<ledger_entry> torch_scaler::take_records() {
  scaler_.report();
  return std::exchange(new_records_, {});
}

}  // namespace syclamp::python
