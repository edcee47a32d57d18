// SPDX-License-Identifier: Apache-2.0
#include "syclamp/loss_scaler.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "engine/device_memory.hpp"
#include "engine/recordable_state.hpp"
#include "engine/recording.hpp"
#include "launch/kernel_library.hpp"
#include "launch/operations.hpp"
#include "scaler/ledger_ring.hpp"
#include "scaler/scaling_rule.hpp"
#include "scaler/snapshot_check.hpp"
#include "syclamp/error.hpp"
#include "syclamp/gradients.hpp"
#include "tensors/convert.hpp"
#include "tensors/inspector_state.hpp"
#include "tensors/list_checks.hpp"
#include "tensors/unscaled_maker.hpp"

namespace syclamp {
namespace {

/// What has happened to a list of gradients since the last `update`.
enum class stage { fresh, unscaled, stepped };

/// What the scaler keeps for a list of gradients.
struct known_list {
  inspector look;
  std::shared_ptr<const device_array<step_decision>> decision_memory;  ///< shared with those who clip by hand
  std::uint32_t index;                                                 ///< in order of first use
  stage reached = stage::fresh;
  std::uint64_t unscaled_to = 0;  ///< the list that holds them unscaled, if they are
  bool is_in_open_step = false;   ///< the record of the step may come to name its tensors
  bool is_recorded = false;       ///< a graph may use it at any time

  step_decision* decisions() const { return decision_memory->get(); }
};

/// The rule on its way to the device: from one of two host buffers in turn, so that the copy before may still run.
class rule_upload {
 public:
  explicit rule_upload(const engine& on) {
    for (slot& one : slots_) one.rule = allocate_on_host<kernels::scaling_rule>(on.queue(), 1);
  }

  void send(const engine& on, const scaling_policy& policy, kernels::scaler_memory* to) {
    slot& one = slots_[next_];
    next_ = (next_ + 1) % slots_.size();
    one.done.wait();
    *one.rule.get() = rule_of(policy);
    one.done = on.queue().memcpy(&to->rule, one.rule.get(), sizeof(kernels::scaling_rule));
  }

 private:
  struct slot {
    device_array<kernels::scaling_rule> rule;
    sycl::event done;
  };
  std::array<slot, 2> slots_;
  std::size_t next_ = 0;
};

scaler_options checked(scaler_options options, const scaling_policy& policy) {
  constexpr std::uint32_t most = 1u << 20;
  if (options.scales < 1 || options.scales > most)
    throw invalid_argument(fmt::format("scaler_options: scales is {}; it must be 1 to {}", options.scales, most));
  if (options.ledger < 1 || options.ledger > most / options.scales)
    throw invalid_argument(fmt::format("scaler_options: ledger is {}; it must be 1 to {} with {} scales",
                                       options.ledger, most / options.scales, options.scales));
  if (options.consensus && (policy.grow == growth_kind::headroom || policy.grow == growth_kind::log_max))
    throw invalid_argument(
        "scaler_options: a consensus adds up, so ranks do not agree on the largest gradient, by which this policy "
        "grows; use growth_kind::interval");
  return options;
}

}  // namespace

struct loss_scaler::state_type {
  state_type(engine on_engine, const scaling_policy& how, const scaler_options& with)
      : on(std::move(on_engine)),
        policy((validate(how), how)),
        options(checked(with, how)),
        memory(allocate_on_device<kernels::scaler_memory>(on.queue(), 1)),
        states(allocate_on_device<scale_state>(on.queue(), options.scales)),
        open_steps(allocate_on_device<kernels::open_step>(on.queue(), options.scales)),
        always(initial_decisions()),
        ring(on, options.ledger, options.scales),
        upload(on) {
    if (options.consensus) flags_of_ranks = allocate_on_device<kernels::rank_flags>(on.queue(), options.scales);
    on.kernels().prepare(launch::update_scale);
    on.kernels().prepare(launch::convert_list);
    prepare_inspection();
    restart(scaler_snapshot::fresh(policy, options.scales));
  }

