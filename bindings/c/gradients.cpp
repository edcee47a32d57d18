// SPDX-License-Identifier: Apache-2.0
#include "syclamp/c/gradients.h"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "bindings/c/conversions.hpp"
#include "bindings/c/objects.hpp"
#include "bindings/c/structs.hpp"
#include "syclamp/cast.hpp"
#include "syclamp/gradients.hpp"

using namespace syclamp::c;

namespace {

/// The inspection of a list that decides whether an operation writes; null: it always does.
const syclamp::inspection* condition(const inspector_object* inspector, const list_object& list) {
  if (inspector == nullptr) return nullptr;
  if (inspector->list->engine != list.engine)
    throw syclamp::invalid_argument("the inspector belongs to another engine than the list; make it with that engine");
  return inspector->inspector.device_result();
}

struct clip_arguments {
  std::shared_ptr<inspector_object> inspector;
  std::shared_ptr<unscaled_object> gradients;
};

clip_arguments checked_clip(syclamp_inspector inspector, syclamp_unscaled unscaled) {
  clip_arguments found{get<inspector_object>(inspector), get<unscaled_object>(unscaled)};
  if (found.inspector->list->engine != found.gradients->engine)
    throw syclamp::invalid_argument(
        "the inspector belongs to another engine than the gradients; make it with that one");
  return found;
}

}  // namespace

syclamp_status syclamp_unscale(syclamp_tensor_list in, syclamp_tensor_list out, float scale, const float* device_scale,
                               syclamp_unscaled* unscaled) {
  return guarded(__func__, [&] {
    const auto from = get<list_object>(in), to = get<list_object>(out);
    const call_order order{from->engine.get(), to->engine.get()};
    hand_over(syclamp::unscale(from->list, to->list, to_scalar(*to->engine, scale, device_scale, "device_scale")), to,
              unscaled);
  });
}

syclamp_status syclamp_scale(syclamp_tensor_list in, syclamp_tensor_list out, float factor,
                             const float* device_factor) {
  return guarded(__func__, [&] {
    const auto from = get<list_object>(in), to = get<list_object>(out);
    const call_order order{from->engine.get(), to->engine.get()};
    syclamp::scale(from->list, to->list, to_scalar(*to->engine, factor, device_factor, "device_factor"));
  });
}

syclamp_status syclamp_accumulate(syclamp_tensor_list in, syclamp_tensor_list sum, float scale,
                                  const float* device_scale, syclamp_inspector overflow_check,
                                  syclamp_unscaled* unscaled) {
  return guarded(__func__, [&] {
    const auto from = get<list_object>(in), to = get<list_object>(sum);
    const auto inspector = get_optional<inspector_object>(overflow_check);
    const call_order order{from->engine.get(), to->engine.get()};
    hand_over(syclamp::accumulate(from->list, to->list, to_scalar(*to->engine, scale, device_scale, "device_scale"),
                                  condition(inspector.get(), *to)),
              to, unscaled);
  });
}

syclamp_status syclamp_clear(syclamp_tensor_list list, syclamp_inspector overflow_check) {
  return guarded(__func__, [&] {
    const auto object = get<list_object>(list);
    const auto inspector = get_optional<inspector_object>(overflow_check);
    const call_order order{object->engine.get()};
    syclamp::clear_gradients(object->list, condition(inspector.get(), *object));
  });
}

syclamp_status syclamp_cast(syclamp_tensor_list in, syclamp_tensor_list out, const syclamp_cast_options* options) {
  return guarded(__func__, [&] {
    const auto from = get<list_object>(in), to = get<list_object>(out);
    const call_order order{from->engine.get(), to->engine.get()};
    const syclamp_cast_options given = read_options(options, "options");
    need_zero(given.reserved, "options.reserved");
    const engine_object& engine = *to->engine;
    find_block(engine, given.device_saturated, sizeof(std::uint64_t), "options.device_saturated");
    find_block(engine, given.device_step, sizeof(std::uint64_t), "options.device_step");
    find_block(engine, given.device_scales, to->list.size() * sizeof(float), "options.device_scales");
    const auto rounding = checked_enumeration(given.rounding, syclamp::rounding::stochastic, "options.rounding");
    syclamp::cast(from->list, to->list,
                  {.rounding_mode = rounding,
                   .saturate = given.saturate != 0,
                   .saturated = given.device_saturated,
                   .scales = given.device_scales,
                   .divide = given.divide != 0,
                   .seed = given.seed,
                   .step = given.device_step});
  });
}

