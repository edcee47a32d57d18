// SPDX-License-Identifier: Apache-2.0
// Reads a ring of records while the device writes to it.
//
// The ring has room for one step more than readers may request, so the step being written never overwrites a requested
// one. Steps are written one after the other. Records of one step, one per scale, may be written at the same time and
// in any order, so a step counts only when all of its records are there.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <vector>

#include "sycl_kernels/shared/scaler_layout.hpp"
#include "syclamp/export.hpp"

namespace SYCLAMP_NAMESPACE {

using record_content = std::array<std::uint32_t, kernels::record_words>;

inline std::uint64_t check_of(std::uint64_t number, const record_content& content) {
  std::uint64_t check = kernels::first_check(number);
  for (const std::uint32_t word : content) check = kernels::fnv_sum(check, word);
  return check;
}

/// Loads of memory that the device may be writing to. Tests replace this class, to let the writer run between two
/// loads.
struct shared_memory {
  template <typename T>
  T load(const T& from, std::memory_order order) const {
    // Before C++26 there is no atomic_ref of a constant. A load does not write, so the cast is safe.
    return std::atomic_ref<T>(const_cast<T&>(from)).load(order);
  }
};

template <typename Memory>
class ledger_reader {
 public:
  using slot_type = kernels::ledger_slot;

  /// \param slots   (steps + 1) · scales of them
  /// \param steps   number of newest steps that can be read
  ledger_reader(const slot_type* slots, std::uint64_t steps, std::uint64_t scales, Memory memory = {})
      : slots_(slots), steps_(steps), scales_(scales), memory_(memory) {}

  /// The records of the newest steps, oldest first, without those up to number `after`. No step is missing in between.
  /// All steps that finished before the call are included, except those that newer steps have overwritten meanwhile.
  /// \param newest  the number of a finished step; replaced by the newest finished step that was found
  std::vector<slot_type> read(std::uint64_t after, std::uint64_t& newest) const {
    std::vector<slot_type> found;
    for (int attempt = 0; attempt < max_attempts; ++attempt) {
      newest = newest_step(newest);
      const bool is_complete = collect(after, newest, found);
      if (is_complete || (attempt >= patience && !found.empty())) break;
    }
    std::reverse(found.begin(), found.end());
    return found;
  }

 private:
  enum class content { nothing, step, mixed };  ///< never written; all records of a step; being written
  struct view {
    content kind;
    std::uint64_t step;
  };

  // An attempt fails only if the writer passes through the whole ring meanwhile.
  static constexpr int patience = 8, max_attempts = 1000;

  std::uint64_t room() const { return steps_ + 1; }

  /// What the place of a step holds. Its records are appended to `records` in reverse order, if that is not null.
  view read_place(std::uint64_t step, std::vector<slot_type>* records = nullptr) const {
    const slot_type* at = slots_ + (step + room() - 1) % room() * scales_;
    view whole{content::mixed, 0};
    for (std::uint64_t i = scales_; i-- > 0;) {
      slot_type record{};
      const view part = load(at[i], record);
      if (i + 1 == scales_) whole = part;
      if (part.kind != whole.kind || part.step != whole.step) whole.kind = content::mixed;
      if (whole.kind == content::mixed) break;
      if (records != nullptr) records->push_back(record);
    }
    return whole;
  }

  view load(const slot_type& slot, slot_type& record) const {
    const std::uint64_t number = memory_.load(slot.number, std::memory_order_acquire);
    record_content words;
    const auto* from = reinterpret_cast<const std::uint32_t*>(&slot.record);
    if (number != 0)
      for (std::size_t i = 0; i < words.size(); ++i) words[i] = memory_.load(from[i], std::memory_order_relaxed);
    const std::uint64_t check = memory_.load(slot.check, std::memory_order_relaxed);
    // A check sum stays when its record is replaced: without one, there never was a record.
    if (number == 0) return {check == 0 ? content::nothing : content::mixed, 0};
    std::atomic_thread_fence(std::memory_order_acquire);
    const bool is_same = memory_.load(slot.number, std::memory_order_relaxed) == number;
    if (!is_same || check != check_of(number, words)) return {content::mixed, 0};
    record = {number, check, std::bit_cast<step_record>(words)};
    return {content::step, (number - 1) / scales_ + 1};
  }

  /// Finds the newest finished step, starting from a step known to be finished.
  std::uint64_t newest_step(std::uint64_t known) const {
    for (int attempt = 0; attempt < max_attempts;) {
      const view next = read_place(known + 1);
      if (next.kind == content::step && next.step > known) {
        known = next.step;
        continue;
      }
      if (next.kind != content::mixed) return known;  // the next step has not begun
      // The slot holds the next step, or one that is whole rounds later. In the second case the slot before it holds a
      // newer step as well.
      const view own = read_place(known);
      if (own.kind == content::step && own.step > known) {
        known = own.step;
        continue;
      }
      if (own.kind != content::mixed) return known;
      ++attempt;
    }
    return known;
  }

  /// Appends records, newest first. The writer overwrites the oldest steps first, so lost records are at the end.
  /// \return false if steps were replaced before they were read
  bool collect(std::uint64_t after, std::uint64_t newest, std::vector<slot_type>& found) const {
    found.clear();
    const std::uint64_t oldest = std::max(newest > steps_ ? newest - steps_ + 1 : 1, after / scales_ + 1);
    for (std::uint64_t step = newest; step >= oldest; --step) {
      const std::size_t before = found.size();
      const view view = read_place(step, &found);
      if (view.kind == content::step && view.step == step) continue;
      found.resize(before);
      const bool is_replaced = view.kind == content::mixed || (view.kind == content::step && view.step > step);
      if (is_replaced) return false;  // otherwise the step never existed: a state without it was loaded
    }
    while (!found.empty() && found.back().number <= after) found.pop_back();
    return true;
  }

  const slot_type* slots_;
  std::uint64_t steps_, scales_;
  Memory memory_;
};

}  // namespace SYCLAMP_NAMESPACE