  /// What every step begins with. (What else a simple scaler may come to need, `unscale` and the inspection without a
  /// decision of joint steps and windows, is compiled when it does.)
  void prepare_inspection() const {
    if (is_simple()) return on.kernels().prepare(launch::inspect_step);
    if (options.scales == 1) return on.kernels().prepare(launch::inspect_chunks);
    on.kernels().prepare(launch::inspect_pieces);
  }

  bool is_enabled() const { return policy.mode != scaling_mode::disabled; }
  std::uint32_t stride() const { return options.scales == 1 ? 0 : scale_stride(); }
  const float* scale() const { return &states.get()->scale; }
  factor scale_factor(kernels::factor_kind kind) const {
    const bool one = options.scales == 1;
    return {scale(), kind, one ? kernels::factor_per::list : kernels::factor_per::group, one ? 1 : scale_stride()};
  }

  /// Puts everything on the device back to a snapshot.
  void restart(const scaler_snapshot& from) {
    const std::vector<kernels::open_step> empty(options.scales, kernels::open_step{});
    kernels::scaler_memory shared{};
    shared.rule = rule_of(from.policy);
    sycl::queue& queue = on.queue();
    queue.memcpy(memory.get(), &shared, sizeof shared);
    queue.memcpy(states.get(), from.scales.data(), from.scales.size() * sizeof(scale_state));
    queue.memcpy(open_steps.get(), empty.data(), empty.size() * sizeof(kernels::open_step));
    on.wait();
  }

  // --- lists of gradients ---

  /// One a scale: apply everything as it is.
  device_array<step_decision> initial_decisions() const {
    auto decisions = allocate_on_device<step_decision>(on.queue(), options.scales);
    const std::vector<step_decision> initial(options.scales);
    on.queue().memcpy(decisions.get(), initial.data(), initial.size() * sizeof(step_decision));
    on.wait();
    return decisions;
  }

  known_list& known(const char* call, const tensor_list& gradients) {
    const std::uint64_t id = gradients.prepared().id;
    if (const auto found = lists.find(id); found != lists.end()) {
      found->second.is_recorded = found->second.is_recorded || is_recording(on.queue());
      return found->second;
    }
    check_queue(call, gradients, on);
    need_scales_for(gradients);
    auto decisions = std::make_shared<const device_array<step_decision>>(initial_decisions());
    inspector look = inspector_access::for_scales(gradients, options.scales);
    release_lists();
    const std::lock_guard lock(names_mutex);
    named_lists.emplace(next_index, gradients);
    return lists.emplace(id, known_list{std::move(look), std::move(decisions), next_index++}).first->second;
  }

  /// Frees what is kept for lists that nobody else holds. Names that the ledger still tells are kept.
  void release_lists() {
    constexpr long own_handles = 2;                 // the inspector's and that in named_lists
    std::map<std::uint32_t, std::uint64_t> unused;  // index → number of the list
    for (const auto& [id, list] : lists)
      if (list.reached == stage::fresh && !list.is_in_open_step && !list.is_recorded &&
          list.look.list().use_count() == own_handles)
        unused.emplace(list.index, id);
    if (unused.empty()) return;
    on.wait();  // so that the ledger has all records in which they are named
    const auto slots = ring.read();
    const std::lock_guard lock(names_mutex);
    if (!slots.empty() && slots.front().number > ring.capacity())
      kept_names.erase(kept_names.begin(), kept_names.lower_bound(slots.front().number - ring.capacity()));
    for (const auto& slot : slots)
      if (const step_record& record = slot.record;
          record.first_bad_tensor != no_element && unused.contains(record.first_bad_list))
        kept_names.try_emplace(slot.number, named_lists.at(record.first_bad_list).name(record.first_bad_tensor));
    for (const auto& [index, id] : unused) {
      lists.erase(id);
      named_lists.erase(index);
    }
  }

  void need_scales_for(const tensor_list& list) const {
    if (options.scales > 1 && list.groups() > options.scales)
      throw invalid_argument(
          fmt::format("the tensors are of {} groups, but the scaler has {} scales; make it with as many", list.groups(),
                      options.scales));
  }

  void need_scaled(const char* call) const {
    if (!is_scaled)
      throw misuse_error(
          fmt::format("{}: nothing was scaled since the last update(), so these gradients are unscaled, or were dealt "
                      "with already; "
                      "call scale(loss) before the backward pass, or scaled_by_caller() if your own kernel multiplies",
                      call));
  }

