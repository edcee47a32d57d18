// SPDX-License-Identifier: Apache-2.0
// The last records of a scaler, where device and host both see them.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "engine/device_memory.hpp"
#include "sycl_kernels/shared/scaler_layout.hpp"
#include "syclamp/engine.hpp"
#include "syclamp/export.hpp"

namespace SYCLAMP_NAMESPACE {

/// A ring of records. Where the device can write to host memory while the host reads it, records appear there one by
/// one. Elsewhere they are written to device memory and copied after each step. Either way a reader takes a record only
/// if its number and its check sum are right, so it never sees half of a record.
class ledger_ring {
 public:
  /// \param steps   how many steps can be read; there is room for one more, which is being written
  /// \param scales  records per step
  ledger_ring(const engine& engine, std::uint32_t steps, std::uint32_t scales);

  /// Number of slots.
  std::uint32_t capacity() const { return (steps_ + 1) * scales_; }

  /// Where the device writes.
  kernels::ledger_slot* device_slots() const { return written_.get(); }

  /// Call it after each kernel that writes records. Submits the copy to the host, if one is needed.
  void publish(const engine& engine) const;

  /// The records of the last steps, oldest first, from number `after` + 1 on. Does not wait; any thread. No step is
  /// missing in between, and no call returns less than an earlier call.
  std::vector<kernels::ledger_slot> read(std::uint64_t after = 0) const;

  /// Replaces all records; steps that are not complete are left out. Waits.
  /// \param newest_step  number of the last step that was made
  void restore(const engine& engine, const std::vector<kernels::ledger_slot>& slots, std::uint64_t newest_step) const;

 private:
  const kernels::ledger_slot* visible() const { return mirror_ ? mirror_.get() : written_.get(); }

  std::uint32_t steps_, scales_;
  usm_array<kernels::ledger_slot> written_;
  usm_array<kernels::ledger_slot> mirror_;         ///< host memory, if the device cannot write there at any time
  mutable std::atomic<std::uint64_t> newest_ = 0;  ///< a step that has been found finished
};

/// A slot as a kernel would have written it.
kernels::ledger_slot slot_of(std::uint64_t number, const step_record& record);

}  // namespace SYCLAMP_NAMESPACE
