// SPDX-License-Identifier: Apache-2.0
#include "syclamp/c/optimizer.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bindings/c/conversions.hpp"
#include "bindings/c/objects.hpp"
#include "bindings/c/structs.hpp"
#include "syclamp/c/tensor_list.h"
#include "syclamp/fused_optimizer.hpp"

using namespace syclamp::c;

namespace {

/// The parameters of the caller, and the owners of their memory.
struct parameter_list {
  std::vector<syclamp::parameter> parameters;
  std::vector<block_owner> gradients, weights;
};

parameter_list to_parameters(const engine_object& engine, const syclamp_parameter* given, std::size_t count,
                             const syclamp::storage_options& storage) {
  using syclamp::element_type;
  if (count == 0 || count > SYCLAMP_MAX_TENSORS)
    throw syclamp::invalid_argument(
        fmt::format("the argument count is {}; an optimizer has from 1 to {} parameters", count, SYCLAMP_MAX_TENSORS));
  const std::size_t size = checked_size(given, "parameters");
  parameter_list made;
  for (std::size_t i = 0; i < count; ++i) {
    const syclamp_parameter one = read_element(given, i, size, "parameters");
    const std::string name = one.name == nullptr ? "" : one.name;
    const auto find = [&](const void* address, element_type type, const char* part) {
      return find_block(engine, address, one.count, type, fmt::format("parameter {} \"{}\": {}", i, name, part));
    };
    const element_type gradient = to_element_type(one.gradient_type, "parameters[].gradient_type");
    const element_type model = to_element_type(one.model_type, "parameters[].model_type");
    made.gradients.push_back(find(one.gradient, gradient, "gradient"));
    made.weights.push_back(find(one.model, model, "model"));
    made.weights.push_back(find(one.master, element_type::float32, "master"));
    for (const void* state : one.states) made.weights.push_back(find(state, storage.moments, "states"));
    syclamp::parameter& parameter = made.parameters.emplace_back();
    parameter.gradient = syclamp::array_view(one.gradient, one.count, gradient);
    if (one.model != nullptr) parameter.model = syclamp::array_view(one.model, one.count, model);
    if (one.master != nullptr) parameter.master = syclamp::array_view(one.master, one.count);
    std::copy(std::begin(one.states), std::end(one.states), parameter.states.begin());
    parameter.name = name;
    parameter.group = one.group;
    parameter.replicated = one.replicated != 0;
  }
  return made;
}

syclamp::storage_options to_storage(const syclamp_storage_options* given) {
  const syclamp_storage_options options = read_options(given, "storage");
  return {.moments = options.bfloat16_moments != 0 ? syclamp::element_type::bfloat16 : syclamp::element_type::float32,
          .remainders = options.remainders != 0,
          .rounding_mode = checked_enumeration(options.rounding, syclamp::rounding::stochastic, "storage.rounding"),
          .seed = options.seed,
          .unscaled_shadow = options.unscaled_shadow != 0};
}

std::vector<syclamp::optimizer_settings> to_all_settings(const syclamp_optimizer_settings* given, std::size_t count) {
  if (count == 0 || count > SYCLAMP_MAX_TENSORS)
    throw syclamp::invalid_argument(
        fmt::format("the argument settings_count is {}; pass one for all groups, or one per group", count));
  const std::size_t size = checked_size(given, "settings");
  std::vector<syclamp::optimizer_settings> made;
  for (std::size_t i = 0; i < count; ++i) made.push_back(to_settings(read_element(given, i, size, "settings")));
  return made;
}

}  // namespace

syclamp_status syclamp_optimizer_defaults(syclamp_optimizer_kind kind, syclamp_optimizer_settings* settings) {
  return guarded(__func__, [&] {
    const size_t size = checked_size(settings, "settings");
    write_struct(settings, from_settings(default_settings(kind)), size);
  });
}

syclamp_status syclamp_optimizer_create(syclamp_engine engine, const syclamp_parameter* parameters, size_t count,
                                        const syclamp_optimizer_settings* settings, size_t settings_count,
                                        const syclamp_storage_options* storage, syclamp_optimizer* optimizer) {
  return guarded(__func__, [&] {
    const auto object = get<engine_object>(engine);
    need(optimizer, "optimizer");
    const call_order order{object.get()};
    const syclamp::storage_options stored = to_storage(storage);
    const std::vector<syclamp::optimizer_settings> all = to_all_settings(settings, settings_count);
    parameter_list list = to_parameters(*object, parameters, count, stored);
    syclamp::fused_optimizer made =
        all.size() == 1 ? syclamp::fused_optimizer(object->engine, std::move(list.parameters), all.front(), stored)
                        : syclamp::fused_optimizer(object->engine, std::move(list.parameters), all, stored);
    const std::uint32_t groups = made.groups();
    auto gradients = std::make_shared<list_object>(object, made.gradients(), std::move(list.gradients));
    *optimizer = make_handle<syclamp_optimizer>(std::make_shared<optimizer_object>(
        object, std::move(list.weights), std::vector<block_owner>(groups), std::move(made), std::move(gradients)));
  });
}