  void need_fresh(const char* call, const known_list& list) const {
    if (list.reached == stage::stepped)
      throw misuse_error(fmt::format(
          "{}: these gradients were dealt with already, by step() or inspect(); call update() first", call));
  }

  /// For calls to which unscaled gradients are no use.
  void need_untouched(const char* call, const known_list& list) const {
    need_fresh(call, list);
    if (list.reached == stage::unscaled)
      throw misuse_error(
          fmt::format("{}: these gradients are unscaled already; call step(), then update(), first", call));
  }

  /// What `unscale` has left is what the optimizer will read.
  void need_own_shadow(const optimizer& one, const known_list& list) const {
    if (list.reached == stage::unscaled && list.unscaled_to != one.unscaled_gradients().prepared().id + 1)
      throw misuse_error(
          "step: these gradients were unscaled to another list than the optimizer's; call unscale(optimizer)");
  }

  void need_no_clipping(const known_list& list, const float* max_norm) const {
    if (list.reached == stage::unscaled && max_norm != nullptr)
      throw misuse_error(
          "step: these gradients are unscaled already; give max_norm to unscale(), or clip them by hand");
  }

  /// Sums are unscaled: calls that divide by the scale would do so twice.
  /// \param apart  a list that is known not to overlap them
  void need_no_sums(const char* call, const tensor_list& list, const tensor_list* apart = nullptr) const {
    for (const tensor_list& sum : sums)
      if (sum.use_count() > 1 && (apart == nullptr || sum.prepared().id != apart->prepared().id))
        if (shares_memory(list, sum))
          throw misuse_error(fmt::format(
              "{}: these tensors are the sums of an open accumulation window, which are unscaled already; call "
              "step_accumulated(optimizer), which applies their mean and closes the window",
              call));
  }

  void add_sum(const tensor_list& sum) {
    const auto is_same = [&](const tensor_list& one) { return one.prepared().id == sum.prepared().id; };
    if (std::any_of(sums.begin(), sums.end(), is_same)) return;
    std::erase_if(sums, [](const tensor_list& one) { return one.use_count() == 1; });  // nobody else holds them
    sums.push_back(sum);
  }

  static bool shares_memory(const tensor_list& one, const tensor_list& other) {
    return one.prepared().id == other.prepared().id || shared_memory_of(one, other).has_value();
  }

  void forget_stages() {
    is_scaled = is_decided = false;
    uninspected = 0;
    for (auto& [id, list] : lists) {
      list.reached = stage::fresh;
      list.unscaled_to = 0;
      list.is_in_open_step = false;
    }
  }

  /// How far everything has come, to be put back.
  std::function<void()> copy_of_stages() {
    std::map<std::uint64_t, std::tuple<stage, std::uint64_t, bool, bool>> of_lists;
    for (const auto& [id, list] : lists)
      of_lists.emplace(id, std::tuple(list.reached, list.unscaled_to, list.is_in_open_step, list.is_recorded));
    return [this, of_lists, scaled = is_scaled, decided = is_decided, open = is_window_open, open_sums = sums,
            looked_at_nothing = uninspected] {
      for (auto& [id, list] : lists)
        if (const auto then = of_lists.find(id); then != of_lists.end())
          std::tie(list.reached, list.unscaled_to, list.is_in_open_step, list.is_recorded) = then->second;
      is_scaled = scaled;
      is_decided = decided;
      is_window_open = open;
      sums = open_sums;
      uninspected = looked_at_nothing;
    };
  }

  // --- deciding ---

  const inspection* seen(const known_list& list) const {
    return options.scales == 1 ? list.look.device_result() : list.look.device_groups();
  }

  /// The one kernel that both adds up what was found in chunks and decides it.
  sycl::event add_up_and_decide(known_list& list, const float* max_norm, std::uint32_t how) {
    const auto& inside = inspector_access::of(list.look);
    const auto& table = inside.list.prepared();
    return on.kernels().submit(on.queue(), launch::inspect_and_decide, 1, inside.statistics.get(), table.starts,
                               table.tensors, inside.result.get(), memory.get(), states.get(), open_steps.get(),
                               max_norm, how, list.index, list.decisions());
  }