syclamp_status syclamp_unscaled_create(syclamp_tensor_list never_scaled, syclamp_unscaled* unscaled) {
  return guarded(__func__, [&] {
    const auto list = get<list_object>(never_scaled);
    need(unscaled, "unscaled");
    const call_order order{list->engine.get()};
    hand_over(syclamp::unscaled_gradients::never_scaled(list->list), list, unscaled);
  });
}

syclamp_status syclamp_unscaled_destroy(syclamp_unscaled unscaled) {
  return guarded(__func__, [&] { remove_handle(unscaled, object_kind::unscaled); });
}

syclamp_status syclamp_unscaled_list(syclamp_unscaled unscaled, syclamp_tensor_list* list) {
  return guarded(__func__, [&] {
    const auto object = get<unscaled_object>(unscaled);
    need(list, "list");
    *list = make_handle<syclamp_tensor_list>(object->list);
  });
}

syclamp_status syclamp_clip(syclamp_inspector inspector, syclamp_unscaled unscaled, float max_norm,
                            const float* device_max_norm, syclamp_norm_kind kind) {
  return guarded(__func__, [&] {
    const auto [object, gradients] = checked_clip(inspector, unscaled);
    const engine_object& engine = *gradients->engine;
    const call_order order{&engine};
    const auto norm = checked_enumeration(kind, syclamp::norm_kind::l_infinity, "the argument kind");
    syclamp::clip_coefficient(engine.engine, object->inspector.device_result(),
                              to_scalar(engine, max_norm, device_max_norm, "device_max_norm"), object->clips.data(),
                              norm);
    syclamp::clip(gradients->gradients, object->clips.data());
    object->clipped = 1;
  });
}

syclamp_status syclamp_clip_by_group(syclamp_inspector inspector, syclamp_unscaled unscaled, float max_norm,
                                     const float* device_max_norm, syclamp_norm_kind kind) {
  return guarded(__func__, [&] {
    const auto [object, gradients] = checked_clip(inspector, unscaled);
    const engine_object& engine = *gradients->engine;
    const call_order order{&engine};
    const auto norm = checked_enumeration(kind, syclamp::norm_kind::l_infinity, "the argument kind");
    const syclamp::inspection* groups = object->inspector.device_groups();
    const std::uint32_t count = object->list->list.groups();
    if (groups == nullptr)
      throw syclamp::invalid_argument("the inspector has no results per group; make it with SYCLAMP_INSPECT_TENSORS");
    if (gradients->gradients.list().groups() != count)
      throw syclamp::invalid_argument(
          fmt::format("the inspector has {} groups and the gradients have {}; inspect the "
                      "gradients that are clipped",
                      count, gradients->gradients.list().groups()));
    syclamp::clip_coefficients(engine.engine, groups, count,
                               to_scalar(engine, max_norm, device_max_norm, "device_max_norm"), object->clips.data(),
                               norm);
    syclamp::clip_by_group(gradients->gradients, object->clips.data());
    object->clipped = count;
  });
}

syclamp_status syclamp_clip_by_value(syclamp_unscaled unscaled, float limit, const float* device_limit) {
  return guarded(__func__, [&] {
    const auto object = get<unscaled_object>(unscaled);
    const call_order order{object->engine.get()};
    syclamp::clip_by_value(object->gradients, to_scalar(*object->engine, limit, device_limit, "device_limit"));
  });
}

syclamp_status syclamp_clip_result(syclamp_inspector inspector, uint32_t group, float* norm, float* coefficient) {
  return guarded(__func__, [&] {
    const auto object = get<inspector_object>(inspector);
    const call_order order{object->list->engine.get()};
    if (group >= object->clipped)
      throw syclamp::invalid_argument(fmt::format(
          "there is no result {}; the last clip operation with this inspector has written {}", group, object->clipped));
    const syclamp::clip_result result = object->clips.to_vector()[group];
    if (norm != nullptr) *norm = result.norm;
    if (coefficient != nullptr) *coefficient = result.coefficient;
  });
}
