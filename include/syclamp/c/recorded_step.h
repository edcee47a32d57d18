// SPDX-License-Identifier: Apache-2.0
/// \file
/// C interface: a training step that is recorded once and then submitted as a whole, which takes far less host time.
///
///     struct training {
///       syclamp_scaler scaler;
///       syclamp_optimizer optimizer;
///     };
///
///     static int32_t calls(void* user) {
///       const struct training* run = user;
///       if (syclamp_scaler_begin_step(run->scaler, NULL) != SYCLAMP_OK) return 1;
///       if (syclamp_scaler_step(run->scaler, run->optimizer, NULL) != SYCLAMP_OK) return 1;
///       return syclamp_scaler_update(run->scaler);
///     }
///
/// After `run`, a `struct training`, is filled:
///
///     syclamp_scaler_prepare(run.scaler, gradients);  // allocates, which a recording cannot
///     syclamp_recorded_step_create(engine, calls, &run, SYCLAMP_RECORD_IF_POSSIBLE, &step);
///     for (…) {
///       …  // your forward and backward pass
///       syclamp_recorded_step_run(step);
///     }
#ifndef SYCLAMP_C_RECORDED_STEP_H
#define SYCLAMP_C_RECORDED_STEP_H

#include <syclamp/c/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Whether a recorded step uses a SYCL graph.
typedef int32_t syclamp_recording;
enum {
  SYCLAMP_RECORD_IF_POSSIBLE = 0,  ///< records a graph if the device supports graphs
  SYCLAMP_RECORD_NEVER = 1         ///< makes the calls on every step
};

/// Submits one step by calls of this library. It may be called more than once. If a call of the library fails inside
/// it, the recording or the run fails with the status of that call, whatever the function returns.
/// \return 0, or any other number to report a failure (SYCLAMP_CALLBACK_FAILED)
typedef int32_t (*syclamp_step_calls)(void* user);

/// Records the calls. Nothing runs then. The calls must be the same for every step: values that change must change in
/// device memory. They must not change settings, wait or allocate, which is SYCLAMP_MISUSE. If the device has no
/// graphs, or with SYCLAMP_RECORD_NEVER, each run makes the calls. After an error, scalers and optimizers are
/// unchanged.
///
/// The recorded step keeps all objects and blocks of memory that its calls use, also after their handles are destroyed.
/// \param engine  the engine of all objects that the calls use
/// \param calls   submits one step
/// \param user    passed to `calls`; it must stay valid while the recorded step exists
/// \param mode    whether to use a graph
/// \param step    receives the handle
SYCLAMP_C_API syclamp_status syclamp_recorded_step_create(syclamp_engine engine, syclamp_step_calls calls, void* user,
                                                          syclamp_recording mode, syclamp_recorded_step* step);
SYCLAMP_C_API syclamp_status syclamp_recorded_step_destroy(syclamp_recorded_step step);  ///< destroys a handle

/// Submits the step. Addresses that `syclamp_tensor_list_set_address` has changed are sent to the device first. Does
/// not wait. Handlers of `syclamp_scaler_on_step` are called by `syclamp_scaler_report`.
SYCLAMP_C_API syclamp_status syclamp_recorded_step_run(syclamp_recorded_step step);

/// Tells whether there is a graph.
/// \param step      the recorded step
/// \param recorded  receives 1, or 0 if each run makes the calls
SYCLAMP_C_API syclamp_status syclamp_recorded_step_is_recorded(syclamp_recorded_step step, int32_t* recorded);

#ifdef __cplusplus
}
#endif
#endif
