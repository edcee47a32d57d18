// SPDX-License-Identifier: Apache-2.0
// apply: a step of an optimizer whose maths, a rule, is its parameter (docs/adding-an-optimizer.md).
//
//   <rule>_step   many work-groups   gradients, weights, moments → weights, copy of the weights, moments
//
// Everything between the loads and the stores happens in registers: unscale and clip by the decision, the rule,
// rounding to the type of the copy. If the decision is to skip, nothing is written. Gradients never are.
//
// The number of the step and the learning rate are the device's own. Every work-group reads the number while it works;
// the last one to be done, which it knows by a ticket, counts the step.
#pragma once

#include "sycl_kernels/base/counter.hpp"
#include "sycl_kernels/base/global_memory.hpp"
#include "sycl_kernels/optimizer/learning_rate.hpp"
#include "sycl_kernels/optimizer/weights.hpp"
#include "sycl_kernels/walk/pack_walk.hpp"

namespace syclamp::kernels {

/// The decision on a group: its own, or the same for all if `stride` is 0. For `maximize`, the sign of the gradients is
/// changed.
inline step_decision decision_on(const step_decision* decisions, std::uint32_t stride, std::uint32_t group,
                                 const hyper_parameters& hyper) {
  step_decision decision = decisions[std::uint64_t{group} * stride];
  if (hyper.maximize != 0) decision.clip = -decision.clip;
  return decision;
}

/// Publishes progress to the host, which may be reading. Each store releases the stores before it.
inline void publish(progress_slot* slot, std::uint64_t finished, std::uint64_t applied, std::uint32_t is_applied) {
  const auto store = [](std::uint32_t* word, std::uint32_t value) {
    __scoped_atomic_store_n(word, value, __ATOMIC_RELEASE, __MEMORY_SCOPE_SYSTEM);
  };
  const progress_number of_finished = split_number(finished), of_applied = split_number(applied);
  store(&slot->begin, of_finished.lower);
  store(&slot->applied.lower, of_applied.lower);
  store(&slot->applied.upper, of_applied.upper);
  store(&slot->finished.lower, of_finished.lower);
  store(&slot->finished.upper, of_finished.upper);
  store(&slot->last_was_applied, is_applied);
  store(&slot->end, of_finished.lower);
}

/// Counts the step for the groups that have taken it, when all work-groups are done. Called by all work-items.
template <unsigned GroupSize>
[[gnu::always_inline]] inline void count_step(const work_item& item, optimizer_memory* memory, parameter_group* groups,
                                              const step_decision* decisions, std::uint32_t stride) {
  if constexpr (GroupSize > 1) item.barrier();
  if (item.id == 0 && take_ticket(&memory->tickets) + 1 == item.groups) {
    memory->tickets = 0;
    const std::uint64_t finished = ++memory->finished;
    auto* slots = in_global_memory<progress_slot>(memory->progress);
    for (std::uint32_t i = 0; i < memory->groups; ++i) {
      const std::uint32_t is_applied = decisions[std::uint64_t{i} * stride].apply != 0 ? 1 : 0;
      groups[i].applied += is_applied;
      publish(&slots[i], finished, groups[i].applied, is_applied);
    }
  }
}

/// True if all streams are aligned to packs, so that a GPU moves whole ones.
template <unsigned States, unsigned Lanes>
[[gnu::always_inline]] inline bool is_aligned(const any_gradient& gradient, const parameter_slot& slot) {
  const auto fits = [](std::uint64_t address, std::uint32_t size) { return address % (Lanes * size) == 0; };
  bool all = fits(gradient.address, bytes_per_element(gradient.type)) &&
             fits(slot.model, bytes_per_element(slot.model_type)) &&
             fits(slot.weights, slot.storage == weight_storage::split ? 2 : 4);
  for (unsigned i = 0; i < States; ++i) all = all && fits(slot.states[i], bytes_per_element(slot.state_type));
  return all;
}

/// A rule is made from a `group_step` (and from the norms of the tensor, if it is one that has passes before this one)
/// and called with packs of gradients, weights and moments: `rule(g, w, state)` changes w and state[0] to
/// state[Rule::states - 1]. A rule may declare that it does not read gradients or write states (`reads_gradients`,
/// `writes_states`).
template <typename Rule, apply_tuning Tuning>
struct apply_list {
  struct shared {};

