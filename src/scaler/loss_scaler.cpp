// SPDX-License-Identifier: Apache-2.0
// The public calls. Each one asks the protocol whether it is allowed, lets the kernels do the work, and tells the
// protocol how far the step has come.
#include "syclamp/loss_scaler.hpp"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "engine/command_queue.hpp"
#include "engine/recording.hpp"
#include "engine/staged_upload.hpp"
#include "scaler/decision_kernels.hpp"
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
using kernels::decide_jointly;
using kernels::decide_mean;
using kernels::decide_micro_batch;
using kernels::decide_scale;
using kernels::decide_together;
using kernels::decide_unscaled;

constexpr kernels::scalar_argument no_limit{nullptr, kernels::no_scalar};

void check_options(const scaler_options& options, const scaling_policy& policy) {
  constexpr std::uint32_t most = 1u << 20;
  if (options.scales < 1 || options.scales > most)
    throw invalid_argument(fmt::format("scaler_options: scales is {}; it must be 1 to {}", options.scales, most));
  if (options.ledger < 1 || options.ledger > most / options.scales)
    throw invalid_argument(fmt::format("scaler_options: ledger is {}; it must be 1 to {} with {} scales",
                                       options.ledger, most / options.scales, options.scales));
  if (options.consensus && (policy.growth_mode == growth_kind::headroom || policy.growth_mode == growth_kind::log_max))
    throw invalid_argument(
        "scaler_options: a consensus adds up, so ranks do not agree on the largest gradient, by which this policy "
        "grows; use growth_kind::interval");
}

}  // namespace

struct SYCLAMP_HIDDEN loss_scaler::impl {
  impl(syclamp::engine owner, const scaling_policy& initial, const scaler_options& options)
      : policy((initial.validate(), initial)),
        kernels(std::move(owner), (check_options(options, initial), options)),
        ledger(engine(), options.ledger, options.scales),
        protocol(kernels, ledger),
        rule_upload(engine().queue(), 1) {
    kernels.prepare();
    kernels.restart(scaler_snapshot::fresh(policy, options.scales));
  }

  const syclamp::engine& engine() const { return kernels.get_engine(); }
  const scaler_options& options() const { return kernels.options(); }
  bool is_enabled() const { return policy.mode != scaling_mode::disabled; }

  void inspect_and_decide(known_list& list, const kernels::scalar_argument& max_norm, std::uint32_t mode) {
    protocol.mark_decided();
    kernels.inspect_and_decide(list, max_norm, mode);
  }

  sycl::event apply(optimizer& stepping, known_list& list, const step_decision* decisions) {
    const bool is_unscaled = list.unscaled_to != 0, has_many_scales = !kernels.has_one_scale();
    list.reached = stage::stepped;
    sycl::event done;
    try {
      if (policy.clear_on_skip) check_writable("clear_on_skip", stepping.gradients());
      const tensor_list& gradients = is_unscaled ? stepping.unscaled_gradients() : stepping.gradients();
      done = stepping.apply({gradients, decisions, has_many_scales});
    } catch (...) {
      kernels.withdraw(list, decisions);
      throw;
    }
    if (!policy.clear_on_skip) return done;
    constexpr auto decision_words = static_cast<std::uint32_t>(sizeof(step_decision) / sizeof(std::uint32_t));
    return clear_unless(stepping.gradients(), &decisions->apply, has_many_scales ? decision_words : 0, 1);
  }

  sycl::event update(float new_scale) {
    const sycl::event done = kernels.update(protocol.end_step(), new_scale, ledger.ring());
    scale_ready = done;
    ledger.ring().publish(engine());
    ledger.report();
    return done;
  }

  scale_state read_state(std::uint32_t index) const {
    if (index >= options().scales)
      throw invalid_argument(fmt::format("there is no scale {}; the scaler has {}", index, options().scales));
    scale_state state;
    command_queue(engine()).memcpy(&state, kernels.states() + index, sizeof state);
    engine().wait();
    return state;
  }

  scaling_policy policy;
  decision_kernels kernels;
  scaler_ledger ledger;
  step_protocol protocol;
  staged_upload<syclamp::kernels::scaling_rule> rule_upload;
  sycl::event scale_ready;  ///< of the last `update`: the scale is that of the next step
};

loss_scaler::loss_scaler(engine engine, const scaling_policy& policy, const scaler_options& options)
    : impl_(make_state<impl>(std::move(engine), policy, options)) {}

// --- A step ---

