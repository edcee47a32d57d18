// SPDX-License-Identifier: Apache-2.0
// The scaler's state as text and as a file, in the library's own format and in those of other frameworks.
#include <memory>

#include "bindings/c/objects.hpp"
#include "bindings/c/structs.hpp"
#include "bindings/c/texts.hpp"
#include "syclamp/c/scaler.h"
#include "syclamp/framework_states.hpp"
#include "syclamp/scaler_snapshot.hpp"

using namespace syclamp::c;

syclamp_status syclamp_scaler_get_state(syclamp_scaler scaler, char** json) {
  return guarded(__func__, [&] {
    const auto object = get<scaler_object>(scaler);
    need(json, "json");
    const call_order order{object->engine.get()};
    *json = make_text(syclamp::to_json(object->scaler.state()));
  });
}

syclamp_status syclamp_scaler_set_state(syclamp_scaler scaler, const char* json) {
  return guarded(__func__, [&] {
    const auto object = get<scaler_object>(scaler);
    need(json, "json");
    const call_order order{object->engine.get()};
    object->scaler.load(syclamp::snapshot_from_json(json));
  });
}

syclamp_status syclamp_scaler_save_state(syclamp_scaler scaler, const char* file) {
  return guarded(__func__, [&] {
    const auto object = get<scaler_object>(scaler);
    need(file, "file");
    const call_order order{object->engine.get()};
    syclamp::save_snapshot(object->scaler.state(), file);
  });
}

syclamp_status syclamp_scaler_load_state(syclamp_scaler scaler, const char* file) {
  return guarded(__func__, [&] {
    const auto object = get<scaler_object>(scaler);
    need(file, "file");
    const call_order order{object->engine.get()};
    object->scaler.load(syclamp::load_snapshot(file));
  });
}

syclamp_status syclamp_scaler_get_framework_state(syclamp_scaler scaler, const char* framework, char** json) {
  return guarded(__func__, [&] {
    const auto object = get<scaler_object>(scaler);
    need(framework, "framework");
    need(json, "json");
    const call_order order{object->engine.get()};
    *json = make_text(syclamp::to_framework_state(object->scaler.state(), framework));
  });
}

syclamp_status syclamp_scaler_set_framework_state(syclamp_scaler scaler, const char* framework, const char* json) {
  return guarded(__func__, [&] {
    const auto object = get<scaler_object>(scaler);
    need(framework, "framework");
    need(json, "json");
    const call_order order{object->engine.get()};
    object->scaler.load(syclamp::from_framework_state(json, framework, object->scaler.state()));
  });
}