  [[gnu::always_inline]] static void run(const work_item& item, shared&, const std::uint64_t* addresses,
                                         const std::uint64_t* starts, const std::uint32_t* kinds, std::uint32_t tensors,
                                         const parameter_slot* slots, parameter_group* groups, optimizer_memory* memory,
                                         const step_decision* decisions, std::uint32_t stride,
                                         const tensor_norms* norms) {
    const tensor_table table{addresses, starts, kinds, tensors};
    for_each_piece(item, table, [&](const segment& piece) __attribute__((always_inline)) {
      const parameter_group& group = groups[piece.group()];
      const step_decision decision = decision_on(decisions, stride, piece.group(), group.hyper);
      if (decision.apply == 0 || !is_among<gradient_types>(piece.type())) {
        // A skipped step changes no bit.
      } else if constexpr (requires { Rule(group_step(group), norms[0]); }) {
        apply_piece(item, piece, slots[piece.tensor()], group, *memory, decision,
                    Rule(group_step(group), norms[piece.tensor()]));
      } else {
        apply_piece(item, piece, slots[piece.tensor()], group, *memory, decision, Rule(group_step(group)));
      }
    });
    count_step<group_size>(item, memory, groups, decisions, stride);
  }

 private:
  static constexpr unsigned max_lanes = Tuning.max_lanes, group_size = Tuning.group_size;

  static constexpr bool reads_gradients() {
    if constexpr (requires { Rule::reads_gradients; }) return Rule::reads_gradients;
    return true;
  }
  static constexpr bool writes_states() {
    if constexpr (requires { Rule::writes_states; }) return Rule::writes_states;
    return true;
  }

  /// The step of one pack.
  template <typename Gradient, typename Weights, typename States, typename Noise>
  struct pack_step {
    Gradient gradient;
    Weights weights;
    States states;
    Noise noise;
    const Rule& rule;
    const step_decision& decision;

    template <unsigned Lanes, typename RawGradient, typename RawWeights>
    struct loaded {
      RawGradient g;
      RawWeights w;
      pack<float, Lanes> state[Rule::states + 1];  // C++ has no arrays of length 0
    };

    static constexpr unsigned in_flight() {
      return packs_in_flight(Tuning.bytes_in_flight,
                             max_lanes * (4 * (Rule::states + 1) + (reads_gradients() ? Gradient::bytes : 0)));
    }

    template <typename Place>
    [[gnu::always_inline]] auto load(const Place& place) const {
      constexpr unsigned lanes = Place::lanes;
      loaded<lanes, decltype(gradient.template read<lanes>(place)), decltype(weights.template read<lanes>(place))> all;
      all.w = weights.template read<lanes>(place);
      states.template load<lanes>(place, all.state);
      if constexpr (reads_gradients()) all.g = gradient.template read<lanes>(place);
      return all;
    }

    template <typename Place, typename Loaded>
    [[gnu::always_inline]] void use(const Place& place, Loaded& all) const {
      constexpr unsigned lanes = Place::lanes;
      pack<float, lanes> g = 0, w = Weights::template join<lanes>(all.w);
      if constexpr (reads_gradients()) g = decision.gradient(Gradient::template widen<lanes>(all.g));
      rule(g, w, all.state);
      const auto bits = noise.template at<lanes>(place);
      if constexpr (writes_states()) states.template store<lanes>(place, all.state, bits);
      weights.template store<lanes>(place, w, bits);
    }

    template <typename Place>
    [[gnu::always_inline]] void operator()(const Place& place) const {
      auto all = load(place);
      use(place, all);
    }
  };

  [[gnu::always_inline]] static void apply_piece(const work_item& item, const segment& piece,
                                                 const parameter_slot& slot, const parameter_group& group,
                                                 const optimizer_memory& memory, const step_decision& decision,
                                                 const Rule& rule) {
    const any_gradient gradient{piece.address(), piece.type()};
    const tensor_noise noise{memory.stochastic != 0, random_stream(memory.seed, group.applied, piece.tensor())};
    const bool aligned = is_aligned<Rule::states, max_lanes>(gradient, slot);
    const auto each = [&](auto from, auto weights, auto states, auto random) __attribute__((always_inline)) {
      return pack_step<decltype(from), decltype(weights), decltype(states), decltype(random)>{
          from, weights, states, random, rule, decision};
    };
    const auto any = each(gradient, any_weights(slot), any_states<Rule::states>{slot}, noise);
    if constexpr (group_size == 1) {
      const bool is_done =
          with_known_storage<Rule::states>(gradient, slot, [&](auto... known) __attribute__((always_inline)) {
            for_each_pack<max_lanes, group_size>(item, piece, false, each(known...));
          });
      if (!is_done) for_each_pack<max_lanes, group_size>(item, piece, false, any);
    } else {
      if (aligned) {
        const bool is_done =
            with_known_storage<Rule::states>(gradient, slot, [&](auto... known) __attribute__((always_inline)) {
              const auto step = each(known...);
              for_each_streamed_pack<max_lanes, group_size, step.in_flight()>(
                  item, piece, [&](auto place) __attribute__((always_inline)) { return step.load(place); },
                  [&](auto place, auto loaded) __attribute__((always_inline)) { step.use(place, loaded); });
            });
        if (!is_done) for_each_half_pack<max_lanes, group_size>(item, piece, any);
      }
      for_each_other_element<max_lanes, group_size>(item, piece, aligned, any);
    }
  }
};

}  // namespace syclamp::kernels