  /// Inspects and decides, in one kernel if there is anything to be seen.
  sycl::event inspect_step(known_list& list, const float* max_norm, std::uint32_t how) {
    const auto& inside = inspector_access::of(list.look);
    const auto& table = inside.list.prepared();
    const auto groups = on.kernels().groups_for(launch::inspect_step, table.chunks);
    if (groups == 0) return add_up_and_decide(list, max_norm, how);
    return on.kernels().submit(on.queue(), launch::inspect_step, groups, table.addresses, table.starts, table.kinds,
                               table.tensors, inside.statistics.get(), inside.result.get(), memory.get(), states.get(),
                               open_steps.get(), max_norm, how, list.index, list.decisions());
  }

  /// Lets all ranks, if there are several, know what this one has found.
  const kernels::rank_flags* gather_ranks(known_list& list, const float* max_norm, bool jointly) {
    if (!options.consensus) return nullptr;
    on.kernels().submit_items(on.queue(), launch::fill_rank_flags, options.scales, seen(list), memory.get(),
                              options.scales, max_norm, jointly, flags_of_ranks.get());
    options.consensus(on.queue(), reinterpret_cast<float*>(flags_of_ranks.get()),
                      std::size_t{options.scales} * kernels::rank_flag_count);
    return flags_of_ranks.get();
  }

  /// Decides what an inspection has found.
  sycl::event decide(known_list& list, const float* max_norm, std::uint32_t how) {
    const kernels::rank_flags* ranks = gather_ranks(list, max_norm, (how & kernels::decide_jointly) != 0);
    return on.kernels().submit(on.queue(), launch::decide_gradients, 1, seen(list), ranks, memory.get(), states.get(),
                               open_steps.get(), options.scales, max_norm, how, list.index, list.decisions());
  }

  /// Lets the optimizer check its own numbers on the device; what it finds is seen by those who decide after that.
  bool check_numbers(optimizer& one) const { return one.check_numbers(&memory.get()->invalid_numbers); }

  /// The same for gradients that were decided before.
  void refuse_invalid(const known_list& list) const {
    on.kernels().submit(on.queue(), launch::check_limits, 1, nullptr, 0u, 0u, memory.get(), open_steps.get(),
                        options.scales, list.decisions());
  }

  bool is_simple() const { return options.scales == 1 && !options.consensus; }
  std::uint32_t together() const { return options.skip_together ? kernels::decide_together : 0u; }

  void inspect(known_list& list, const float* of_scale) {
    const auto& inside = inspector_access::of(list.look);
    if (options.scales == 1) {
      inside.look_at_chunks();
      inside.add_up(of_scale);
    } else {
      inside.inspect_details(of_scale, of_scale != nullptr ? stride() : 0);
    }
  }

  void inspect_and_decide(known_list& list, const float* max_norm, std::uint32_t how) {
    is_decided = true;
    if (is_simple()) {
      inspect_step(list, max_norm, how | together());
    } else {
      inspect(list, scale());
      decide(list, max_norm, how | together());
    }
  }

  sycl::event apply(optimizer& one, known_list& list, const step_decision* decisions) {
    const bool is_unscaled = list.unscaled_to != 0;
    list.reached = stage::stepped;
    sycl::event done;
    try {
      const tensor_list& gradients = is_unscaled ? one.unscaled_gradients() : one.gradients();
      done = one.apply({gradients, decisions, options.scales > 1});
    } catch (...) {
      withdraw(list, decisions);
      throw;
    }
    if (!policy.clear_on_skip) return done;
    constexpr auto decision_words = static_cast<std::uint32_t>(sizeof(step_decision) / sizeof(std::uint32_t));
    return clear_unless(one.gradients(), &decisions->apply, options.scales > 1 ? decision_words : 0, 1);
  }

  /// Makes the gate for clipping by hand. The gate owns the scaler's state and the decisions, so its pointers stay
  /// valid.
  std::shared_ptr<const step_gate> gate(const std::shared_ptr<state_type>& self, const known_list& list) const {
    struct kept_gate : step_gate {
      std::shared_ptr<state_type> scaler;
      std::shared_ptr<const device_array<step_decision>> decision_memory;
    };
    auto made = std::make_shared<kept_gate>();
    made->memory = memory.get();
    made->open_steps = open_steps.get();
    made->scales = options.scales;
    made->decisions = list.decisions();
    made->scaler = self;
    made->decision_memory = list.decision_memory;
    return made;
  }

