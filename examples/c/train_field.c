// SPDX-License-Identifier: Apache-2.0
// Trains the last layer of a surrogate model in C99, with FP16 gradients and loss scaling. It needs only syclamp.h.
//
// The task is `field` of the program `syclamp train`: a damped wave from a source, at the points of a cube. Here the
// first layers are random and fixed, so that the model is linear in its last layer: field = weights * features. The
// forward and the backward pass are plain loops on the host. The program counts the gradients that are below 6.1e-5
// without a scale: FP16 stores those with fewer bits, or as zero.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <syclamp/syclamp.h>

enum { SIDE = 8, POINTS = SIDE * SIDE * SIDE, INPUTS = 8, FEATURES = 32, BATCH = 128, STEPS = 150 };
enum { WEIGHTS = POINTS * FEATURES };

// Ends the program with the library's message if a call fails.
static void check(syclamp_status status) {
  if (status == SYCLAMP_OK) return;
  fprintf(stderr, "train_field: %s\n", syclamp_last_error());
  exit(1);
}

// Random numbers from 0 to 1 that are the same on every machine.
static double uniform(uint64_t* state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (double)(*state >> 11) * 0x1p-53;
}

// The wave exp(-damping * t) * cos(k * (r - speed * t) + phase) for random parameters, which are the model's inputs.
static void make_sample(uint64_t* state, float* inputs, float* field) {
  static const double low[INPUTS] = {-1.0, 0.25, 0.25, 2.0, 0.0, 0.5, 0.0, 0.0};
  static const double high[INPUTS] = {-0.5, 0.75, 0.75, 3.0, 2.0, 1.5, 1.0, 3.14159265358979};
  double p[INPUTS];
  for (int i = 0; i < INPUTS; ++i) {
    const double share = uniform(state);
    p[i] = low[i] + share * (high[i] - low[i]);
    inputs[i] = (float)(2 * share - 1);
  }
  const double amplitude = exp(-p[4] * p[6]), shift = p[7] - p[3] * p[5] * p[6];
  for (int i = 0; i < POINTS; ++i) {
    const double x = (i / (SIDE * SIDE) + 0.5) / SIDE - p[0], y = (i / SIDE % SIDE + 0.5) / SIDE - p[1],
                 z = (i % SIDE + 0.5) / SIDE - p[2];
    field[i] = (float)(amplitude * cos(p[3] * sqrt(x * x + y * y + z * z) + shift));
  }
}

// The fixed layers: tanh of random combinations of the inputs.
static void make_features(const float* mix, const float* inputs, float* features) {
  for (int f = 0; f < FEATURES; ++f) {
    float sum = mix[f * (INPUTS + 1) + INPUTS];
    for (int i = 0; i < INPUTS; ++i) sum += mix[f * (INPUTS + 1) + i] * inputs[i];
    features[f] = tanhf(sum);
  }
}

static float features[BATCH][FEATURES], fields[BATCH][POINTS], weights[WEIGHTS], scaled[WEIGHTS];
static uint16_t bits[WEIGHTS];

// The share of the gradients that are not normal FP16 numbers without the scale.
static double small_share(float scale) {
  int count = 0;
  for (int w = 0; w < WEIGHTS; ++w) count += fabsf(scaled[w] / scale) < 0x1p-14f;
  return (double)count / WEIGHTS;
}

// The mean squared error, and its gradient times the scale.
static double backward(float scale) {
  double loss = 0;
  for (int w = 0; w < WEIGHTS; ++w) scaled[w] = 0;
  for (int b = 0; b < BATCH; ++b)
    for (int i = 0; i < POINTS; ++i) {
      float error = -fields[b][i];
      for (int f = 0; f < FEATURES; ++f) error += weights[i * FEATURES + f] * features[b][f];
      loss += (double)error * error / ((double)BATCH * POINTS);
      const float gradient = 2 * error / ((float)BATCH * POINTS) * scale;
      for (int f = 0; f < FEATURES; ++f) scaled[i * FEATURES + f] += gradient * features[b][f];
    }
  return loss;
}

