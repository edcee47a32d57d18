// SPDX-License-Identifier: Apache-2.0
/// \file
/// C interface: skips steps whose loss jumps. To watch the norm of the gradients, use `spike_threshold` of a policy.
#ifndef SYCLAMP_C_SPIKE_GUARD_H
#define SYCLAMP_C_SPIKE_GUARD_H

#include <syclamp/c/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/// When a number counts as a spike. A field that is 0 has its default.
typedef struct syclamp_spike_guard_options {
  size_t struct_size;  ///< sizeof(syclamp_spike_guard_options)
  float threshold;     ///< in standard deviations above the running mean; 0: 6
  uint32_t window;     ///< approximate length of the mean in steps; the test starts after as many; 0: 128
} syclamp_spike_guard_options;

/// Makes a guard. Its mean is not part of a scaler's state, so it starts again after a restart. Waits.
/// \param engine   the engine of the scaler
/// \param options  may be null
/// \param guard    receives the handle
SYCLAMP_C_API syclamp_status syclamp_spike_guard_create(syclamp_engine engine,
                                                        const syclamp_spike_guard_options* options,
                                                        syclamp_spike_guard* guard);
SYCLAMP_C_API syclamp_status syclamp_spike_guard_destroy(syclamp_spike_guard guard);  ///< destroys a handle

/// Checks a number on the device and enters it into the mean. If it is a spike or not finite, the scaler's next step is
/// skipped. Call it before `syclamp_scaler_step`.
/// \param guard         the guard
/// \param device_value  address of the number on the device, for example of the loss
/// \param scaler        a scaler of the same engine
SYCLAMP_C_API syclamp_status syclamp_spike_guard_check(syclamp_spike_guard guard, const float* device_value,
                                                       syclamp_scaler scaler);

#ifdef __cplusplus
}
#endif
#endif
