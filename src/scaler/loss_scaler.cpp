// SPDX-License-Identifier: Apache-2.0
// The public calls. Each call checks with the protocol that it is allowed, submits the kernels, and reports its
// progress to the protocol.
#include "syclamp/loss_scaler.hpp"

#include <utility>

#include <fmt/format.h>

#include "engine/command_queue.hpp"
#include "engine/event_order.hpp"
#include "engine/recording.hpp"
#include "engine/staged_upload.hpp"
#include "scaler/decision_kernels.hpp"
#include "scaler/list_decisions.hpp"
#include "scaler/options_check.hpp"
#include "scaler/scaler_ledger.hpp"
#include "scaler/scaling_rule.hpp"
#include "scaler/snapshot_check.hpp"
#include "scaler/step_protocol.hpp"
#include "syclamp/error.hpp"
#include "tensors/list_checks.hpp"
#include "tensors/scalar_arguments.hpp"
#include "tensors/tensor_table.hpp"

namespace SYCLAMP_NAMESPACE {
namespace {

using kernels::decide_apply;
using kernels::decide_mean;
using kernels::decide_micro_batch;
using kernels::decide_scale;
using kernels::decide_together;
using kernels::decide_unscaled;

constexpr kernels::scalar_argument no_limit{nullptr, kernels::no_scalar};

}  // namespace

struct SYCLAMP_HIDDEN loss_scaler::impl {
  // The gate keeps the scaler and its decisions alive as long as the caller may clip by hand.
  struct kept_gate {
    step_gate gate;
    std::shared_ptr<impl> scaler;
    std::shared_ptr<const usm_array<step_decision>> decision_memory;
  };

  impl(syclamp::engine owner, const scaling_policy& initial, const scaler_options& options)
      : policy((initial.validate(), initial)),
        kernels(std::move(owner), (check_options(options, initial), options)),
        ledger(engine(), options.ledger, options.scales),
        queues(kernels),
        decisions(kernels),
        protocol(kernels, queues, ledger),
        rule_upload(engine().queue(), 1) {
    kernels.prepare();
    kernels.restart(scaler_snapshot::fresh(policy, options.scales));
  }

  const syclamp::engine& engine() const { return kernels.get_engine(); }
  const scaler_options& options() const { return kernels.options(); }
  bool is_enabled() const { return policy.mode != scaling_mode::disabled; }

  void decide(known_list& list, const syclamp::kernels::scalar_argument& max_norm, std::uint32_t mode) {
    protocol.mark_decided();
    decisions.decide(list, max_norm, mode);
  }

  sycl::event begin(const char* call, known_list& list, const std::vector<sycl::event>& dependencies) const {
    known_list* const only[] = {&list};
    return decisions.begin(call, only, dependencies);
  }

  /// \param checked  the optimizer whose numbers are checked; null: none
  unscaled_gradients unscale(const std::shared_ptr<impl>& self, const tensor_list& gradients,
                             const tensor_list& unscaled, const step_options& options,
                             const std::vector<sycl::event>& dependencies, optimizer* checked) {
    protocol.need_scaled("unscale");
    const auto max_norm = limit_argument("unscale", "max_norm", options.max_norm);
    known_list& list = protocol.known("unscale", gradients);
    protocol.need_untouched("unscale", list);
    protocol.need_no_sums("unscale", gradients);
    protocol.need_no_sums("unscale", unscaled);
    check_unscaling(gradients, unscaled);
    begin("unscale", list, dependencies);
    if (checked != nullptr) decisions.check_numbers(list, *checked);  // before ranks agree
    sycl::event done;
    if (list.queue == nullptr) {
      done = kernels.unscale(list, unscaled, max_norm);
    } else {
      decide(list, max_norm, decide_scale | decide_apply | decide_unscaled);
      const auto scale = list.queue->mirror().scale_factor(syclamp::kernels::factor_kind::divide);
      done = convert(gradients, unscaled, scale, submit_marker(list.queue->get_engine()));
    }
    protocol.mark_unscaled(list, unscaled);
    const decision_kernels& there = list.queue == nullptr ? kernels : list.queue->mirror();
    const auto kept = std::make_shared<kept_gate>(there.make_gate(list.local()), self, list.local().decision_memory);
    return unscaled_gradients(unscaling{unscaled, done, {kept, &kept->gate}});
  }

