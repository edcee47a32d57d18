// SPDX-License-Identifier: Apache-2.0
#include "syclamp/c/scaler.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sycl/sycl.hpp>

#include "bindings/c/conversions.hpp"
#include "bindings/c/objects.hpp"
#include "bindings/c/structs.hpp"

using namespace syclamp::c;

namespace {

/// The caller's function as the library calls it. It gets complete numbers, because a C program cannot wait for a queue
/// of SYCL.
syclamp::consensus to_consensus(const syclamp_scaler_options& options) {
  syclamp::consensus made{.rank = options.rank, .size = options.ranks == 0 ? 1 : options.ranks};
  if (options.consensus_sum != nullptr)
    made.sum = [sum = options.consensus_sum, user = options.consensus_user](sycl::queue& queue, float* numbers,
                                                                            std::size_t count) {
      queue.wait_and_throw();
      if (const std::int32_t result = sum(user, numbers, count); result != 0)
        throw callback_error(fmt::format("the function consensus_sum has returned {}; 0 means success", result));
    };
  return made;
}

/// The scaler keeps lists and optimizers until the step ends.
void keep(scaler_object& scaler, const std::shared_ptr<void>& object) {
  if (std::find(scaler.used.begin(), scaler.used.end(), object) == scaler.used.end()) scaler.used.push_back(object);
}

/// The list of an optimizer's unscaled gradients: the FP32 gradients themselves, or the optimizer's FP32 shadow.
std::shared_ptr<list_object> unscaled_list(const std::shared_ptr<optimizer_object>& optimizer) {
  const syclamp::tensor_list& list = optimizer->optimizer.unscaled_gradients();
  if (&list == &optimizer->optimizer.gradients()) return optimizer->gradients;
  return std::make_shared<list_object>(optimizer->engine, list, std::vector<block_owner>(list.size()), optimizer);
}

}  // namespace

syclamp_status syclamp_scaler_create(syclamp_engine engine, const syclamp_policy* policy,
                                     const syclamp_scaler_options* options, syclamp_scaler* scaler) {
  return guarded(__func__, [&] {
    const auto object = get<engine_object>(engine);
    need(scaler, "scaler");
    const call_order order{object.get()};
    const syclamp_scaler_options given = read_options(options, "options");
    need_zero(given.reserved, "options.reserved");
    syclamp::scaler_options made{.scales = given.scales == 0 ? 1 : given.scales,
                                 .skip_together = given.skip_separately == 0,
                                 .consensus = to_consensus(given)};
    if (given.ledger != 0) made.ledger = given.ledger;
    syclamp::loss_scaler created(object->engine, to_policy(policy), made);
    *scaler = make_handle<syclamp_scaler>(std::make_shared<scaler_object>(object, std::move(created)));
  });
}

syclamp_status syclamp_scaler_destroy(syclamp_scaler scaler) {
  return guarded(__func__, [&] { remove_handle(scaler, object_kind::scaler); });
}

syclamp_status syclamp_scaler_begin_step(syclamp_scaler scaler, const float** device_scale) {
  return guarded(__func__, [&] {
    const auto object = get<scaler_object>(scaler);
    const call_order order{object->engine.get()};
    const float* scale = object->scaler.begin_step();
    if (device_scale != nullptr) *device_scale = scale;
  });
}

syclamp_status syclamp_scaler_scale(syclamp_scaler scaler, syclamp_tensor_list loss, syclamp_tensor_list scaled) {
  return guarded(__func__, [&] {
    const auto object = get<scaler_object>(scaler);
    const auto in = get<list_object>(loss);
    const auto out = scaled == nullptr ? in : get<list_object>(scaled);
    const call_order order{object->engine.get(), in->engine.get(), out->engine.get()};
    keep(*object, in);
    keep(*object, out);
    if (scaled == nullptr)
      object->scaler.scale(in->list);
    else
      object->scaler.scale(in->list, out->list);
  });
}

syclamp_status syclamp_scaler_unscale(syclamp_scaler scaler, syclamp_optimizer optimizer,
                                      const syclamp_step_options* options, syclamp_unscaled* unscaled) {
  return guarded(__func__, [&] {
    const auto object = get<scaler_object>(scaler);
    const auto target = get<optimizer_object>(optimizer);
    const call_order order{object->engine.get(), target->engine.get()};
    const syclamp::step_options made = to_step_options(*target->engine, options);
    keep(*object, target);
    syclamp::unscaled_gradients gradients = object->scaler.unscale(target->optimizer, made);
    hand_over(std::move(gradients), unscaled_list(target), unscaled);
  });
}

syclamp_status syclamp_scaler_unscale_list(syclamp_scaler scaler, syclamp_tensor_list gradients,
                                           syclamp_tensor_list out, const syclamp_step_options* options,
                                           syclamp_unscaled* unscaled) {
  return guarded(__func__, [&] {
    const auto object = get<scaler_object>(scaler);
    const auto in = get<list_object>(gradients);
    const auto to = out == nullptr ? in : get<list_object>(out);
    const call_order order{object->engine.get(), in->engine.get(), to->engine.get()};
    const syclamp::step_options made = to_step_options(*in->engine, options);
    keep(*object, in);
    keep(*object, to);
    hand_over(
        out == nullptr ? object->scaler.unscale(in->list, made) : object->scaler.unscale(in->list, to->list, made), to,
        unscaled);
  });
}