  /// An optimizer was not applied, because it or one before it has thrown: the record of the step will say so. Its
  /// gradients are not cleared, whatever the policy says: they may lie where it has refused to find them.
  void withdraw(known_list& list, const step_decision* decisions) {
    sycl::queue& queue = on.queue();
    const bool was_decided = decisions == list.decisions();
    if (!was_decided) queue.memcpy(list.decisions(), decisions, options.scales * sizeof(step_decision));
    auto* joint_flags = &memory.get()->joint_flags;
    queue.fill(joint_flags, kernels::found_failure, 1);
    on.kernels().submit_items(queue, launch::skip_jointly, options.scales, memory.get(), nullptr, open_steps.get(),
                              options.scales, list.decisions());
    queue.fill(joint_flags, 0u, 1);
  }

  engine on;
  scaling_policy policy;
  scaler_options options;
  device_array<kernels::scaler_memory> memory;
  device_array<scale_state> states;
  device_array<kernels::open_step> open_steps;
  device_array<kernels::rank_flags> flags_of_ranks;
  device_array<step_decision> always;  ///< what a disabled scaler says
  ledger_ring ring;
  rule_upload upload;

  std::map<std::uint64_t, known_list> lists;  ///< by the number of the list
  bool is_scaled = false, is_decided = false, is_window_open = false;
  std::vector<tensor_list> sums;  ///< of the accumulation window that is open
  std::uint32_t uninspected = 0;  ///< steps of a disabled scaler, which look at nothing

  mutable std::mutex names_mutex;                    ///< of the rest, which `ledger` reads from any thread
  std::map<std::uint32_t, tensor_list> named_lists;  ///< by their index
  std::uint32_t next_index = 0;
  std::map<std::uint64_t, std::string> kept_names;  ///< of records that were loaded, or whose list is gone, by number

  std::function<void(const ledger_entry&)> handler;
  std::uint64_t reported = 0;  ///< number of the last record that the handler got

