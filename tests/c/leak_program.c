// SPDX-License-Identifier: Apache-2.0
// Makes, uses and destroys every kind of object twice, with and without errors. valgrind_test.py runs it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <syclamp/syclamp.h>

static void check(syclamp_status status, syclamp_status expected) {
  if (status == expected) return;
  fprintf(stderr, "leak_program: status %d instead of %d: %s\n", (int)status, (int)expected, syclamp_last_error());
  exit(1);
}

static void ok(syclamp_status status) { check(status, SYCLAMP_OK); }

struct training {
  syclamp_scaler scaler;
  syclamp_optimizer optimizer;
};

static int32_t make_step(void* user) {
  const struct training* run = user;
  if (syclamp_scaler_begin_step(run->scaler, NULL) != SYCLAMP_OK) return 1;
  if (syclamp_scaler_step(run->scaler, run->optimizer, NULL) != SYCLAMP_OK) return 1;
  return syclamp_scaler_update(run->scaler) == SYCLAMP_OK ? 0 : 1;
}

static int32_t fail(void* user) {
  (void)user;
  return 1;
}

static void use_recorded_steps(syclamp_engine engine, struct training* run, syclamp_tensor_list gradients) {
  syclamp_recorded_step step = NULL, none = NULL;
  ok(syclamp_scaler_prepare(run->scaler, gradients));
  ok(syclamp_recorded_step_create(engine, make_step, run, SYCLAMP_RECORD_IF_POSSIBLE, &step));
  ok(syclamp_recorded_step_run(step));
  ok(syclamp_recorded_step_run(step));
  ok(syclamp_recorded_step_destroy(step));
  ok(syclamp_recorded_step_create(engine, fail, NULL, SYCLAMP_RECORD_NEVER, &step));
  check(syclamp_recorded_step_run(step), SYCLAMP_CALLBACK_FAILED);
  ok(syclamp_recorded_step_destroy(step));
  check(syclamp_recorded_step_create(engine, NULL, NULL, SYCLAMP_RECORD_NEVER, &none), SYCLAMP_INVALID_ARGUMENT);
}

static void use_states(syclamp_scaler scaler) {
  char* text;
  ok(syclamp_scaler_get_framework_state(scaler, "pytorch", &text));
  ok(syclamp_scaler_set_framework_state(scaler, "pytorch", text));
  ok(syclamp_text_free(text));
  check(syclamp_scaler_set_framework_state(scaler, "pytorch", "{"), SYCLAMP_INVALID_ARGUMENT);
  check(syclamp_scaler_save_state(scaler, "/nowhere/file"), SYCLAMP_FILE_ERROR);
  ok(syclamp_scaler_ledger_text(scaler, SYCLAMP_LEDGER_CSV, &text));
  syclamp_replay_report report = {.struct_size = sizeof report};
  ok(syclamp_ledger_replay(text, NULL, &report, NULL, 0));
  ok(syclamp_text_free(text));
  check(syclamp_ledger_read("no ledger", NULL, 0, NULL), SYCLAMP_INVALID_ARGUMENT);
}

