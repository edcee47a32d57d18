// SPDX-License-Identifier: Apache-2.0
#include "scaler/scaler_ledger.hpp"

#include <algorithm>
#include <set>

namespace SYCLAMP_NAMESPACE {

std::uint32_t scaler_ledger::add_list(const tensor_list& gradients) {
  const std::lock_guard lock(names_mutex_);
  lists_.emplace(next_index_, gradients);
  return next_index_++;
}

void scaler_ledger::remove_lists(std::span<const std::uint32_t> indices) {
  const std::set<std::uint32_t> removed(indices.begin(), indices.end());
  engine_.wait();  // so that the ring has all records that name their tensors
  const auto slots = ring_.read();
  const std::lock_guard lock(names_mutex_);
  if (!slots.empty() && slots.front().number > ring_.capacity())
    kept_names_.erase(kept_names_.begin(), kept_names_.lower_bound(slots.front().number - ring_.capacity()));
  for (const auto& slot : slots)
    if (const step_record& record = slot.record;
        record.first_nonfinite_tensor != no_element && removed.contains(record.first_nonfinite_list))
      kept_names_.try_emplace(slot.number, lists_.at(record.first_nonfinite_list).name(record.first_nonfinite_tensor));
  for (const std::uint32_t index : removed) lists_.erase(index);
}

std::vector<ledger_entry> scaler_ledger::entries_after(std::uint64_t number) const {
  std::vector<ledger_entry> entries;
  const auto slots = ring_.read(number);
  const std::lock_guard lock(names_mutex_);
  for (const auto& slot : slots) {
    ledger_entry& entry = entries.emplace_back(slot.record, std::string{});
    if (const auto kept = kept_names_.find(slot.number); kept != kept_names_.end()) {
      entry.first_nonfinite_name = kept->second;
    } else if (entry.record.first_nonfinite_tensor != no_element) {
      const auto list = lists_.find(entry.record.first_nonfinite_list);
      if (list != lists_.end()) entry.first_nonfinite_name = list->second.name(entry.record.first_nonfinite_tensor);
    }
  }
  return entries;
}

step_record scaler_ledger::find(std::uint64_t step, std::uint32_t scale_index) const {
  if (step == 0) return {};
  const std::uint64_t number = number_of(step, scale_index);
  for (const auto& slot : ring_.read(number - 1))
    if (slot.number == number) return slot.record;
  return {};
}

void scaler_ledger::report() {
  if (!handler_) return;
  // There are no gaps: a record missing from the entries is not written yet, or was overwritten before it could be
  // reported.
  for (const ledger_entry& entry : entries_after(reported_)) {
    reported_ = number_of(entry.record.step, entry.record.scale_index);
    handler_(entry);
  }
}

void scaler_ledger::restore(const scaler_snapshot& snapshot) {
  std::vector<kernels::ledger_slot> slots;
  const std::lock_guard lock(names_mutex_);
  kept_names_.clear();
  reported_ = 0;
  for (const ledger_entry& entry : snapshot.ledger) {
    const std::uint64_t number = number_of(entry.record.step, entry.record.scale_index);
    slots.push_back(slot_of(number, entry.record));
    kept_names_[number] = entry.first_nonfinite_name;
    reported_ = std::max(reported_, number);
  }
  ring_.restore(engine_, slots, snapshot.scales.front().attempted);
}

}  // namespace SYCLAMP_NAMESPACE
