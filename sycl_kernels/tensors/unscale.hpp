// SPDX-License-Identifier: Apache-2.0
// unscale: an inspection that also writes the unscaled elements to FP32 tensors.
//
//   unscale_chunks   many work-groups   tensors → chunk_statistics[], and out = in / scale
//
// The statistics are those of the scaled elements; `inspect_total` adds them up.
#pragma once

#include <type_traits>

#include "sycl_kernels/base/global_memory.hpp"
#include "sycl_kernels/tensors/inspect.hpp"
#include "sycl_kernels/walk/factor.hpp"

namespace syclamp::kernels {

/// What was bad among the elements that a work-item has overwritten. A whole `chunk_statistics` would take four times
/// the local memory, and fewer groups would run at a time.
struct overwritten_bad {
  std::uint32_t inf_count = 0, nan_count = 0, first_nonfinite = no_bad_element;
};

/// Leaves the unscaled elements of a piece in an FP32 tensor, unless that is absent. An Inf or NaN in a tensor that is
/// unscaled in place is counted before it is overwritten: unscaling might change it, or create others.
template <bool InPlace>
struct unscaling_piece {
  std::uint64_t address;
  factor_pair factor;
  overwritten_bad* bad;
  std::uint64_t begin;  ///< where in its tensor the chunk begins

  bool is_aligned(unsigned lanes) const { return address % (lanes * sizeof(float)) == 0; }

  template <unsigned Lanes, typename Place, typename Bits>
  [[gnu::always_inline]] void operator()(const Place& place, Bits raw, pack<float, Lanes> x) const {
    if constexpr (InPlace) {
      const auto magnitude = raw & 0x7fffffffu;
      if (__builtin_reduce_max(magnitude) >= 0x7f800000u)
        count<Lanes>(magnitude, static_cast<std::uint32_t>(place.first - begin));
    }
    if (InPlace || address != 0) place.write(in_global_memory<float>(address), factor(x));
  }

 private:
  template <unsigned Lanes>
  [[gnu::always_inline]] void count(pack<std::uint32_t, Lanes> magnitude, std::uint32_t first) const {
    const auto look_at = [&](std::uint32_t lane, std::uint32_t value) __attribute__((always_inline)) {
      bad->inf_count += value == 0x7f800000u;
      bad->nan_count += value > 0x7f800000u;
      if (value >= 0x7f800000u && first + lane < bad->first_nonfinite) bad->first_nonfinite = first + lane;
    };
    if constexpr (Lanes <= unrolled_lanes) {
#pragma unroll
      for (std::uint32_t lane = 0; lane < Lanes; ++lane) look_at(lane, magnitude[lane]);
    } else {
#pragma nounroll
      for (std::uint32_t lane = 0; lane < Lanes; ++lane) look_at(lane, magnitude[lane]);
    }
  }
};

/// The effect of an inspection that unscales.
struct unscaling {
  const std::uint64_t* addresses;
  float divisor;
  factor_pair factor;
  overwritten_bad* bad;  ///< of this work-item, in local memory

  void begin_chunk() const { *bad = {}; }

  template <typename Format, typename Add>
  [[gnu::always_inline]] void act_on(const segment& piece, Add add) const {
    const std::uint64_t address = addresses[piece.tensor()], begin = piece.first_element() - piece.offset_in_chunk();
    if constexpr (std::is_same_v<Format, format<element_type::float32>>) {  // the only type that can be in place
      if (has_overwritten(piece)) {
        add(unscaling_piece<true>{address, factor, bad, begin});
      } else {
        add(unscaling_piece<false>{address, factor, bad, begin});
      }
    } else {
      add(unscaling_piece<false>{address, factor, bad, begin});
    }
  }
  chunk_statistics counted() const {
    chunk_statistics found = nothing_found();
    found.inf_count = bad->inf_count;
    found.nan_count = bad->nan_count;
    found.first_nonfinite = bad->first_nonfinite;
    return found;
  }
  float scale() const { return divisor; }
  bool has_overwritten(const segment& piece) const { return addresses[piece.tensor()] == piece.address(); }
};

template <reduction_tuning Tuning>
struct unscale_chunks {
  using walk = chunk_walk<Tuning>;
  struct shared {
    typename walk::shared of_walk;
    overwritten_bad bad[Tuning.group_size];
  };

  [[gnu::always_inline]] static void run(const work_item& item, shared& local, const std::uint64_t* addresses,
                                         const std::uint64_t* starts, const std::uint32_t* kinds, std::uint32_t tensors,
                                         chunk_statistics* statistics, const std::uint64_t* out_addresses,
                                         const float* scale_address, float scale_value) {
    const float scale = scalar_argument{scale_address, scale_value}.get();
    walk::run(item, local.of_walk, {addresses, starts, kinds, tensors}, statistics,
              unscaling{out_addresses, scale, factor_pair(scale, factor_kind::divide), &local.bad[item.id]});
  }
};

}  // namespace syclamp::kernels
