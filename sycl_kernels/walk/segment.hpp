// SPDX-License-Identifier: Apache-2.0
// Walks over the pieces of tensors that lie in a chunk.
#pragma once

#include "sycl_kernels/base/global_memory.hpp"
#include "sycl_kernels/base/work_group.hpp"
#include "sycl_kernels/shared/layout.hpp"

namespace syclamp::kernels {

/// The table of a tensor list in device memory; `starts` has one entry more, the end of the last tensor.
struct tensor_table {
  const std::uint64_t* addresses;
  const std::uint64_t* starts;
  const std::uint32_t* kinds;
  std::uint32_t tensors;
};

/// The tensor that holds `place`, a position in the space of all tensors: the last one that starts there or before.
inline std::uint32_t tensor_at(const std::uint64_t* starts, std::uint32_t tensors, std::uint64_t place) {
  std::uint32_t low = 0, high = tensors;
  while (high - low > 1) {
    const std::uint32_t middle = low + (high - low) / 2;
    const bool beyond = starts[middle] > place;
    high = beyond ? middle : high;
    low = beyond ? low : middle;
  }
  return low;
}

/// A piece of a tensor: the part that lies in one chunk. Moves from piece to piece; tensors that are empty, and those
/// whose address is null because they are absent on this step, have none.
class segment {
 public:
  segment(const tensor_table& table, std::uint32_t chunk)
      : table_(table),
        begin_(std::uint64_t{chunk} * chunk_elements),
        tensor_(tensor_at(table.starts, table.tensors, begin_)) {
    find();
  }

  bool exists() const { return count_ != 0; }
  void next() {
    ++tensor_;
    find();
  }

  std::uint32_t tensor() const { return tensor_; }
  std::uint32_t chunk() const { return static_cast<std::uint32_t>(begin_ / chunk_elements); }
  element_type type() const { return tensor_kind::type(table_.kinds[tensor_]); }
  std::uint32_t group() const { return tensor_kind::group(table_.kinds[tensor_]); }
  std::uint32_t count() const { return count_; }
  std::uint32_t offset_in_chunk() const { return offset_; }

  /// Index within its tensor of the piece's first element: a multiple of `tensor_alignment`.
  std::uint64_t first_element() const { return begin_ + offset_ - table_.starts[tensor_]; }

  /// The tensor, from its very first element.
  template <typename Format>
  const typename Format::bits* array() const {
    return in_global_memory<const typename Format::bits>(table_.addresses[tensor_]);
  }

  /// The piece.
  template <typename Format>
  const typename Format::bits* data() const {
    return array<Format>() + first_element();
  }

  std::uint64_t address() const { return table_.addresses[tensor_]; }
  bool is_aligned(std::uint32_t bytes) const { return table_.addresses[tensor_] % bytes == 0; }

 protected:
  /// Stops at the next tensor with something in the chunk, or behind the last one that begins in it. (A loop that is
  /// left by `return`, or out of a scope with variables, makes AdaptiveCpp's CPU targets take the wrong way out of a
  /// kernel with barriers.)
  [[gnu::always_inline]] void find() {
    count_ = 0;
    while (tensor_ < table_.tensors && table_.starts[tensor_] < begin_ + chunk_elements) {
      measure();
      if (count_ != 0) break;
      ++tensor_;
    }
  }

  /// How much of the tensor, which begins before the chunk ends, lies in the chunk.
  [[gnu::always_inline]] void measure() {
    const std::uint64_t start = table_.starts[tensor_];
    const std::uint64_t end = table_.starts[tensor_ + 1] - tensor_kind::padding(table_.kinds[tensor_]);
    offset_ = start > begin_ ? static_cast<std::uint32_t>(start - begin_) : 0;
    const std::uint64_t first = begin_ + offset_, left = end > first ? end - first : 0;
    const std::uint32_t room = chunk_elements - offset_;
    count_ = table_.addresses[tensor_] == 0 ? 0 : left < room ? static_cast<std::uint32_t>(left) : room;
  }

  tensor_table table_;
  std::uint64_t begin_;
  std::uint32_t tensor_, offset_ = 0, count_ = 0;
};

/// The chunks of a list that this work-group handles.
inline chunk_range chunks_of_group(const work_item& item, const tensor_table& table) {
  return chunks_of_group(item, chunks_of(table.starts[table.tensors]));
}

/// Moves over the pieces of several chunks in one loop. For kernels with barriers: inside of nested loops,
/// AdaptiveCpp's CPU targets lose the first turn of the inner one.
class piece_walk : public segment {
 public:
  piece_walk(const tensor_table& table, chunk_range chunks)
      : segment(table, chunks.begin), end_(std::uint64_t{chunks.end} * chunk_elements) {
    if (begin_ < end_) {
      find_in_chunks();
    } else {
      count_ = 0;
    }
  }

  void next() {
    segment::next();
    find_in_chunks();
  }

 private:
  /// The last tensor that begins in a chunk may continue in the next chunk.
  void find_in_chunks() {
    while (count_ == 0 && begin_ + chunk_elements < end_) {
      begin_ += chunk_elements;
      tensor_ -= tensor_ != 0;
      find();
    }
  }

  std::uint64_t end_;
};

/// Calls `action(piece)` for each piece in these chunks.
template <typename Action>
[[gnu::always_inline]] inline void for_each_piece(const work_item& item, const tensor_table& table, Action action) {
  const chunk_range mine = chunks_of_group(item, table);
  for (std::uint32_t chunk = mine.begin; chunk < mine.end; ++chunk)
    for (segment piece(table, chunk); piece.exists(); piece.next()) action(piece);
}

/// The first pack of a piece that this work-item takes. Packs go round the work-items of a group across pieces, so that
/// many small tensors keep a whole group busy.
template <unsigned GroupSize, unsigned Lanes>
inline std::uint32_t first_pack(const work_item& item, const segment& piece) {
  return (item.id - piece.offset_in_chunk() / Lanes) % GroupSize;
}

}  // namespace syclamp::kernels
