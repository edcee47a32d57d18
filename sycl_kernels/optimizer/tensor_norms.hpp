// SPDX-License-Identifier: Apache-2.0
// Norms of each tensor, for optimizers whose step depends on them: two kernels before the one that applies.
//
//   <rule>_pieces   many work-groups   gradients, weights, moments → piece_norms[], moments
//   <rule>_norms    many work-groups   piece_norms[] → tensor_norms[]
//
// The piece of tensor t in chunk c has the record number c + t, as in inspect_tensors.hpp. Sums are formed in a fixed
// order: blocks of packs, lanes, work-items, pieces.
#pragma once

#include <type_traits>

#include "sycl_kernels/optimizer/apply.hpp"
#include "sycl_kernels/tensors/statistics.hpp"

namespace syclamp::kernels {

inline piece_norms merge(piece_norms a, const piece_norms& b) { return {a.weights + b.weights, a.updates + b.updates}; }

/// Two sums of squares over the packs of a piece that one work-item takes. Sums are per lane and in blocks. If a
/// work-item takes at most one block, as on GPUs, the lanes are summed at once, which saves registers.
template <apply_tuning Tuning>
class square_sums {
  static constexpr unsigned max_lanes = Tuning.max_lanes;

 public:
  [[gnu::always_inline]] void add(pack<float, max_lanes> a, pack<float, max_lanes> b) {
    if constexpr (has_blocks) {
      block_a_ = __builtin_elementwise_fma(a, a, block_a_);
      block_b_ = __builtin_elementwise_fma(b, b, block_b_);
      if (++packs_ % block == 0) end_block();
    } else {
      a_ += sum_lanes<float, max_lanes>(a * a);
      b_ += sum_lanes<float, max_lanes>(b * b);
    }
  }

  [[gnu::always_inline]] piece_norms total() {
    if constexpr (has_blocks) {
      end_block();
      return {sum_lanes<float, max_lanes>(a_), sum_lanes<float, max_lanes>(b_)};
    } else {
      return {a_, b_};
    }
  }

 private:
  static constexpr std::uint32_t block = Tuning.packs_per_block;
  static constexpr bool has_blocks = chunk_elements / max_lanes / Tuning.group_size > block;
  using sum = std::conditional_t<has_blocks, pack<float, max_lanes>, float>;

  [[gnu::always_inline]] void end_block() {
    a_ += block_a_;
    b_ += block_b_;
    block_a_ = block_b_ = 0;
  }

  sum a_ = 0, b_ = 0, block_a_ = 0, block_b_ = 0;
  std::uint32_t packs_ = 0;
};

/// The first part of a rule: `part(g, w, state)` changes the moments, if there are any, and returns the value whose
/// norm is summed in place of the update's.
template <typename Part, apply_tuning Tuning>
struct prepare_list {
  struct shared {
    piece_norms norms[Tuning.group_size];
  };

  [[gnu::always_inline]] static void run(const work_item& item, shared& local, const std::uint64_t* addresses,
                                         const std::uint64_t* starts, const std::uint32_t* kinds, std::uint32_t tensors,
                                         const parameter_slot* slots, const parameter_group* groups,
                                         const optimizer_memory* memory, const step_decision* decisions,
                                         std::uint32_t stride, piece_norms* pieces) {
    const tensor_table table{addresses, starts, kinds, tensors};
    for (piece_walk piece(table, chunks_of_group(item, table)); piece.exists(); piece.next()) {
      const parameter_group& group = groups[piece.group()];
      const step_decision decision = decision_on(decisions, stride, piece.group(), group.hyper);
      local.norms[item.id] = {0.0f, 0.0f};
      if (decision.apply != 0 && is_among<gradient_types>(piece.type()))
        local.norms[item.id] = prepare_piece(item, piece, slots[piece.tensor()], group, *memory, decision);
      const piece_norms all = reduce_over_group<Tuning.group_size>(item, local.norms);
      if (item.id == 0) pieces[std::uint64_t{piece.chunk()} + piece.tensor()] = all;
    }
  }

 private:
  static constexpr unsigned max_lanes = Tuning.max_lanes, group_size = Tuning.group_size;
  using floats = pack<float, max_lanes>;

  /// The part of a rule for one pack: changes the moments, and passes the weights and the update to `add`.
  template <typename Gradient, typename Weights, typename States, typename Noise>
  struct pack_part {
    Gradient gradient;
    Weights weights;
    States states;
    Noise noise;
    const Part& part;
    const step_decision& decision;

    template <unsigned Lanes, typename RawGradient, typename RawWeights>
    struct loaded {
      RawGradient g;
      RawWeights w;
      pack<float, Lanes> state[Part::states + 1];
    };

    static constexpr unsigned in_flight() {
      return packs_in_flight(Tuning.bytes_in_flight,
                             max_lanes * (Gradient::bytes + (Part::states > 0 ? 4 * (Part::states + 1) : 0)));
    }

    template <typename Place>
    [[gnu::always_inline]] auto load(const Place& place) const {
      constexpr unsigned lanes = Place::lanes;
      loaded<lanes, decltype(gradient.template read<lanes>(place)), decltype(weights.template read<lanes>(place))> all;
      if constexpr (Part::states > 0) {
        all.w = weights.template read<lanes>(place);
        states.template load<lanes>(place, all.state);
      }
      all.g = gradient.template read<lanes>(place);
      return all;
    }