  sycl::event apply(optimizer& stepping, known_list& list, const step_decision* decided) {
    const bool is_unscaled = list.unscaled_to != 0, has_many_scales = !kernels.has_one_scale();
    list.reached = stage::stepped;
    const step_decision* there = decided;  // where the list's own queue finds them
    if (list.queue != nullptr)
      there = decided == list.decisions() ? list.local().decisions() : list.queue->mirror().always_apply();
    sycl::event done;
    try {
      if (policy.clear_on_skip) check_writable("clear_on_skip", stepping.gradients());
      const tensor_list& gradients = is_unscaled ? stepping.unscaled_gradients() : stepping.gradients();
      done = stepping.apply({gradients, there, has_many_scales});
    } catch (...) {
      kernels.withdraw(list, decided);
      throw;
    }
    if (policy.clear_on_skip) done = clear_skipped(stepping.gradients(), there, done);
    decisions.end(list, done);
    return done;
  }

  sycl::event clear_skipped(const tensor_list& gradients, const step_decision* decided, const sycl::event& done) const {
    constexpr auto decision_words = static_cast<std::uint32_t>(sizeof(step_decision) / sizeof(std::uint32_t));
    return clear_unless(gradients, &decided->apply, kernels.has_one_scale() ? 0 : decision_words, 1, done);
  }

  sycl::event update(float new_scale) {
    const sycl::event done = kernels.update(protocol.end_step(), new_scale, ledger.ring());
    set_scale_ready(done);
    decisions.end_step(queues);
    ledger.ring().publish(engine());
    ledger.report();
    return done;
  }

  /// The host cannot wait for events of a recording, and each replay is an update that this object does not notice.
  void set_scale_ready(const sycl::event& ordered) {
    if (is_recording(engine().queue()))
      is_replayed = true;
    else
      scale_ready = ordered;
  }

  scale_state read_state(std::uint32_t index) const {
    if (index >= options().scales)
      throw invalid_argument(fmt::format("there is no scale {}; the scaler has {} scales, and indices begin at 0",
                                         index, options().scales));
    scale_state state;
    command_queue(engine()).memcpy(&state, kernels.states() + index, sizeof state);
    engine().wait();
    return state;
  }

