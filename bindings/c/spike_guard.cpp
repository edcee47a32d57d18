// SPDX-License-Identifier: Apache-2.0
#include "syclamp/c/spike_guard.h"

#include <memory>
#include <utility>

#include "bindings/c/objects.hpp"
#include "bindings/c/structs.hpp"
#include "syclamp/spike_guard.hpp"

using namespace syclamp::c;

syclamp_status syclamp_spike_guard_create(syclamp_engine engine, const syclamp_spike_guard_options* options,
                                          syclamp_spike_guard* guard) {
  return guarded(__func__, [&] {
    const auto object = get<engine_object>(engine);
    need(guard, "guard");
    const syclamp_spike_guard_options given = read_options(options, "options");
    syclamp::spike_guard::settings settings;
    if (given.threshold != 0.0f) settings.threshold = given.threshold;
    if (given.window != 0) settings.window = given.window;
    const call_order order{object.get()};
    syclamp::spike_guard made(object->engine, settings);
    *guard = make_handle<syclamp_spike_guard>(std::make_shared<spike_guard_object>(object, std::move(made)));
  });
}

syclamp_status syclamp_spike_guard_destroy(syclamp_spike_guard guard) {
  return guarded(__func__, [&] { remove_handle(guard, object_kind::spike_guard); });
}

syclamp_status syclamp_spike_guard_check(syclamp_spike_guard guard, const float* device_value, syclamp_scaler scaler) {
  return guarded(__func__, [&] {
    const auto object = get<spike_guard_object>(guard);
    const auto target = get<scaler_object>(scaler);
    need(device_value, "device_value");
    const call_order order{object->engine.get(), target->engine.get()};
    const block_owner owner = find_block(*object->engine, device_value, sizeof(float), "device_value");
    object->guard.check({object->engine->engine, device_value}, target->scaler);
  });
}