int main(void) {
  uint64_t random = 20;
  float mix[FEATURES * (INPUTS + 1)], inputs[INPUTS];
  for (int i = 0; i < FEATURES * (INPUTS + 1); ++i) mix[i] = (float)(2 * uniform(&random) - 1);
  for (int b = 0; b < BATCH; ++b) {
    make_sample(&random, inputs, fields[b]);
    make_features(mix, inputs, features[b]);
  }

  syclamp_engine engine;
  check(syclamp_engine_create(NULL, &engine));
  void *gradient, *model;
  check(syclamp_memory_allocate(engine, sizeof bits, SYCLAMP_DEVICE_MEMORY, &gradient));
  check(syclamp_memory_allocate(engine, sizeof weights, SYCLAMP_DEVICE_MEMORY, &model));
  check(syclamp_memory_fill(engine, model, 0, sizeof weights));

  syclamp_optimizer_settings adamw = {.struct_size = sizeof adamw};
  check(syclamp_optimizer_defaults(SYCLAMP_ADAMW, &adamw));
  adamw.lr = 0.02;
  adamw.weight_decay = 0;
  const syclamp_parameter parameter = {.struct_size = sizeof parameter,
                                       .count = WEIGHTS,
                                       .gradient = gradient,
                                       .gradient_type = SYCLAMP_FLOAT16,
                                       .model = model,
                                       .model_type = SYCLAMP_FLOAT32,
                                       .name = "last_layer"};
  syclamp_optimizer optimizer;
  check(syclamp_optimizer_create(engine, &parameter, 1, &adamw, 1, NULL, &optimizer));

  // The scale starts too large, so that the first steps are skipped until the gradients fit.
  syclamp_policy policy = {.struct_size = sizeof policy};
  check(syclamp_policy_preset("syclamp", &policy));
  policy.max = policy.init_scale = 0x1p32;
  policy.growth_interval = 50;
  syclamp_scaler scaler;
  check(syclamp_scaler_create(engine, &policy, NULL, &scaler));

  const syclamp_step_options options = {.struct_size = sizeof options, .max_norm = 1, .clip = 1};
  double first = 0, last = 0, small = 0;
  for (int step = 0; step < STEPS; ++step) {
    float scale;
    check(syclamp_scaler_begin_step(scaler, NULL));
    check(syclamp_scaler_get_scale(scaler, 0, &scale));  // waits: this backward pass runs on the host
    check(syclamp_memory_copy_out(engine, weights, model, sizeof weights));
    last = backward(scale);
    if (step == 0) first = last;
    small = small_share(scale);
    if (step % 25 == 0) printf("step %3d: loss %.5f, scale %g\n", step, last, (double)scale);
    check(syclamp_host_round(scaled, SYCLAMP_FLOAT16, bits, WEIGHTS));
    check(syclamp_memory_copy_in(engine, gradient, bits, sizeof bits));
    check(syclamp_scaler_step(scaler, optimizer, &options));
    check(syclamp_scaler_update(scaler));
  }

  syclamp_step_record record = {.struct_size = sizeof record};
  check(syclamp_scaler_outcome(scaler, 0, &record));
  printf("loss %.5f -> %.5f\n", first, last);
  printf("ledger: %d steps, %d applied, %d skipped, last scale %g\n", (int)record.step, (int)record.applied,
         (int)record.skipped, (double)record.next_scale);
  printf("last step: %.1f %% of the gradients would be small in FP16 without a scale; with it, %.1f %% are\n",
         100 * small, 100.0 * (double)(record.zero_count + record.subnormal_count) / (double)record.elements);

  check(syclamp_scaler_destroy(scaler));
  check(syclamp_optimizer_destroy(optimizer));
  check(syclamp_memory_free(model));
  check(syclamp_memory_free(gradient));
  check(syclamp_engine_destroy(engine));
  return last < 0.5 * first && record.skipped > 0 && syclamp_live_objects() == 0 ? 0 : 1;
}
