// SPDX-License-Identifier: Apache-2.0
// One allocation for the streams of an optimizer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/device_memory.hpp"
#include "syclamp/export.hpp"

namespace SYCLAMP_NAMESPACE {

/// Hands out room in rows: a row is one stream (all masters, all first moments, …), which a kernel reads along with the
/// others. Rows that lie a power of two apart fall on the same sets of a cache and the same banks of memory, which
/// costs AdamW a third of its speed on a CPU, so each row begins at another place within a page.
class skewed_arena {
 public:
  /// A place of `bytes` bytes in row `row`, as the distance from the arena's beginning; valid once it is allocated.
  struct place {
    std::size_t row, offset;
  };

  explicit skewed_arena(std::size_t rows) : sizes_(rows) {}

  place reserve(std::size_t row, std::size_t bytes) {
    const place here{row, sizes_[row]};
    sizes_[row] += (bytes + alignment - 1) / alignment * alignment;
    return here;
  }

  void allocate(const sycl::queue& queue) {
    starts_.clear();
    std::size_t end = 0;
    for (std::size_t row = 0; row < sizes_.size(); ++row) {
      starts_.push_back((end + page - 1) / page * page + (row + 1) * skew % page);
      end = starts_.back() + sizes_[row];
    }
    bytes_ = end;
    memory_ = allocate_on_device<std::byte>(queue, end);
  }

  std::byte* at(place where) const { return memory_.get() + starts_[where.row] + where.offset; }
  std::byte* data() const { return memory_.get(); }
  std::byte* row(std::size_t index) const { return memory_.get() + starts_[index]; }
  std::size_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t alignment = 64, page = 4096;
  static constexpr std::size_t skew = 13 * alignment;  // a fifth of a page

  std::vector<std::size_t> sizes_, starts_;
  std::size_t bytes_ = 0;
  usm_array<std::byte> memory_;
};

}  // namespace SYCLAMP_NAMESPACE
