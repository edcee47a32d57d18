// SPDX-License-Identifier: Apache-2.0
// The last records of a scaler, where device and host both see them.
#pragma once

#include <cstdint>
#include <vector>

#include "device_memory.hpp"
#include "sycl_kernels/scaler_layout.hpp"
#include "syclamp/engine.hpp"

namespace syclamp {

/// A ring of records. Where the device can write to host memory while the host reads it, records appear there one by
/// one; elsewhere they are written to device memory and copied after each step. Either way a reader takes a record only
/// if its number and its check sum are right, so it never sees half of one.
class ledger_ring {
 public:
  ledger_ring(const engine& on, std::uint32_t capacity);

  std::uint32_t capacity() const { return capacity_; }

  /// Where the device writes.
  kernels::ledger_slot* device_slots() const { return written_.get(); }

  /// To be called after each kernel that writes: submits the copy, where there is one.
  void publish(const engine& on) const;

  /// The records that are there, oldest first, from number `after` + 1 on. Does not wait; any thread.
  std::vector<kernels::ledger_slot> read(std::uint64_t after = 0) const;

  /// Replaces all records. Waits.
  void restore(const engine& on, const std::vector<kernels::ledger_slot>& slots) const;

 private:
  const kernels::ledger_slot* visible() const { return mirror_ ? mirror_.get() : written_.get(); }

  std::uint32_t capacity_;
  device_array<kernels::ledger_slot> written_;
  device_array<kernels::ledger_slot> mirror_;  ///< host memory, if the device cannot write there at any time
};

/// A slot as a kernel would have written it.
kernels::ledger_slot slot_of(std::uint64_t number, const step_record& record);

}  // namespace syclamp