    template <typename Place, typename Loaded, typename Add>
    [[gnu::always_inline]] void use(const Place& place, Loaded& all, Add add) const {
      constexpr unsigned lanes = Place::lanes;
      pack<float, lanes> w = 0;
      if constexpr (Part::states > 0) w = Weights::template join<lanes>(all.w);
      const auto update = part(decision.gradient(Gradient::template widen<lanes>(all.g)), w, all.state);
      add(w, update);
      if constexpr (Part::states > 0) states.template store<lanes>(place, all.state, noise.template at<lanes>(place));
    }

    template <typename Place, typename Add>
    [[gnu::always_inline]] void operator()(const Place& place, Add add) const {
      auto all = load(place);
      use(place, all, add);
    }
  };

  [[gnu::always_inline]] static piece_norms prepare_piece(const work_item& item, const segment& piece,
                                                          const parameter_slot& slot, const parameter_group& group,
                                                          const optimizer_memory& memory,
                                                          const step_decision& decision) {
    const Part part{group_step(group)};
    const any_gradient gradient{piece.address(), piece.type()};
    const tensor_noise noise{memory.stochastic != 0, random_stream(memory.seed, group.applied, piece.tensor())};
    const bool aligned = is_aligned<Part::states, max_lanes>(gradient, slot);
    square_sums<Tuning> sums;
    const auto each = [&](auto from, auto weights, auto states, auto random) __attribute__((always_inline)) {
      return pack_part<decltype(from), decltype(weights), decltype(states), decltype(random)>{
          from, weights, states, random, part, decision};
    };
    const auto any = each(gradient, any_weights(slot), any_states<Part::states>{slot}, noise);
    const auto add = [&](floats w, floats update) __attribute__((always_inline)) { sums.add(w, update); };
    if constexpr (group_size == 1) {
      const bool is_done =
          with_known_storage<Part::states>(gradient, slot, [&](auto... known) __attribute__((always_inline)) {
            const auto entry = each(known...);
            for_each_pack<max_lanes, group_size>(item, piece, false,
                                                 [&](auto place) __attribute__((always_inline)) { entry(place, add); });
          });
      if (!is_done)
        for_each_pack<max_lanes, group_size>(item, piece, false,
                                             [&](auto place) __attribute__((always_inline)) { any(place, add); });
    } else {
      bool is_done = false;
      if (aligned)
        is_done = with_known_storage<Part::states>(gradient, slot, [&](auto... known) __attribute__((always_inline)) {
          const auto entry = each(known...);
          for_each_streamed_pack<max_lanes, group_size, entry.in_flight()>(
              item, piece, [&](auto place) __attribute__((always_inline)) { return entry.load(place); },
              [&](auto place, auto loaded) __attribute__((always_inline)) { entry.use(place, loaded, add); });
        });
      floats weights = 0, updates = 0;  // as if they were packs, so that the sums do not depend on alignment
      for_each_other_lane<max_lanes, group_size>(
          item, piece, is_done,
          [&](auto place, std::uint32_t lane) __attribute__((always_inline)) {
            any(place, [&](auto w, auto update) __attribute__((always_inline)) {
#pragma unroll
              for (std::uint32_t i = 0; i < max_lanes; ++i) {
                weights[i] = i == lane ? w[0] : weights[i];
                updates[i] = i == lane ? update[0] : updates[i];
              }
            });
          },
          [&]() __attribute__((always_inline)) {
            add(weights, updates);
            weights = updates = 0;
          });
    }
    return sums.total();
  }
};

/// `Rule::finish(now, sums, norms)` computes the tensor's `norms` from its sums.
template <typename Rule, apply_tuning Tuning>
struct finish_norms {
  struct sums {
    exact_sum weights, updates;
  };
  friend sums merge(sums a, const sums& b) {
    a.weights.add(b.weights);
    a.updates.add(b.updates);
    return a;
  }
  struct shared {
    sums all[Tuning.group_size];
  };

  [[gnu::always_inline]] static void run(const work_item& item, shared& local, const std::uint64_t* addresses,
                                         const std::uint64_t* starts, const std::uint32_t* kinds, std::uint32_t tensors,
                                         const parameter_group* groups, const step_decision* decisions,
                                         std::uint32_t stride, const piece_norms* pieces, tensor_norms* norms) {
    for (std::uint64_t tensor = item.group; tensor < tensors; tensor += item.groups) {
      const std::uint64_t begin = starts[tensor], end = starts[tensor + 1] - tensor_kind::padding(kinds[tensor]);
      const bool exists = addresses[tensor] != 0 && begin != end;
      const std::uint64_t first = begin / chunk_elements, last = exists ? (end - 1) / chunk_elements + 1 : first;
      sums mine;
      for (std::uint64_t chunk = first + item.id; chunk < last; chunk += Tuning.group_size) {
        const piece_norms& piece = pieces[chunk + tensor];
        mine = merge(mine, sums{{piece.weights, 0}, {piece.updates, 0}});
      }
      const sums all = reduce_over_group<Tuning.group_size>(item, local.all, mine);
      const std::uint32_t group = tensor_kind::group(kinds[tensor]);
      if (item.id == 0 && exists && decisions[std::uint64_t{group} * stride].apply != 0)
        Rule::finish(group_step(groups[group]), piece_norms{all.weights.value(), all.updates.value()}, norms[tensor]);
    }
  }
};

}  // namespace syclamp::kernels