const float* loss_scaler::begin_step(const std::vector<sycl::event>& dependencies) {
  impl_->engine().order_after(dependencies);
  impl_->protocol.begin_step();
  return impl_->kernels.scale();
}

sycl::event loss_scaler::scale_ready() const { return impl_->scale_ready; }

sycl::event loss_scaler::scale(const tensor_list& loss, const std::vector<sycl::event>& dependencies) {
  return scale(loss, loss, dependencies);
}

sycl::event loss_scaler::scale(const tensor_list& loss, const tensor_list& scaled,
                               const std::vector<sycl::event>& dependencies) {
  check_queue("scale", loss, impl_->engine());
  check_pair("scale", loss, scaled);
  impl_->protocol.need_scales_for(loss);
  impl_->engine().order_after(dependencies);
  impl_->protocol.begin_step();
  return convert(loss, scaled, impl_->kernels.scale_factor(kernels::factor_kind::multiply));
}

unscaled_gradients loss_scaler::unscale(optimizer& optimizer, const step_options& options,
                                        const std::vector<sycl::event>& dependencies) {
  impl_->protocol.need_scaled("unscale");
  check_queue("unscale", optimizer.gradients(), impl_->engine());
  impl_->engine().order_after(dependencies);
  impl_->kernels.check_numbers(optimizer);  // before ranks agree
  return unscale(optimizer.gradients(), optimizer.unscaled_gradients(), options);
}

unscaled_gradients loss_scaler::unscale(const tensor_list& gradients, const step_options& options,
                                        const std::vector<sycl::event>& dependencies) {
  return unscale(gradients, gradients, options, dependencies);
}

unscaled_gradients loss_scaler::unscale(const tensor_list& gradients, const tensor_list& unscaled,
                                        const step_options& options, const std::vector<sycl::event>& dependencies) {
  step_protocol& protocol = impl_->protocol;
  protocol.need_scaled("unscale");
  const auto max_norm = limit_argument("unscale", "max_norm", options.max_norm);
  known_list& list = protocol.known("unscale", gradients);
  protocol.need_untouched("unscale", list);
  protocol.need_no_sums("unscale", gradients);
  protocol.need_no_sums("unscale", unscaled);
  check_unscaling(gradients, unscaled);
  impl_->engine().order_after(dependencies);
  const sycl::event done = impl_->kernels.unscale(list, unscaled, max_norm);
  protocol.mark_unscaled(list, unscaled);
  // The gate keeps the scaler and the decisions alive as long as somebody may clip by hand.
  struct kept_gate {
    step_gate gate;
    std::shared_ptr<impl> scaler;
    std::shared_ptr<const usm_array<step_decision>> decision_memory;
  };
  const auto kept = std::make_shared<kept_gate>(impl_->kernels.make_gate(list), impl_, list.decision_memory);
  return unscaled_gradients(unscaling{unscaled, done, {kept, &kept->gate}});
}

const step_decision* loss_scaler::inspect(const tensor_list& gradients, const step_options& options,
                                          const std::vector<sycl::event>& dependencies) {
  impl_->protocol.need_scaled("inspect");
  const auto max_norm = limit_argument("inspect", "max_norm", options.max_norm);
  known_list& list = impl_->protocol.known("inspect", gradients);
  impl_->protocol.need_untouched("inspect", list);
  impl_->protocol.need_no_sums("inspect", gradients);
  impl_->engine().order_after(dependencies);
  impl_->inspect_and_decide(list, max_norm, decide_scale | decide_apply);
  list.reached = stage::stepped;
  return list.decisions();
}

