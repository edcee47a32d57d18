// SPDX-License-Identifier: Apache-2.0
#include "syclamp/c/recorded_step.h"

#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bindings/c/call_notes.hpp"
#include "bindings/c/calls.hpp"
#include "bindings/c/objects.hpp"
#include "bindings/c/structs.hpp"
#include "syclamp/recorded_step.hpp"

using namespace syclamp::c;

namespace {

/// Calls the caller's function, and notes what it uses. The whole fails if a call inside it fails: a graph that lacks a
/// command, or copies from memory of the host, must never run.
void make_calls(syclamp_step_calls calls, void* user, call_notes& notes) {
  const engine_object* engine = notes.engine;
  notes = {};
  notes.engine = engine;
  std::int32_t result = 0;
  {
    const note_taking taking(notes);
    result = calls(user);
  }
  if (notes.failure != SYCLAMP_OK) throw call_error(notes.failure, "inside the recorded step: " + notes.message);
  if (result != 0) throw callback_error(fmt::format("the function calls has returned {}; 0 means success", result));
}

/// The list whose addresses an object's commands read; null: none.
const syclamp::tensor_list* list_of(const known_object& known) {
  switch (known.kind) {
    case object_kind::tensor_list: return &static_cast<list_object*>(known.object.get())->list;
    case object_kind::inspector: return &static_cast<inspector_object*>(known.object.get())->list->list;
    case object_kind::unscaled: return &static_cast<unscaled_object*>(known.object.get())->gradients.list();
    case object_kind::optimizer: return &static_cast<optimizer_object*>(known.object.get())->gradients->list;
    case object_kind::engine:
    case object_kind::scaler:
    case object_kind::spike_guard:
    case object_kind::recorded_step: return nullptr;
  }
  return nullptr;
}

}  // namespace

syclamp_status syclamp_recorded_step_create(syclamp_engine engine, syclamp_step_calls calls, void* user,
                                            syclamp_recording mode, syclamp_recorded_step* step) {
  return guarded(__func__, [&] {
    const auto object = get<engine_object>(engine);
    if (calls == nullptr)
      throw syclamp::invalid_argument("the argument calls is null; pass a function that submits a step");
    need(step, "step");
    const auto chosen = checked_enumeration(mode, syclamp::recording::never, "the argument mode");
    need_no_recording("create the other recorded step before this one");
    const call_order order{object.get()};
    const auto notes = std::make_shared<call_notes>();
    notes->engine = object.get();
    syclamp::recorded_step made(object->engine, [calls, user, notes] { make_calls(calls, user, *notes); }, chosen);
    *step = make_handle<syclamp_recorded_step>(std::make_shared<recorded_object>(object, notes, std::move(made)));
  });
}

syclamp_status syclamp_recorded_step_destroy(syclamp_recorded_step step) {
  return guarded(__func__, [&] { remove_handle(step, object_kind::recorded_step); });
}

syclamp_status syclamp_recorded_step_run(syclamp_recorded_step step) {
  return guarded(__func__, [&] {
    const auto object = get<recorded_object>(step);
    need_no_recording("run it after the function has returned");
    const call_order order{object->engine.get()};
    // A replay does not send changed addresses, and the memory at the old ones may be gone.
    if (object->step.is_recorded())
      for (const known_object& known : object->notes->objects)
        if (const syclamp::tensor_list* list = list_of(known)) static_cast<void>(list->prepared());
    object->step();
  });
}

syclamp_status syclamp_recorded_step_is_recorded(syclamp_recorded_step step, int32_t* recorded) {
  return guarded(__func__, [&] {
    const auto object = get<recorded_object>(step);
    need(recorded, "recorded");
    *recorded = object->step.is_recorded() ? 1 : 0;
  });
}
