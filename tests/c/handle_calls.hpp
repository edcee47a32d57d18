// SPDX-License-Identifier: Apache-2.0
/// \file
/// Every function of the C interface that takes a handle, with its other arguments valid, or null where null is
/// allowed. Only the handle under test is wrong.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/c/support.hpp"

namespace c_tests {

/// The kinds of handles, as the table below names them.
enum class kind { engine, list, inspector, unscaled, scaler, optimizer, guard, recorded };

/// One call with one handle left open.
struct handle_call {
  std::string name;
  kind expected;
  std::function<syclamp_status(void*)> call;
};

/// Valid arguments for calls, and memory for their results.
struct arguments {
  syclamp_tensor_list list;
  syclamp_inspector inspector;
  syclamp_unscaled unscaled;
  syclamp_scaler scaler;
  syclamp_optimizer optimizer;
  syclamp_spike_guard guard;
};

/// A recorded step without calls.
inline std::int32_t no_calls(void*) { return 0; }

inline std::vector<handle_call> all_handle_calls(const arguments& given) {
  static float number;
  static double real;
  static std::uint64_t count, counts[256];
  static size_t size;
  static char* text;
  static const char* name;
  static void* address;
  static const float* scale;
  static std::uint32_t* flags;
  static const syclamp_step_decision* decisions;
  static syclamp_tensor_list list;
  static syclamp_inspector inspector;
  static syclamp_unscaled unscaled;
  static syclamp_scaler scaler;
  static syclamp_optimizer optimizer;
  static syclamp_spike_guard guard;
  static syclamp_recorded_step recorded;
  static std::int32_t flag;
  static const std::uint64_t* device_steps;
  static auto described = sized<syclamp_tensor>();
  static auto statistics = sized<syclamp_engine_statistics>();
  static auto list_info = sized<syclamp_tensor_list_info>();
  static auto inspection = sized<syclamp_inspection>();
  static auto record = sized<syclamp_step_record>();
  static auto policy = sized<syclamp_policy>();
  static auto chosen = settings(SYCLAMP_SGD, 0.1);
  static auto parameter = sized<syclamp_parameter>();
  static auto schedule = sized<syclamp_lr_schedule>();
  static auto progress = sized<syclamp_optimizer_progress>();
  static auto optimizer_info = sized<syclamp_optimizer_info>();
  syclamp_policy_preset(nullptr, &policy);
  const arguments a = given;
#define ENGINE(call)                               \
  {#call, kind::engine, [=](void* handle) {        \
     auto h = static_cast<syclamp_engine>(handle); \
     return call;                                  \
   }}
#define LIST(call)                                      \
  {#call, kind::list, [=](void* handle) {               \
     auto h = static_cast<syclamp_tensor_list>(handle); \
     return call;                                       \
   }}
#define INSPECTOR(call)                               \
  {#call, kind::inspector, [=](void* handle) {        \
     auto h = static_cast<syclamp_inspector>(handle); \
     return call;                                     \
   }}
#define UNSCALED(call)                               \
  {#call, kind::unscaled, [=](void* handle) {        \
     auto h = static_cast<syclamp_unscaled>(handle); \
     return call;                                    \
   }}
#define SCALER(call)                               \
  {#call, kind::scaler, [=](void* handle) {        \
     auto h = static_cast<syclamp_scaler>(handle); \
     return call;                                  \
   }}
#define OPTIMIZER(call)                               \
  {#call, kind::optimizer, [=](void* handle) {        \
     auto h = static_cast<syclamp_optimizer>(handle); \
     return call;                                     \
   }}
#define GUARD(call)                                     \
  {#call, kind::guard, [=](void* handle) {              \
     auto h = static_cast<syclamp_spike_guard>(handle); \
     return call;                                       \
   }}