  recordable_state stages{on.queue(), [this] { return copy_of_stages(); }};
};

loss_scaler::loss_scaler(engine on, const scaling_policy& policy, const scaler_options& options)
    : state_(make_state<state_type>(std::move(on), policy, options)) {}

// --- A step ---

sycl::event loss_scaler::scale(const tensor_list& loss) { return scale(loss, loss); }

sycl::event loss_scaler::scale(const tensor_list& loss, const tensor_list& scaled) {
  check_queue("scale", loss, state_->on);
  check_pair("scale", loss, scaled);
  state_->need_scales_for(loss);
  state_->is_scaled = true;
  return convert(loss, scaled, state_->scale_factor(kernels::factor_kind::multiply));
}

void loss_scaler::scaled_by_caller() { state_->is_scaled = true; }

unscaled_gradients loss_scaler::unscale(optimizer& of, const float* max_norm) {
  state_->need_scaled("unscale");
  check_queue("unscale", of.gradients(), state_->on);
  state_->check_numbers(of);  // before ranks agree
  return unscale(of.gradients(), of.unscaled_gradients(), max_norm);
}

unscaled_gradients loss_scaler::unscale(const tensor_list& gradients, const float* max_norm) {
  return unscale(gradients, gradients, max_norm);
}

unscaled_gradients loss_scaler::unscale(const tensor_list& gradients, const tensor_list& unscaled,
                                        const float* max_norm) {
  state_->need_scaled("unscale");
  known_list& list = state_->known("unscale", gradients);
  state_->need_untouched("unscale", list);
  state_->need_no_sums("unscale", gradients);
  state_->need_no_sums("unscale", unscaled);
  check_unscaling(gradients, unscaled);
  const std::uint32_t how =
      kernels::decide_scale | kernels::decide_apply | kernels::decide_unscaled | state_->together();
  const auto& inside = inspector_access::of(list.look);
  sycl::event done;
  if (state_->is_simple()) {
    inside.unscale_chunks(unscaled, state_->scale());
    done = state_->add_up_and_decide(list, max_norm, how);
  } else {
    state_->inspect(list, state_->scale());
    state_->decide(list, max_norm, how);
    done = convert(gradients, unscaled, state_->scale_factor(kernels::factor_kind::divide));
  }
  state_->is_decided = true;
  list.reached = stage::unscaled;
  list.unscaled_to = unscaled.prepared().id + 1;
  return unscaled_maker::make(unscaled, done, state_->gate(state_, list));
}

const step_decision* loss_scaler::inspect(const tensor_list& gradients, const float* max_norm) {
  state_->need_scaled("inspect");
  known_list& list = state_->known("inspect", gradients);
  state_->need_untouched("inspect", list);
  state_->need_no_sums("inspect", gradients);
  state_->inspect_and_decide(list, max_norm, kernels::decide_scale | kernels::decide_apply);
  list.reached = stage::stepped;
  return list.decisions();
}

sycl::event loss_scaler::step(optimizer& one, const float* max_norm) {
  state_->need_scaled("step");
  known_list& list = state_->known("step", one.gradients());
  state_->need_fresh("step", list);
  state_->need_no_sums("step", one.gradients());
  state_->need_no_clipping(list, max_norm);
  state_->need_own_shadow(one, list);
  const bool has_checked_numbers = state_->check_numbers(one);
  if (!state_->is_enabled() && max_norm == nullptr && list.reached == stage::fresh && !has_checked_numbers) {
    state_->is_decided = true;  // there is nothing to look for
    ++state_->uninspected;
    return state_->apply(one, list, state_->always.get());
  }
  if (list.reached == stage::fresh) {
    state_->inspect_and_decide(list, max_norm, kernels::decide_scale | kernels::decide_apply);
  } else if (has_checked_numbers) {
    state_->refuse_invalid(list);
  }
  return state_->apply(one, list, list.decisions());
}

sycl::event loss_scaler::step(std::span<optimizer* const> all, const float* max_norm) {
  state_->need_scaled("step");
  std::set<std::uint64_t> ids;
  for (optimizer* one : all) {
    check_given("step", "an optimizer", one);
    const known_list& list = state_->known("step", one->gradients());
    state_->need_fresh("step", list);
    state_->need_no_sums("step", one->gradients());
    state_->need_no_clipping(list, max_norm);
    state_->need_own_shadow(*one, list);
    if (!ids.insert(one->gradients().prepared().id).second)
      throw invalid_argument("step: two of the optimizers have the same list of gradients; each may be given once");
  }
  const engine& on = state_->on;
  const auto forget = [&] { on.queue().memset(&state_->memory.get()->joint_flags, 0, sizeof(std::uint32_t)); };
  forget();
  for (optimizer* one : all) state_->check_numbers(*one);
  for (optimizer* one : all) {
    known_list& list = state_->known("step", one->gradients());
    const bool is_fresh = list.reached == stage::fresh;
    if (is_fresh) state_->inspect(list, state_->scale());
    on.kernels().submit(on.queue(), launch::report_jointly, 1, state_->seen(list), state_->options.scales, max_norm,
                        is_fresh ? nullptr : list.decisions(), state_->memory.get());
  }
  for (optimizer* one : all) {
    known_list& list = state_->known("step", one->gradients());
    if (list.reached == stage::fresh) {
      state_->decide(list, max_norm,
                     kernels::decide_scale | kernels::decide_apply | kernels::decide_jointly | state_->together());
    } else {
      const kernels::rank_flags* ranks = state_->gather_ranks(list, nullptr, true);
      on.kernels().submit_items(on.queue(), launch::skip_jointly, state_->options.scales, state_->memory.get(), ranks,
                                state_->open_steps.get(), state_->options.scales, list.decisions());
    }
    list.reached = stage::stepped;
  }
  forget();
  state_->is_decided = true;
  sycl::event done;
  std::size_t next = 0;
  const auto list_of = [&](std::size_t index) -> known_list& { return state_->known("step", all[index]->gradients()); };
  try {
    for (; next < all.size(); ++next) done = state_->apply(*all[next], list_of(next), list_of(next).decisions());
  } catch (...) {
    for (++next; next < all.size(); ++next) state_->withdraw(list_of(next), list_of(next).decisions());
    throw;
  }
  return done;
}

sycl::event loss_scaler::update() {
  if (!state_->is_decided)
    throw misuse_error(
        "update: no gradients were looked at since the last update(); call step(), unscale() or inspect() first");
  return close(0.0f);
}

sycl::event loss_scaler::update(float new_scale) {
  if (!state_->is_enabled()) throw misuse_error("update: a disabled scaler has no scale to set; it is 1");
  scaling_policy with_scale = state_->policy;
  with_scale.init = new_scale;
  try {
    validate(with_scale);
  } catch (const invalid_argument& wrong) {
    throw invalid_argument(fmt::format("update: new_scale does not fit the policy: {}", wrong.what()));
  }
  return close(new_scale);
}

sycl::event loss_scaler::close(float new_scale) {
  state_type& own = *state_;
  const std::uint32_t uninspected = own.uninspected;
  own.forget_stages();
  const sycl::event done = own.on.kernels().submit_items(
      own.on.queue(), launch::update_scale, own.options.scales, own.memory.get(), own.states.get(),
      own.open_steps.get(), own.options.scales, uninspected, new_scale, own.ring.device_slots(), own.ring.capacity());
  own.ring.publish(own.on);
  if (own.handler) report();
  return done;
}

// --- Accumulation ---

sycl::event loss_scaler::accumulate(const tensor_list& gradients, const tensor_list& sum) {
  state_->need_scaled("accumulate");
  check_queue("accumulate", gradients, state_->on);
  if (check_pair("accumulate", gradients, sum))
    throw invalid_argument("accumulate: the gradients and their sum are the same memory; give the sum its own");
  check_float32("accumulate", sum, "sums of many small gradients need FP32");
  known_list& list = state_->known("accumulate", gradients);
  state_->need_untouched("accumulate", list);
  state_->need_no_sums("accumulate", gradients, &sum);
  state_->is_window_open = true;
  state_->add_sum(sum);
  list.is_in_open_step = true;
  state_->inspect_and_decide(list, nullptr,
                             kernels::decide_scale | kernels::decide_micro_batch | kernels::decide_together);
  return convert(gradients, sum, state_->scale_factor(kernels::factor_kind::divide), true,
                 {&list.decisions()->apply, 1});
}

sycl::event loss_scaler::step_accumulated(optimizer& one, const float* max_norm) {
  check_float32("step_accumulated", one.gradients(), "sums of micro-batches are FP32");
  known_list& list = state_->known("step_accumulated", one.gradients());
  state_->need_fresh("step_accumulated", list);
  state_->check_numbers(one);
  state_->inspect(list, nullptr);
  state_->decide(list, max_norm,
                 kernels::decide_apply | kernels::decide_unscaled | kernels::decide_mean | kernels::decide_together);
  state_->is_decided = true;
  state_->is_window_open = false;
  std::erase_if(state_->sums, [&](const auto& sum) { return state_->shares_memory(one.gradients(), sum); });
  return state_->apply(one, list, list.decisions());
}

// --- Flags ---

std::uint32_t* loss_scaler::device_user_flags() const { return &state_->memory.get()->user_flags; }

sycl::event loss_scaler::resume() {
  return state_->on.kernels().submit_items(state_->on.queue(), launch::resume_scaling, state_->options.scales,
                                           state_->states.get(), state_->options.scales);
}

// --- Readings ---

const float* loss_scaler::device_scale() const { return state_->scale(); }
std::uint32_t loss_scaler::scale_stride() { return sizeof(scale_state) / sizeof(float); }
const scale_state* loss_scaler::device_state() const { return state_->states.get(); }

float loss_scaler::current_scale(std::uint32_t index) const { return read_state(index).scale; }

scale_state loss_scaler::read_state(std::uint32_t index) const {
  if (index >= state_->options.scales)
    throw invalid_argument(fmt::format("there is no scale {}; the scaler has {}", index, state_->options.scales));
  scale_state one;
  state_->on.queue().memcpy(&one, &state_->states[index], sizeof one);
  state_->on.wait();
  return one;
}

step_record loss_scaler::outcome(std::uint32_t index) const {
  const std::uint64_t steps = read_state(index).attempted;
  const std::uint64_t number = steps == 0 ? 0 : (steps - 1) * state_->options.scales + index + 1;
  for (const auto& slot : state_->ring.read(number == 0 ? 0 : number - 1))
    if (slot.number == number) return slot.record;
  return {};
}

std::vector<ledger_entry> loss_scaler::ledger() const { return entries_after(0); }

std::vector<ledger_entry> loss_scaler::entries_after(std::uint64_t number) const {
  std::vector<ledger_entry> entries;
  const auto slots = state_->ring.read(number);
  const std::lock_guard lock(state_->names_mutex);
  for (const auto& slot : slots) {
    ledger_entry& entry = entries.emplace_back(slot.record, std::string{});
    if (const auto kept = state_->kept_names.find(slot.number); kept != state_->kept_names.end()) {
      entry.first_bad_name = kept->second;
    } else if (entry.record.first_bad_tensor != no_element) {
      const auto list = state_->named_lists.find(entry.record.first_bad_list);
      if (list != state_->named_lists.end()) entry.first_bad_name = list->second.name(entry.record.first_bad_tensor);
    }
  }
  return entries;
}

void loss_scaler::on_step(std::function<void(const ledger_entry&)> handler) { state_->handler = std::move(handler); }

void loss_scaler::report() {
  if (!state_->handler) return;
  // There are no gaps: what is not among the entries is to come, or was replaced before it could be reported.
  for (const ledger_entry& entry : entries_after(state_->reported)) {
    state_->reported = number_of(entry.record);
    state_->handler(entry);
  }
}

// --- Settings and state ---

const scaling_policy& loss_scaler::policy() const { return state_->policy; }

void loss_scaler::set_policy(const scaling_policy& policy) {
  need_no_settings_recorded(state_->on.queue());
  validate(policy);
  checked(state_->options, policy);
  if ((policy.mode == scaling_mode::disabled) == state_->is_enabled())
    throw invalid_argument("set_policy: scaling cannot be switched on or off on the way; make another scaler");
  state_->policy = policy;
  state_->upload.send(state_->on, policy, state_->memory.get());
}

scaler_snapshot loss_scaler::state() const {
  if (state_->is_scaled || state_->is_decided)
    throw misuse_error("state: half a step cannot be saved; call update() first");
  if (state_->is_window_open)
    throw misuse_error(
        "state: an open accumulation window cannot be saved; call step_accumulated() and update() first");
  scaler_snapshot snapshot{state_->policy, std::vector<scale_state>(state_->options.scales), {}};
  state_->on.queue().memcpy(snapshot.scales.data(), state_->states.get(), snapshot.scales.size() * sizeof(scale_state));
  state_->on.wait();
  snapshot.ledger = ledger();
  return snapshot;
}

void loss_scaler::load(const scaler_snapshot& snapshot) {
  need_no_settings_recorded(state_->on.queue());
  check(snapshot);
  checked(state_->options, snapshot.policy);
  if (snapshot.scales.size() != state_->options.scales)
    throw invalid_argument(fmt::format("load: the snapshot has {} scales, but the scaler {}; make it with as many",
                                       snapshot.scales.size(), state_->options.scales));
  state_->policy = snapshot.policy;
  state_->forget_stages();
  state_->is_window_open = false;
  state_->sums.clear();
  state_->restart(snapshot);
  std::vector<kernels::ledger_slot> slots;
  const std::lock_guard lock(state_->names_mutex);
  state_->kept_names.clear();
  state_->reported = 0;
  for (const ledger_entry& entry : snapshot.ledger) {
    const std::uint64_t number = number_of(entry.record);
    slots.push_back(slot_of(number, entry.record));
    state_->kept_names[number] = entry.first_bad_name;
    state_->reported = std::max(state_->reported, number);
  }
  state_->ring.restore(state_->on, slots, snapshot.scales.front().attempted);
}

std::uint64_t loss_scaler::number_of(const step_record& record) const {
  return (record.step - 1) * state_->options.scales + record.scale_index + 1;
}

void loss_scaler::prepare(const tensor_list& gradients) { state_->known("prepare", gradients); }

const engine& loss_scaler::on() const { return state_->on; }

}  // namespace syclamp
