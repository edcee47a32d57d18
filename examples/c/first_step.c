// SPDX-License-Identifier: Apache-2.0
// A first program in C: one training step of two weights, with FP16 gradients and loss scaling.
#include <stdio.h>
#include <stdlib.h>

#include <syclamp/syclamp.h>

static void check(syclamp_status status) {
  if (status == SYCLAMP_OK) return;
  fprintf(stderr, "first_step: %s\n", syclamp_last_error());
  exit(1);
}

int main(void) {
  syclamp_engine engine;
  check(syclamp_engine_create(NULL, &engine));  // on the best device

  float weights[2] = {1, 1};
  void *model, *gradient;
  check(syclamp_memory_allocate(engine, 2 * sizeof(float), SYCLAMP_DEVICE_MEMORY, &model));
  check(syclamp_memory_allocate(engine, 2 * sizeof(uint16_t), SYCLAMP_DEVICE_MEMORY, &gradient));
  check(syclamp_memory_copy_in(engine, model, weights, sizeof weights));

  syclamp_optimizer_settings sgd = {.struct_size = sizeof sgd};
  check(syclamp_optimizer_defaults(SYCLAMP_SGD, &sgd));
  sgd.lr = 0.5;
  const syclamp_parameter parameter = {.struct_size = sizeof parameter,
                                       .count = 2,
                                       .gradient = gradient,
                                       .gradient_type = SYCLAMP_FLOAT16,
                                       .model = model,
                                       .model_type = SYCLAMP_FLOAT32};
  syclamp_optimizer optimizer;
  syclamp_scaler scaler;
  check(syclamp_optimizer_create(engine, &parameter, 1, &sgd, 1, NULL, &optimizer));
  check(syclamp_scaler_create(engine, NULL, NULL, &scaler));

  // The backward pass: here the gradients are 0.25 and -0.5, multiplied by the scale.
  float scale;
  check(syclamp_scaler_get_scale(scaler, 0, &scale));
  check(syclamp_scaler_begin_step(scaler, NULL));
  const float scaled[2] = {0.25f * scale, -0.5f * scale};
  uint16_t bits[2];
  check(syclamp_host_round(scaled, SYCLAMP_FLOAT16, bits, 2));
  check(syclamp_memory_copy_in(engine, gradient, bits, sizeof bits));

  check(syclamp_scaler_step(scaler, optimizer, NULL));
  check(syclamp_scaler_update(scaler));

  check(syclamp_optimizer_weights(optimizer, 0, weights, 2));
  printf("scale %g, weights %g %g\n", scale, weights[0], weights[1]);

  check(syclamp_scaler_destroy(scaler));
  check(syclamp_optimizer_destroy(optimizer));
  check(syclamp_memory_free(gradient));
  check(syclamp_memory_free(model));
  check(syclamp_engine_destroy(engine));
  return 0;
}
