// SPDX-License-Identifier: Apache-2.0
// What can be read from an optimizer, and its state for programs that write checkpoints themselves.
#include <algorithm>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "bindings/c/objects.hpp"
#include "bindings/c/structs.hpp"
#include "syclamp/c/optimizer.h"
#include "syclamp/fused_optimizer.hpp"

using namespace syclamp::c;

syclamp_status syclamp_optimizer_get_progress(syclamp_optimizer optimizer, uint32_t group,
                                              syclamp_optimizer_progress* progress) {
  return guarded(__func__, [&] {
    const auto object = get<optimizer_object>(optimizer);
    const size_t size = checked_size(progress, "progress");
    const syclamp::optimizer_progress found = object->optimizer.progress(group);  // callable from any thread
    write_struct(progress,
                 {.struct_size = size,
                  .finished = found.finished,
                  .applied = found.applied,
                  .last_was_applied = found.last_was_applied,
                  .reserved = 0},
                 size);
  });
}

syclamp_status syclamp_optimizer_steps(syclamp_optimizer optimizer, uint32_t group, uint64_t* steps) {
  return guarded(__func__, [&] {
    const auto object = get<optimizer_object>(optimizer);
    need(steps, "steps");
    const call_order order{object->engine.get()};
    *steps = object->optimizer.steps(group);
  });
}

syclamp_status syclamp_optimizer_describe(syclamp_optimizer optimizer, syclamp_optimizer_info* info) {
  return guarded(__func__, [&] {
    const auto object = get<optimizer_object>(optimizer);
    const size_t size = checked_size(info, "info");
    const call_order order{object->engine.get()};
    write_struct(info,
                 {.struct_size = size,
                  .parameters = object->optimizer.size(),
                  .device_bytes = object->optimizer.device_bytes(),
                  .groups = object->optimizer.groups(),
                  .states = object->optimizer.states()},
                 size);
  });
}

syclamp_status syclamp_optimizer_weights(syclamp_optimizer optimizer, uint64_t parameter, float* weights,
                                         uint64_t count) {
  return guarded(__func__, [&] {
    const auto object = get<optimizer_object>(optimizer);
    const call_order order{object->engine.get()};
    const std::vector<float> values = object->optimizer.weights(parameter);
    if (count != values.size())
      throw syclamp::invalid_argument(
          fmt::format("the argument count is {}, but parameter {} has {} weights", count, parameter, values.size()));
    if (count == 0) return;
    need(weights, "weights");
    std::copy(values.begin(), values.end(), weights);
  });
}

syclamp_status syclamp_optimizer_state(syclamp_optimizer optimizer, uint64_t parameter, uint32_t index,
                                       syclamp_tensor* moment) {
  return guarded(__func__, [&] {
    const auto object = get<optimizer_object>(optimizer);
    const size_t size = checked_size(moment, "moment");
    const call_order order{object->engine.get()};
    const syclamp::array_view state = object->optimizer.state(parameter, index);
    const syclamp::tensor_list& gradients = object->optimizer.gradients();
    write_struct(moment,
                 {.struct_size = size,
                  .address = state.data(),
                  .count = state.count(),
                  .type = static_cast<syclamp_element_type>(state.type()),
                  .group = gradients.group(parameter),
                  .name = gradients.name(parameter).c_str(),
                  .replicated = gradients.is_replicated(parameter) ? 1 : 0,
                  .read_only = 0},
                 size);
  });
}

syclamp_status syclamp_optimizer_device_steps(syclamp_optimizer optimizer, uint32_t group,
                                              const uint64_t** device_steps) {
  return guarded(__func__, [&] {
    const auto object = get<optimizer_object>(optimizer);
    need(device_steps, "device_steps");
    const call_order order{object->engine.get()};
    *device_steps = object->optimizer.device_steps(group);
  });
}

syclamp_status syclamp_optimizer_set_steps(syclamp_optimizer optimizer, const uint64_t* applied, size_t count) {
  return guarded(__func__, [&] {
    const auto object = get<optimizer_object>(optimizer);
    need(applied, "applied");
    const call_order order{object->engine.get()};
    object->optimizer.set_steps({applied, count});
  });
}

syclamp_status syclamp_optimizer_tensor_moments(syclamp_optimizer optimizer, float* moments, size_t capacity,
                                                size_t* count) {
  return guarded(__func__, [&] {
    const auto object = get<optimizer_object>(optimizer);
    const call_order order{object->engine.get()};
    const std::vector<float> found = object->optimizer.tensor_moments();
    if (moments != nullptr) std::copy_n(found.begin(), std::min(capacity, found.size()), moments);
    if (count != nullptr) *count = found.size();
  });
}

syclamp_status syclamp_optimizer_set_tensor_moments(syclamp_optimizer optimizer, const float* moments, size_t count) {
  return guarded(__func__, [&] {
    const auto object = get<optimizer_object>(optimizer);
    if (count != 0) need(moments, "moments");
    const call_order order{object->engine.get()};
    object->optimizer.set_tensor_moments({moments, count});
  });
}