syclamp_status syclamp_scaler_inspect(syclamp_scaler scaler, syclamp_tensor_list gradients,
                                      const syclamp_step_options* options,
                                      const syclamp_step_decision** device_decisions) {
  return guarded(__func__, [&] {
    const auto object = get<scaler_object>(scaler);
    const auto list = get<list_object>(gradients);
    need(device_decisions, "device_decisions");
    const call_order order{object->engine.get(), list->engine.get()};
    const syclamp::step_options made = to_step_options(*list->engine, options);
    keep(*object, list);
    *device_decisions = reinterpret_cast<const syclamp_step_decision*>(object->scaler.inspect(list->list, made));
  });
}

syclamp_status syclamp_scaler_step(syclamp_scaler scaler, syclamp_optimizer optimizer,
                                   const syclamp_step_options* options) {
  return guarded(__func__, [&] {
    const auto object = get<scaler_object>(scaler);
    const auto target = get<optimizer_object>(optimizer);
    const call_order order{object->engine.get(), target->engine.get()};
    const syclamp::step_options made = to_step_options(*target->engine, options);
    keep(*object, target);
    object->scaler.step(target->optimizer, made);
  });
}

syclamp_status syclamp_scaler_step_jointly(syclamp_scaler scaler, const syclamp_optimizer* optimizers, size_t count,
                                           const syclamp_step_options* options) {
  return guarded(__func__, [&] {
    const auto object = get<scaler_object>(scaler);
    constexpr size_t most = 65536;
    if (count == 0 || count > most)
      throw syclamp::invalid_argument(
          fmt::format("the argument count is {}; a joint step has from 1 to {} optimizers", count, most));
    need(optimizers, "optimizers");
    std::vector<std::shared_ptr<optimizer_object>> targets;
    std::vector<const engine_object*> engines{object->engine.get()};
    std::vector<syclamp::optimizer*> all;
    for (size_t i = 0; i < count; ++i) {
      const auto& target = targets.emplace_back(get<optimizer_object>(optimizers[i]));
      engines.push_back(target->engine.get());
      all.push_back(&target->optimizer);
    }
    const call_order order(std::move(engines));
    const syclamp::step_options made = to_step_options(*targets.front()->engine, options);
    for (const auto& target : targets) keep(*object, target);
    object->scaler.step(std::span<syclamp::optimizer* const>(all), made);
  });
}

syclamp_status syclamp_scaler_update(syclamp_scaler scaler) {
  return guarded(__func__, [&] {
    const auto object = get<scaler_object>(scaler);
    const call_order order{object->engine.get()};
    object->scaler.update();
    object->used.clear();
  });
}

syclamp_status syclamp_scaler_update_to(syclamp_scaler scaler, float new_scale) {
  return guarded(__func__, [&] {
    const auto object = get<scaler_object>(scaler);
    const call_order order{object->engine.get()};
    object->scaler.update(new_scale);
    object->used.clear();
  });
}

syclamp_status syclamp_scaler_accumulate(syclamp_scaler scaler, syclamp_tensor_list gradients,
                                         syclamp_tensor_list sum) {
  return guarded(__func__, [&] {
    const auto object = get<scaler_object>(scaler);
    const auto in = get<list_object>(gradients), to = get<list_object>(sum);
    const call_order order{object->engine.get(), in->engine.get(), to->engine.get()};
    keep(*object, in);
    keep(*object, to);
    object->scaler.accumulate(in->list, to->list);
  });
}

syclamp_status syclamp_scaler_step_accumulated(syclamp_scaler scaler, syclamp_optimizer optimizer,
                                               const syclamp_step_options* options) {
  return guarded(__func__, [&] {
    const auto object = get<scaler_object>(scaler);
    const auto target = get<optimizer_object>(optimizer);
    const call_order order{object->engine.get(), target->engine.get()};
    const syclamp::step_options made = to_step_options(*target->engine, options);
    keep(*object, target);
    object->scaler.step_accumulated(target->optimizer, made);
  });
}

syclamp_status syclamp_scaler_prepare(syclamp_scaler scaler, syclamp_tensor_list gradients) {
  return guarded(__func__, [&] {
    const auto object = get<scaler_object>(scaler);
    const auto list = get<list_object>(gradients);
    const call_order order{object->engine.get(), list->engine.get()};
    object->scaler.prepare(list->list);
  });
}

syclamp_status syclamp_scaler_resume(syclamp_scaler scaler) {
  return guarded(__func__, [&] {
    const auto object = get<scaler_object>(scaler);
    const call_order order{object->engine.get()};
    object->scaler.resume();
  });
}

syclamp_status syclamp_scaler_user_flags(syclamp_scaler scaler, uint32_t** device_flags) {
  return guarded(__func__, [&] {
    const auto object = get<scaler_object>(scaler);
    need(device_flags, "device_flags");
    *device_flags = object->scaler.device_user_flags();
  });
}