static void use_everything(void) {
  const float values[4] = {65536, 131072, 0, 65536}, zeros[4] = {0, 0, 0, 0};
  syclamp_engine engine;
  void *gradient, *model, *copy, *address = NULL;
  ok(syclamp_engine_create(NULL, &engine));
  ok(syclamp_memory_allocate(engine, sizeof values, SYCLAMP_DEVICE_MEMORY, &gradient));
  ok(syclamp_memory_allocate(engine, sizeof zeros, SYCLAMP_DEVICE_MEMORY, &model));
  ok(syclamp_memory_copy_in(engine, gradient, values, sizeof values));
  ok(syclamp_memory_copy_in(engine, model, zeros, sizeof zeros));
  check(syclamp_memory_allocate(engine, UINT64_MAX, SYCLAMP_DEVICE_MEMORY, &address), SYCLAMP_OUT_OF_MEMORY);

  const syclamp_tensor tensor = {
      .struct_size = sizeof tensor, .address = gradient, .count = 4, .type = SYCLAMP_FLOAT32, .name = "gradient"};
  syclamp_tensor_list list, gradients;
  ok(syclamp_tensor_list_create(engine, &tensor, 1, &list));
  ok(syclamp_handle_copy(list, &copy));
  ok(syclamp_handle_destroy(copy));
  syclamp_inspector inspector;
  syclamp_inspection inspection = {.struct_size = sizeof inspection};
  ok(syclamp_inspector_create(list, SYCLAMP_INSPECT_LIST, &inspector));
  ok(syclamp_inspector_run(inspector, 1, NULL));
  ok(syclamp_inspector_result(inspector, &inspection));
  syclamp_unscaled unscaled;
  ok(syclamp_unscaled_create(list, &unscaled));

  syclamp_optimizer_settings sgd = {.struct_size = sizeof sgd};
  ok(syclamp_optimizer_defaults(SYCLAMP_SGD, &sgd));
  const syclamp_parameter parameter = {.struct_size = sizeof parameter,
                                       .count = 4,
                                       .gradient = gradient,
                                       .model = model,
                                       .gradient_type = SYCLAMP_FLOAT32,
                                       .model_type = SYCLAMP_FLOAT32};
  syclamp_optimizer optimizer;
  ok(syclamp_optimizer_create(engine, &parameter, 1, &sgd, 1, NULL, &optimizer));
  ok(syclamp_optimizer_gradients(optimizer, &gradients));
  syclamp_scaler scaler;
  ok(syclamp_scaler_create(engine, NULL, NULL, &scaler));
  for (int step = 0; step < 3; ++step) {
    ok(syclamp_scaler_begin_step(scaler, NULL));
    ok(syclamp_scaler_step(scaler, optimizer, NULL));
    check(syclamp_scaler_step(scaler, optimizer, NULL), SYCLAMP_MISUSE);
    ok(syclamp_scaler_update(scaler));
  }
  syclamp_spike_guard guard;
  ok(syclamp_spike_guard_create(engine, NULL, &guard));
  ok(syclamp_spike_guard_check(guard, gradient, scaler));
  check(syclamp_spike_guard_check(guard, NULL, scaler), SYCLAMP_INVALID_ARGUMENT);
  struct training run = {scaler, optimizer};
  use_recorded_steps(engine, &run, gradients);
  use_states(scaler);
  char* text;
  ok(syclamp_scaler_get_state(scaler, &text));
  ok(syclamp_scaler_set_state(scaler, text));
  ok(syclamp_text_free(text));
  check(syclamp_scaler_set_state(scaler, "[1, 2"), SYCLAMP_INVALID_ARGUMENT);
  check(syclamp_checkpoint_save("/nowhere/file", &optimizer, 1, scaler, NULL, 0), SYCLAMP_FILE_ERROR);

  ok(syclamp_spike_guard_destroy(guard));
  ok(syclamp_scaler_destroy(scaler));
  ok(syclamp_optimizer_destroy(optimizer));
  ok(syclamp_tensor_list_destroy(gradients));
  ok(syclamp_unscaled_destroy(unscaled));
  ok(syclamp_inspector_destroy(inspector));
  ok(syclamp_tensor_list_destroy(list));
  ok(syclamp_memory_free(model));
  ok(syclamp_memory_free(gradient));
  ok(syclamp_engine_destroy(engine));
}

int main(int count, char** arguments) {
  use_everything();
  use_everything();
  if (count > 1 && strcmp(arguments[1], "--leak") == 0) {  // to see that valgrind_test.py finds it
    syclamp_engine engine;
    ok(syclamp_engine_create(NULL, &engine));
    if (malloc(77) == NULL) return 1;
  }
  return syclamp_live_objects() == 0 ? 0 : 1;
}