#define RECORDED(call)                                    \
  {#call, kind::recorded, [=](void* handle) {             \
     auto h = static_cast<syclamp_recorded_step>(handle); \
     return call;                                         \
   }}
  // clang-format off
  return {
      ENGINE(syclamp_engine_profile(h, &name)),
      ENGINE(syclamp_engine_device_name(h, &text)),
      ENGINE(syclamp_engine_get_statistics(h, &statistics)),
      ENGINE(syclamp_engine_compile_all(h)),
      ENGINE(syclamp_engine_wait(h)),
      ENGINE(syclamp_engine_get_queue(h, &address)),
      ENGINE(syclamp_engine_depend_on(h, nullptr, 0)),
      ENGINE(syclamp_engine_get_event(h, nullptr)),
      ENGINE(syclamp_inspect(h, nullptr, 0, SYCLAMP_FLOAT32, &inspection)),
      ENGINE(syclamp_spike_guard_create(h, nullptr, &guard)),
      ENGINE(syclamp_recorded_step_create(h, no_calls, nullptr, SYCLAMP_RECORD_NEVER, &recorded)),
      ENGINE(syclamp_memory_allocate(h, 64, SYCLAMP_DEVICE_MEMORY, &address)),
      ENGINE(syclamp_memory_adopt(h, &number, sizeof number)),
      ENGINE(syclamp_memory_copy_in(h, counts, &number, 4)),
      ENGINE(syclamp_memory_copy_out(h, &number, counts, 4)),
      ENGINE(syclamp_memory_fill(h, counts, 0, 4)),
      ENGINE(syclamp_tensor_list_create(h, nullptr, 0, &list)),
      ENGINE(syclamp_scaler_create(h, nullptr, nullptr, &scaler)),
      ENGINE(syclamp_optimizer_create(h, &parameter, 1, &chosen, 1, nullptr, &optimizer)),

      LIST(syclamp_tensor_list_describe(h, &list_info)),
      LIST(syclamp_tensor_list_tensor(h, 0, &described)),
      LIST(syclamp_tensor_list_set_address(h, 0, nullptr)),
      LIST(syclamp_tensor_list_set_addresses(h, nullptr, 0)),
      LIST(syclamp_inspector_create(h, SYCLAMP_INSPECT_LIST, &inspector)),
      LIST(syclamp_inspector_unscale(a.inspector, h, 1, nullptr, &unscaled)),
      LIST(syclamp_unscale(h, a.list, 1, nullptr, &unscaled)),
      LIST(syclamp_unscale(a.list, h, 1, nullptr, &unscaled)),
      LIST(syclamp_scale(h, a.list, 1, nullptr)),
      LIST(syclamp_scale(a.list, h, 1, nullptr)),
      LIST(syclamp_accumulate(h, a.list, 1, nullptr, nullptr, &unscaled)),
      LIST(syclamp_accumulate(a.list, h, 1, nullptr, nullptr, &unscaled)),
      LIST(syclamp_clear(h, nullptr)),
      LIST(syclamp_cast(h, a.list, nullptr)),
      LIST(syclamp_cast(a.list, h, nullptr)),
      LIST(syclamp_unscaled_create(h, &unscaled)),
      LIST(syclamp_scaler_scale(a.scaler, h, nullptr)),
      LIST(syclamp_scaler_unscale_list(a.scaler, h, nullptr, nullptr, &unscaled)),
      LIST(syclamp_scaler_inspect(a.scaler, h, nullptr, &decisions)),
      LIST(syclamp_scaler_accumulate(a.scaler, h, a.list)),
      LIST(syclamp_scaler_accumulate(a.scaler, a.list, h)),
      LIST(syclamp_scaler_prepare(a.scaler, h)),

      INSPECTOR(syclamp_inspector_run(h, 1, nullptr)),
      INSPECTOR(syclamp_inspector_unscale(h, a.list, 1, nullptr, &unscaled)),
      INSPECTOR(syclamp_inspector_result(h, &inspection)),
      INSPECTOR(syclamp_inspector_tensor(h, 0, &inspection)),
      INSPECTOR(syclamp_inspector_tensors(h, &inspection, 1)),
      INSPECTOR(syclamp_inspector_group(h, 0, &inspection)),
      INSPECTOR(syclamp_inspector_histogram(h, counts)),
      INSPECTOR(syclamp_inspector_device_results(h, nullptr, nullptr, nullptr, nullptr)),
      INSPECTOR(syclamp_inspector_list(h, &list)),
      INSPECTOR(syclamp_clip(h, a.unscaled, 1, nullptr, SYCLAMP_NORM_L2)),
      INSPECTOR(syclamp_clip_by_group(h, a.unscaled, 1, nullptr, SYCLAMP_NORM_L2)),
      INSPECTOR(syclamp_clip_result(h, 0, &number, nullptr)),

      UNSCALED(syclamp_clip(a.inspector, h, 1, nullptr, SYCLAMP_NORM_L2)),
      UNSCALED(syclamp_clip_by_group(a.inspector, h, 1, nullptr, SYCLAMP_NORM_L2)),
      UNSCALED(syclamp_clip_by_value(h, 1, nullptr)),
      UNSCALED(syclamp_unscaled_list(h, &list)),

      SCALER(syclamp_scaler_begin_step(h, &scale)),
      SCALER(syclamp_scaler_scale(h, a.list, nullptr)),
      SCALER(syclamp_scaler_unscale(h, a.optimizer, nullptr, &unscaled)),
      SCALER(syclamp_scaler_unscale_list(h, a.list, nullptr, nullptr, &unscaled)),
      SCALER(syclamp_scaler_inspect(h, a.list, nullptr, &decisions)),
      SCALER(syclamp_scaler_step(h, a.optimizer, nullptr)),
      SCALER(syclamp_scaler_step_jointly(h, &a.optimizer, 1, nullptr)),
      SCALER(syclamp_scaler_update(h)),
      SCALER(syclamp_scaler_update_to(h, 1)),
      SCALER(syclamp_scaler_accumulate(h, a.list, a.list)),
      SCALER(syclamp_scaler_step_accumulated(h, a.optimizer, nullptr)),
      SCALER(syclamp_scaler_prepare(h, a.list)),
      SCALER(syclamp_scaler_resume(h)),
      SCALER(syclamp_scaler_user_flags(h, &flags)),
      SCALER(syclamp_scaler_device_scale(h, &scale)),
      SCALER(syclamp_scaler_get_scale(h, 0, &number)),
      SCALER(syclamp_scaler_outcome(h, 0, &record)),
      SCALER(syclamp_scaler_records(h, &record, 1, &size)),
      SCALER(syclamp_scaler_ledger_text(h, SYCLAMP_LEDGER_CSV, &text)),
      SCALER(syclamp_scaler_on_step(h, nullptr, nullptr)),
      SCALER(syclamp_scaler_report(h)),
      SCALER(syclamp_scaler_get_policy(h, &policy)),
      SCALER(syclamp_scaler_set_policy(h, &policy)),
      SCALER(syclamp_scaler_get_state(h, &text)),
      SCALER(syclamp_scaler_set_state(h, "{}")),
      SCALER(syclamp_scaler_save_state(h, "/nowhere/file")),
      SCALER(syclamp_scaler_load_state(h, "/nowhere/file")),
      SCALER(syclamp_scaler_get_framework_state(h, "pytorch", &text)),
      SCALER(syclamp_scaler_set_framework_state(h, "pytorch", "{}")),
      SCALER(syclamp_spike_guard_check(a.guard, &number, h)),

      GUARD(syclamp_spike_guard_check(h, &number, a.scaler)),

      RECORDED(syclamp_recorded_step_run(h)),
      RECORDED(syclamp_recorded_step_is_recorded(h, &flag)),

      OPTIMIZER(syclamp_scaler_unscale(a.scaler, h, nullptr, &unscaled)),
      OPTIMIZER(syclamp_scaler_step(a.scaler, h, nullptr)),
      OPTIMIZER(syclamp_scaler_step_jointly(a.scaler, &h, 1, nullptr)),
      OPTIMIZER(syclamp_scaler_step_accumulated(a.scaler, h, nullptr)),
      OPTIMIZER(syclamp_optimizer_gradients(h, &list)),
      OPTIMIZER(syclamp_optimizer_apply(h)),
      OPTIMIZER(syclamp_optimizer_zero_gradients(h)),
      OPTIMIZER(syclamp_optimizer_set_lr(h, 0, 0.1)),
      OPTIMIZER(syclamp_optimizer_get_lr(h, 0, &real)),
      OPTIMIZER(syclamp_optimizer_set_lr_source(h, 0, nullptr)),
      OPTIMIZER(syclamp_optimizer_set_settings(h, 0, &chosen)),
      OPTIMIZER(syclamp_optimizer_get_settings(h, 0, &chosen)),
      OPTIMIZER(syclamp_optimizer_set_schedule(h, &schedule)),
      OPTIMIZER(syclamp_optimizer_get_progress(h, 0, &progress)),
      OPTIMIZER(syclamp_optimizer_steps(h, 0, &count)),
      OPTIMIZER(syclamp_optimizer_describe(h, &optimizer_info)),
      OPTIMIZER(syclamp_optimizer_weights(h, 0, &number, 1)),
      OPTIMIZER(syclamp_optimizer_state(h, 0, 0, &described)),
      OPTIMIZER(syclamp_optimizer_device_steps(h, 0, &device_steps)),
      OPTIMIZER(syclamp_optimizer_set_steps(h, &count, 1)),
      OPTIMIZER(syclamp_optimizer_tensor_moments(h, nullptr, 0, &size)),
      OPTIMIZER(syclamp_optimizer_set_tensor_moments(h, nullptr, 0)),
      OPTIMIZER(syclamp_checkpoint_save("/nowhere/file", &h, 1, nullptr, nullptr, 0)),
      OPTIMIZER(syclamp_checkpoint_load("/nowhere/file", &h, 1, nullptr, nullptr, nullptr)),
  };
  // clang-format on
#undef ENGINE
#undef LIST
#undef INSPECTOR
#undef UNSCALED
#undef SCALER
#undef OPTIMIZER
#undef GUARD
#undef RECORDED
}

}  // namespace c_tests
