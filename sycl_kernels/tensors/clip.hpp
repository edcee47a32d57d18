// SPDX-License-Identifier: Apache-2.0
// clip: from the norms of scaled gradients to the factors that bring them below a limit, and clipping by value.
// Results stay on the device for the kernels that apply them.
//
//   clip_coefficients   one work-item per norm   inspection[] → clip_result[]
//   clamp_list          many work-groups     FP32 tensors, in place
#pragma once

#include "sycl_kernels/shared/layout.hpp"
#include "sycl_kernels/tensors/norm.hpp"
#include "sycl_kernels/walk/pack_walk.hpp"

namespace syclamp::kernels {

template <scalar_tuning Tuning>
struct clip_coefficients {
  struct shared {};

  [[gnu::always_inline]] static void run(const work_item& item, shared&, const inspection* result, std::uint32_t count,
                                         norm_kind kind, const float* max_norm, float max_norm_value,
                                         clip_result* results) {
    const std::uint64_t i = item.global_id<Tuning.group_size>();
    if (i >= count) return;
    const float norm = unscaled_norm(result[i], kind);
    results[i].norm = norm;
    results[i].coefficient = clip_factor(norm, scalar_argument{max_norm, max_norm_value}.get());
  }
};

template <streaming_tuning Tuning>
struct clamp_list {
  struct shared {};

  [[gnu::always_inline]] static void run(const work_item& item, shared&, const std::uint64_t* addresses,
                                         const std::uint64_t* starts, const std::uint32_t* kinds, std::uint32_t tensors,
                                         const float* limit_address, float limit_value) {
    constexpr unsigned lanes = Tuning.max_lanes;
    const float limit = scalar_argument{limit_address, limit_value}.get();
    if (!is_limit(limit)) return;
    const pack<float, lanes> highest = limit, lowest = -limit;
    const tensor_table table{addresses, starts, kinds, tensors};
    for_each_piece(item, table, [&](const segment& piece) __attribute__((always_inline)) {
      const typed_stream<format<element_type::float32>> data{piece.address()};
      const bool aligned = piece.is_aligned(lanes * sizeof(float));
      for_each_pack<lanes, Tuning.group_size>(item, piece, aligned, [&](auto place) __attribute__((always_inline)) {
        const pack<float, lanes> x = data.load<lanes>(place);
        // By comparisons, which a NaN survives; minimum and maximum would hide it.
        data.store<lanes>(place, x > highest ? highest : x < lowest ? lowest : x);
      });
    });
  }
};

}  // namespace syclamp::kernels
