// SPDX-License-Identifier: Apache-2.0
// unscale: an inspection that writes what it has read, unscaled, to FP32 tensors.
//
//   unscale_chunks   many work-groups   tensors → chunk_findings[], and out = in / scale
//
// What was found is about the elements as they are, scaled; `inspect_total` adds it up.
#pragma once

#include "factor.hpp"
#include "inspect.hpp"

namespace syclamp::kernels {

/// Leaves the unscaled elements of a piece in an FP32 tensor, unless that is absent.
struct unscaling_piece {
  std::uint64_t address;
  factor_pair factor;

  bool is_aligned(unsigned lanes) const { return address % (lanes * sizeof(float)) == 0; }
  template <unsigned Lanes, typename Place>
  [[gnu::always_inline]] void operator()(const Place& place, pack<float, Lanes> x) const {
    if (address != 0) place.write(reinterpret_cast<float*>(address), factor(x));
  }
};

struct unscaling {
  const std::uint64_t* addresses;
  factor_pair factor;

  unscaling_piece of(const segment& piece) const { return {addresses[piece.tensor()], factor}; }
};

template <unsigned PackBytes, unsigned MostLanes, unsigned GroupSize>
struct unscale_chunks {
  using walk = chunk_walk<PackBytes, MostLanes, GroupSize>;
  using shared = typename walk::shared;

  [[gnu::always_inline]] static void run(const work_item& item, shared& local, const std::uint64_t* addresses,
                                         const std::uint64_t* starts, const std::uint32_t* kinds, std::uint32_t tensors,
                                         chunk_findings* findings, const std::uint64_t* out_addresses,
                                         const float* scale) {
    walk::run(item, local, {addresses, starts, kinds, tensors}, findings,
              unscaling{out_addresses, factor_pair(*scale, factor_kind::divide)});
  }
};

}  // namespace syclamp::kernels