sycl::event loss_scaler::step(optimizer& optimizer, const step_options& options,
                              const std::vector<sycl::event>& dependencies) {
  impl_->protocol.need_scaled("step");
  const auto max_norm = limit_argument("step", "max_norm", options.max_norm);
  known_list& list = impl_->protocol.known("step", optimizer.gradients());
  impl_->protocol.need_steppable(optimizer, list, options);
  impl_->engine().order_after(dependencies);
  const bool has_checked_numbers = impl_->kernels.check_numbers(optimizer), is_fresh = list.reached == stage::fresh;
  if (!impl_->is_enabled() && !options.max_norm && is_fresh && !has_checked_numbers) {
    impl_->protocol.mark_uninspected();
    return impl_->apply(optimizer, list, impl_->kernels.always_apply());
  }
  if (is_fresh) {
    impl_->inspect_and_decide(list, max_norm, decide_scale | decide_apply);
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
  std::set<std::uint64_t> ids;
  for (std::size_t i = 0; i < optimizers.size(); ++i) {
    check_given("step", "an optimizer", optimizers[i]);
    protocol.need_steppable(*optimizers[i], list_at(i), options);
    if (!ids.insert(optimizers[i]->gradients().prepared().id).second)
      throw invalid_argument("step: two of the optimizers have the same list of gradients; each may be given once");
  }
  impl_->engine().order_after(dependencies);
  kernels.clear_joint_flags();
  for (optimizer* stepping : optimizers) kernels.check_numbers(*stepping);
  for (std::size_t i = 0; i < optimizers.size(); ++i) {
    const known_list& list = list_at(i);
    const bool is_fresh = list.reached == stage::fresh;
    if (is_fresh) kernels.inspect(list);
    kernels.report_jointly(list, max_norm, !is_fresh);
  }
  for (std::size_t i = 0; i < optimizers.size(); ++i) {
    known_list& list = list_at(i);
    if (list.reached == stage::fresh) {
      kernels.decide(list, max_norm, decide_scale | decide_apply | decide_jointly);
    } else {
      kernels.skip_jointly(list);
    }
    list.reached = stage::stepped;
  }
  kernels.clear_joint_flags();
  protocol.mark_decided();
  sycl::event done;
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
  if (!impl_->is_enabled()) throw misuse_error("update: a disabled scaler has no scale to set; it is 1");
  scaling_policy changed = impl_->policy;
  changed.init_scale = new_scale;
  try {
    changed.validate();
  } catch (const invalid_argument& wrong) {
    throw invalid_argument(fmt::format("update: new_scale does not fit the policy: {}", wrong.what()));
  }
  impl_->engine().order_after(dependencies);
  return impl_->update(new_scale);
}

// --- Accumulation ---

sycl::event loss_scaler::accumulate(const tensor_list& gradients, const tensor_list& sum,
                                    const std::vector<sycl::event>& dependencies) {
  step_protocol& protocol = impl_->protocol;
  protocol.need_scaled("accumulate");
  check_queue("accumulate", gradients, impl_->engine());
  if (check_pair("accumulate", gradients, sum))
    throw invalid_argument("accumulate: the gradients and their sum are the same memory; give the sum its own");
  check_float32("accumulate", sum, "sums of many small gradients need FP32");
  known_list& list = protocol.known("accumulate", gradients);
  protocol.need_untouched("accumulate", list);
  protocol.need_no_sums("accumulate", gradients, &sum);
  protocol.open_window(sum);
  list.is_in_open_step = true;
  impl_->engine().order_after(dependencies);
  impl_->inspect_and_decide(list, no_limit, decide_scale | decide_micro_batch | decide_together);
  return convert(gradients, sum, impl_->kernels.scale_factor(kernels::factor_kind::divide), true,
                 {&list.decisions()->apply, 1});
}

sycl::event loss_scaler::step_accumulated(optimizer& optimizer, const step_options& options,
                                          const std::vector<sycl::event>& dependencies) {
  const auto max_norm = limit_argument("step_accumulated", "max_norm", options.max_norm);
  check_float32("step_accumulated", optimizer.gradients(), "sums of micro-batches are FP32");
  known_list& list = impl_->protocol.known("step_accumulated", optimizer.gradients());
  impl_->protocol.need_fresh("step_accumulated", list);
  impl_->engine().order_after(dependencies);
  impl_->kernels.check_numbers(optimizer);
  impl_->kernels.inspect_unscaled(list);
  impl_->kernels.decide(list, max_norm, decide_apply | decide_unscaled | decide_mean | decide_together);
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
  if ((policy.mode == scaling_mode::disabled) == impl_->is_enabled())
    throw invalid_argument("set_policy: scaling cannot be switched on or off on the way; make another scaler");
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
    throw invalid_argument(fmt::format("load: the snapshot has {} scales, but the scaler {}; make it with as many",
                                       snapshot.scales.size(), impl_->options().scales));
  impl_->policy = snapshot.policy;
  impl_->protocol.reset();
  impl_->kernels.restart(snapshot);
  impl_->ledger.restore(snapshot);
}

void loss_scaler::prepare(const tensor_list& gradients) { impl_->protocol.known("prepare", gradients); }

const engine& loss_scaler::get_engine() const { return impl_->engine(); }

}  // namespace SYCLAMP_NAMESPACE