  scaling_policy policy;
  decision_kernels kernels;
  scaler_ledger ledger;
  remote_queues queues;
  list_decisions decisions;
  step_protocol protocol;
  staged_upload<syclamp::kernels::scaling_rule> rule_upload;
  sycl::event scale_ready;   ///< of the last `update`: the scale is that of the next step
  bool is_replayed = false;  ///< a graph may move the scale at any time
};

loss_scaler::loss_scaler(engine engine, const scaling_policy& policy, const scaler_options& options)
    : impl_(make_state<impl>(std::move(engine), policy, options)) {}

// --- A step ---

const float* loss_scaler::begin_step(const std::vector<sycl::event>& dependencies) {
  sycl::event ordered = impl_->engine().order_after(dependencies);
  if (!dependencies.empty()) impl_->set_scale_ready(ordered);
  impl_->protocol.begin_step();
  return impl_->kernels.scale();
}

sycl::event loss_scaler::scale_ready() const {
  return impl_->is_replayed ? submit_marker(impl_->engine()) : impl_->scale_ready;
}

sycl::event loss_scaler::scale(const tensor_list& loss, const std::vector<sycl::event>& dependencies) {
  return scale(loss, loss, dependencies);
}

sycl::event loss_scaler::scale(const tensor_list& loss, const tensor_list& scaled,
                               const std::vector<sycl::event>& dependencies) {
  check_pair("scale", loss, scaled);
  impl_->protocol.need_scales_for(loss);
  remote_queue* queue = impl_->queues.find_or_make("scale", loss.get_engine());
  if (queue == nullptr) {
    sycl::event ordered = impl_->engine().order_after(dependencies);
    impl_->protocol.begin_step();
    return convert(loss, scaled, impl_->kernels.scale_factor(kernels::factor_kind::multiply), ordered);
  }
  sycl::event ordered = impl_->decisions.send_scales(*queue, dependencies);
  impl_->protocol.begin_step();
  const sycl::event done = convert(loss, scaled, queue->mirror().scale_factor(kernels::factor_kind::multiply), ordered);
  if (queue->is_in_home_context()) impl_->engine().order_after({done});
  return done;
}

unscaled_gradients loss_scaler::unscale(optimizer& optimizer, const step_options& options,
                                        const std::vector<sycl::event>& dependencies) {
  impl_->protocol.need_scaled("unscale");  // misuse is reported before a missing shadow
  return impl_->unscale(impl_, optimizer.gradients(), optimizer.unscaled_gradients(), options, dependencies,
                        &optimizer);
}

unscaled_gradients loss_scaler::unscale(const tensor_list& gradients, const step_options& options,
                                        const std::vector<sycl::event>& dependencies) {
  return unscale(gradients, gradients, options, dependencies);
}

unscaled_gradients loss_scaler::unscale(const tensor_list& gradients, const tensor_list& unscaled,
                                        const step_options& options, const std::vector<sycl::event>& dependencies) {
  return impl_->unscale(impl_, gradients, unscaled, options, dependencies, nullptr);
}

const step_decision* loss_scaler::inspect(const tensor_list& gradients, const step_options& options,
                                          const std::vector<sycl::event>& dependencies) {
  impl_->protocol.need_scaled("inspect");
  const auto max_norm = limit_argument("inspect", "max_norm", options.max_norm);
  known_list& list = impl_->protocol.known("inspect", gradients);
  impl_->protocol.need_untouched("inspect", list);
  impl_->protocol.need_no_sums("inspect", gradients);
  impl_->begin("inspect", list, dependencies);
  impl_->decide(list, max_norm, decide_scale | decide_apply);
  list.reached = stage::stepped;
  return list.local().decisions();
}

sycl::event loss_scaler::step(optimizer& optimizer, const step_options& options,
                              const std::vector<sycl::event>& dependencies) {
  impl_->protocol.need_scaled("step");
  const auto max_norm = limit_argument("step", "max_norm", options.max_norm);
  known_list& list = impl_->protocol.known("step", optimizer.gradients());
  impl_->protocol.need_steppable(optimizer, list, options);
  impl_->begin("step", list, dependencies);
  const bool has_checked_numbers = impl_->decisions.check_numbers(list, optimizer),
             is_fresh = list.reached == stage::fresh;
  if (!impl_->is_enabled() && !options.max_norm && is_fresh && !has_checked_numbers) {
    impl_->protocol.mark_uninspected();
    return impl_->apply(optimizer, list, impl_->kernels.always_apply());
  }
  if (is_fresh) {
    impl_->decide(list, max_norm, decide_scale | decide_apply);
  } else if (list.queue != nullptr) {
    impl_->decisions.skip_if_invalid(list);
  } else if (has_checked_numbers) {
    impl_->kernels.skip_if_invalid(list);
  }
  return impl_->apply(optimizer, list, list.decisions());
}

sycl::event loss_scaler::step(std::span<optimizer* const> optimizers, const step_options& options,
                              const std::vector<sycl::event>& dependencies) {
  step_protocol& protocol = impl_->protocol;
  const decision_kernels& kernels = impl_->kernels;
  protocol.need_scaled("step");
  const auto max_norm = limit_argument("step", "max_norm", options.max_norm);
  const auto list_at = [&](std::size_t index) -> known_list& {
    return protocol.known("step", optimizers[index]->gradients());
  };
  check_optimizers(optimizers);
  for (std::size_t i = 0; i < optimizers.size(); ++i) protocol.need_steppable(*optimizers[i], list_at(i), options);
  std::vector<known_list*> lists;
  for (std::size_t i = 0; i < optimizers.size(); ++i) lists.push_back(&list_at(i));
  sycl::event done = impl_->decisions.begin("step", lists, dependencies);
  kernels.clear_joint_flags();
  for (std::size_t i = 0; i < optimizers.size(); ++i) impl_->decisions.check_numbers(*lists[i], *optimizers[i]);
  impl_->decisions.decide_jointly(lists, max_norm, options.clip_separately);
  kernels.clear_joint_flags();
  protocol.mark_decided();
  std::size_t next = 0;
  try {
    for (; next < optimizers.size(); ++next)
      done = impl_->apply(*optimizers[next], list_at(next), list_at(next).decisions());
  } catch (...) {
    for (++next; next < optimizers.size(); ++next) kernels.withdraw(list_at(next), list_at(next).decisions());
    throw;
  }
  return done;
}

sycl::event loss_scaler::update(const std::vector<sycl::event>& dependencies) {
  impl_->protocol.need_decided();
  impl_->engine().order_after(dependencies);
  return impl_->update(0.0f);
}

sycl::event loss_scaler::update(float new_scale, const std::vector<sycl::event>& dependencies) {
  if (!impl_->is_enabled())
    throw misuse_error(
        "update: the scale of a disabled scaler is always 1 and cannot be set; make a scaler with scaling enabled");
  check_new_scale(new_scale, impl_->policy);
  impl_->engine().order_after(dependencies);
  return impl_->update(new_scale);
}

// --- Accumulation ---

sycl::event loss_scaler::accumulate(const tensor_list& gradients, const tensor_list& sum,
                                    const std::vector<sycl::event>& dependencies) {
  step_protocol& protocol = impl_->protocol;
  protocol.need_scaled("accumulate");
  if (check_pair("accumulate", gradients, sum))
    throw invalid_argument("accumulate: the gradients and their sum are the same memory; give the sum separate memory");
  check_float32("accumulate", sum, "sums of many small gradients need FP32");
  known_list& list = protocol.known("accumulate", gradients);
  protocol.need_untouched("accumulate", list);
  protocol.need_no_sums("accumulate", gradients, &sum);
  sycl::event ordered = impl_->begin("accumulate", list, dependencies);
  protocol.open_window(sum);
  list.is_in_open_step = true;
  impl_->decide(list, no_limit, decide_scale | decide_micro_batch | decide_together);
  const decision_kernels& there = list.queue == nullptr ? impl_->kernels : list.queue->mirror();
  return convert(gradients, sum, there.scale_factor(kernels::factor_kind::divide), ordered, true,
                 {&list.local().decisions()->apply, 1});
}

sycl::event loss_scaler::step_accumulated(optimizer& optimizer, const step_options& options,
                                          const std::vector<sycl::event>& dependencies) {
  const auto max_norm = limit_argument("step_accumulated", "max_norm", options.max_norm);
  check_float32("step_accumulated", optimizer.gradients(), "sums of micro-batches are FP32");
  known_list& list = impl_->protocol.known("step_accumulated", optimizer.gradients());
  impl_->protocol.need_fresh("step_accumulated", list);
  impl_->begin("step_accumulated", list, dependencies);
  impl_->decisions.check_numbers(list, optimizer);
  impl_->decisions.decide_on_sums(list, max_norm, decide_apply | decide_unscaled | decide_mean | decide_together);
  impl_->protocol.close_window(optimizer.gradients());
  return impl_->apply(optimizer, list, list.decisions());
}

// --- Flags ---

std::uint32_t* loss_scaler::device_user_flags() const { return &impl_->kernels.memory()->user_flags; }
sycl::event loss_scaler::resume(const std::vector<sycl::event>& dependencies) {
  impl_->engine().order_after(dependencies);
  return impl_->kernels.resume();
}

// --- Readings ---

const float* loss_scaler::device_scale() const { return impl_->kernels.scale(); }
std::uint32_t loss_scaler::scale_stride() { return sizeof(scale_state) / sizeof(float); }
const scale_state* loss_scaler::device_state() const { return impl_->kernels.states(); }
float loss_scaler::get_scale(std::uint32_t index) const { return impl_->read_state(index).scale; }

step_record loss_scaler::outcome(std::uint32_t index) const {
  return impl_->ledger.find(impl_->read_state(index).attempted, index);
}

std::vector<ledger_entry> loss_scaler::ledger() const { return impl_->ledger.entries_after(0); }

void loss_scaler::on_step(std::function<void(const ledger_entry&)> handler) {
  impl_->ledger.set_handler(std::move(handler));
}

void loss_scaler::report() { impl_->ledger.report(); }

// --- Settings and state ---

const scaling_policy& loss_scaler::policy() const { return impl_->policy; }

void loss_scaler::set_policy(const scaling_policy& policy) {
  sycl::queue& queue = impl_->engine().queue();
  need_no_settings_recorded(queue);
  policy.validate();
  check_options(impl_->options(), policy);
  check_new_policy(policy, impl_->policy);
  impl_->policy = policy;
  impl_->rule_upload.send(queue, &impl_->kernels.memory()->rule,
                          [&](kernels::scaling_rule* rule) { *rule = rule_of(policy); });
}

scaler_snapshot loss_scaler::state() const {
  impl_->protocol.need_no_open_step();
  scaler_snapshot snapshot{impl_->policy, std::vector<scale_state>(impl_->options().scales), {}};
  command_queue(impl_->engine())
      .memcpy(snapshot.scales.data(), impl_->kernels.states(), snapshot.scales.size() * sizeof(scale_state));
  impl_->engine().wait();
  snapshot.ledger = ledger();
  return snapshot;
}

void loss_scaler::load(const scaler_snapshot& snapshot) {
  need_no_settings_recorded(impl_->engine().queue());
  check(snapshot);
  check_options(impl_->options(), snapshot.policy);
  if (snapshot.scales.size() != impl_->options().scales)
    throw invalid_argument(fmt::format(
        "load: the snapshot has {} scales, but the scaler has {}; set scaler_options::scales to the snapshot's number",
        snapshot.scales.size(), impl_->options().scales));
  impl_->policy = snapshot.policy;
  impl_->protocol.reset();
  impl_->decisions.end_step(impl_->queues);
  impl_->kernels.restart(snapshot);
  impl_->ledger.restore(snapshot);
}

void loss_scaler::prepare(const tensor_list& gradients) { impl_->protocol.known("prepare", gradients); }

const engine& loss_scaler::get_engine() const { return impl_->engine(); }

}  // namespace SYCLAMP_NAMESPACE