syclamp_status syclamp_optimizer_destroy(syclamp_optimizer optimizer) {
  return guarded(__func__, [&] { remove_handle(optimizer, object_kind::optimizer); });
}

syclamp_status syclamp_optimizer_gradients(syclamp_optimizer optimizer, syclamp_tensor_list* list) {
  return guarded(__func__, [&] {
    const auto object = get<optimizer_object>(optimizer);
    need(list, "list");
    *list = make_handle<syclamp_tensor_list>(object->gradients);
  });
}

syclamp_status syclamp_optimizer_apply(syclamp_optimizer optimizer) {
  return guarded(__func__, [&] {
    const auto object = get<optimizer_object>(optimizer);
    const call_order order{object->engine.get()};
    object->optimizer.apply();
  });
}

syclamp_status syclamp_optimizer_zero_gradients(syclamp_optimizer optimizer) {
  return guarded(__func__, [&] {
    const auto object = get<optimizer_object>(optimizer);
    const call_order order{object->engine.get()};
    object->optimizer.zero_gradients();
  });
}

syclamp_status syclamp_optimizer_set_lr(syclamp_optimizer optimizer, uint32_t group, double lr) {
  return guarded(__func__, [&] {
    const auto object = get<optimizer_object>(optimizer);
    const call_order order{object->engine.get()};
    if (group == SYCLAMP_ALL_GROUPS)
      object->optimizer.set_lr(lr);
    else
      object->optimizer.set_lr(lr, group);
  });
}

syclamp_status syclamp_optimizer_get_lr(syclamp_optimizer optimizer, uint32_t group, double* lr) {
  return guarded(__func__, [&] {
    const auto object = get<optimizer_object>(optimizer);
    need(lr, "lr");
    const call_order order{object->engine.get()};
    *lr = object->optimizer.lr(group);
  });
}

syclamp_status syclamp_optimizer_set_lr_source(syclamp_optimizer optimizer, uint32_t group, const float* device_lr) {
  return guarded(__func__, [&] {
    const auto object = get<optimizer_object>(optimizer);
    const call_order order{object->engine.get()};
    const block_owner owner = find_block(*object->engine, device_lr, sizeof(float), "device_lr");
    std::optional<syclamp::device_value> source;
    if (device_lr != nullptr) source.emplace(object->engine->engine, device_lr);
    if (group == SYCLAMP_ALL_GROUPS) {
      object->optimizer.set_lr_source(source);
      std::fill(object->lr_sources.begin(), object->lr_sources.end(), owner);
    } else {
      object->optimizer.set_lr_source(source, group);  // checks the group
      object->lr_sources[group] = owner;
    }
  });
}

syclamp_status syclamp_optimizer_set_settings(syclamp_optimizer optimizer, uint32_t group,
                                              const syclamp_optimizer_settings* settings) {
  return guarded(__func__, [&] {
    const auto object = get<optimizer_object>(optimizer);
    const call_order order{object->engine.get()};
    object->optimizer.set(to_settings(read_struct(settings, "settings")), group);
  });
}

syclamp_status syclamp_optimizer_get_settings(syclamp_optimizer optimizer, uint32_t group,
                                              syclamp_optimizer_settings* settings) {
  return guarded(__func__, [&] {
    const auto object = get<optimizer_object>(optimizer);
    const size_t size = checked_size(settings, "settings");
    const call_order order{object->engine.get()};
    write_struct(settings, from_settings(object->optimizer.settings(group)), size);
  });
}

syclamp_status syclamp_optimizer_set_schedule(syclamp_optimizer optimizer, const syclamp_lr_schedule* schedule) {
  return guarded(__func__, [&] {
    const auto object = get<optimizer_object>(optimizer);
    const syclamp_lr_schedule given = read_struct(schedule, "schedule");
    need_zero(given.reserved, "schedule.reserved");
    using shape = syclamp::lr_schedule::shape;
    static_assert(SYCLAMP_LR_COSINE == static_cast<int>(shape::cosine));
    const call_order order{object->engine.get()};
    object->optimizer.set_schedule({.kind = checked_enumeration(given.kind, shape::decay, "schedule.kind"),
                                    .gamma = given.gamma,
                                    .lowest = given.lowest,
                                    .warm_up = given.warm_up,
                                    .steps = given.steps});
  });
}
