// SPDX-License-Identifier: Apache-2.0
// The ledger of a loss scaler: records that the device writes, and the names of tensors that the host adds to them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "scaler/ledger_ring.hpp"
#include "syclamp/export.hpp"
#include "syclamp/ledger.hpp"
#include "syclamp/scaler_snapshot.hpp"
#include "syclamp/tensor_list.hpp"

namespace SYCLAMP_NAMESPACE {

class scaler_ledger {
 public:
  /// \param steps   how many steps can be read
  /// \param scales  records per step
  scaler_ledger(const engine& owner, std::uint32_t steps, std::uint32_t scales)
      : engine_(owner), scales_(scales), ring_(owner, steps, scales) {}

  const ledger_ring& ring() const { return ring_; }

  /// Registers a list, so that records can name its tensors.
  /// \return the index by which records refer to the list
  std::uint32_t add_list(const tensor_list& gradients);

  /// Releases lists, by their indices. Keeps the names that records in the ring refer to. Waits.
  void remove_lists(std::span<const std::uint32_t> indices);

  /// Records with a number above `number`, oldest first. Does not wait; any thread.
  std::vector<ledger_entry> entries_after(std::uint64_t number) const;

  /// The record of a step, if the ring still has it.
  step_record find(std::uint64_t step, std::uint32_t scale_index) const;

  void set_handler(std::function<void(const ledger_entry&)> handler) { handler_ = std::move(handler); }

  /// Calls the handler, if there is one, for each new record.
  void report();

  /// Replaces all records. Waits.
  void restore(const scaler_snapshot& snapshot);

 private:
  std::uint64_t number_of(std::uint64_t step, std::uint32_t scale_index) const {
    return (step - 1) * scales_ + scale_index + 1;
  }

  engine engine_;
  std::uint32_t scales_;
  ledger_ring ring_;

  mutable std::mutex names_mutex_;              ///< guards the names, which any thread may read
  std::map<std::uint32_t, tensor_list> lists_;  ///< by index
  std::uint32_t next_index_ = 0;
  std::map<std::uint64_t, std::string> kept_names_;  ///< by number of the record; its list is gone, or it was loaded

  std::function<void(const ledger_entry&)> handler_;
  std::uint64_t reported_ = 0;  ///< number of the last record that the handler got
};

}  // namespace SYCLAMP_NAMESPACE
