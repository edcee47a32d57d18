// SPDX-License-Identifier: Apache-2.0
// exponents: how many elements have which exponent.
//
//   count_exponents   many work-groups   tensors → exponent_histogram
//
// A separate pass over memory: in one loop with an inspection it would need too many registers on a GPU.
#pragma once

#include "sycl_kernels/base/counter.hpp"
#include "sycl_kernels/shared/layout.hpp"
#include "sycl_kernels/walk/pack_walk.hpp"

namespace syclamp::kernels {

template <streaming_tuning Tuning>
struct count_exponents {
  struct shared {
    std::uint32_t bins[exponent_histogram::size];
  };

  [[gnu::always_inline]] static void run(const work_item& item, shared& local, const std::uint64_t* addresses,
                                         const std::uint64_t* starts, const std::uint32_t* kinds, std::uint32_t tensors,
                                         exponent_histogram* histogram) {
    const tensor_table table{addresses, starts, kinds, tensors};
    const chunk_range mine = chunks_of_group(item, table);
    clear(item, local.bins);
    for (std::uint32_t chunk = mine.begin; chunk < mine.end; ++chunk) {
      for (segment piece(table, chunk); piece.exists(); piece.next()) count(item, local.bins, piece);
      const bool full = (chunk - mine.begin) % chunks_before_flush == chunks_before_flush - 1;
      if (full || chunk + 1 == mine.end) flush(item, local.bins, *histogram);
    }
  }

 private:
  static constexpr unsigned lanes = Tuning.max_counted_lanes;
  /// So many that no bin can overflow.
  static constexpr std::uint32_t chunks_before_flush = (1u << 31) / chunk_elements;

  [[gnu::always_inline]] static void count(const work_item& item, std::uint32_t* bins, const segment& piece) {
    const stream data{piece.address(), piece.type()};
    for_each_pack<lanes, Tuning.group_size>(
        item, piece, data.is_aligned(lanes), [&](auto place) __attribute__((always_inline)) {
          const auto raw = __builtin_bit_cast(pack<std::uint32_t, lanes>, data.load<lanes>(place)) & 0x7fffffffu;
#pragma unroll
          for (unsigned i = 0; i < lanes; ++i) {
            if constexpr (Tuning.group_size == 1) {
              bins[raw[i] >> 23] += raw[i] != 0;
            } else {
              if (raw[i] != 0) add_in_group(&bins[raw[i] >> 23], 1);
            }
          }
        });
  }

  [[gnu::always_inline]] static void clear(const work_item& item, std::uint32_t* bins) {
    for (std::uint32_t i = item.id; i < exponent_histogram::size; i += Tuning.group_size) bins[i] = 0;
    if constexpr (Tuning.group_size > 1) item.barrier();
  }

  [[gnu::always_inline]] static void flush(const work_item& item, std::uint32_t* bins, exponent_histogram& histogram) {
    if constexpr (Tuning.group_size > 1) item.barrier();
    for (std::uint32_t i = item.id; i < exponent_histogram::size; i += Tuning.group_size)
      add_in_device(&histogram.counts[i], bins[i]);
    clear(item, bins);
  }
};

}  // namespace syclamp::kernels
