// SPDX-License-Identifier: Apache-2.0
/// \file
/// C interface: the loss scaler.
///
///     const float* device_scale;
///     syclamp_scaler_begin_step(scaler, &device_scale);
///     …                                              // your kernels multiply the loss by *device_scale
///     syclamp_scaler_step(scaler, optimizer, NULL);  // inspects the gradients; unscales and applies them, or skips
///     syclamp_scaler_update(scaler);                 // moves the scale
///
/// None of these three calls waits for the device. A call in the wrong order is SYCLAMP_MISUSE.
#ifndef SYCLAMP_C_SCALER_H
#define SYCLAMP_C_SCALER_H

#include <syclamp/c/base.h>
#include <syclamp/c/ledger.h>
#include <syclamp/c/policy.h>
#include <syclamp/c/step_record.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Replaces `count` numbers in device memory by their sums over all ranks, for a scaler whose ranks decide together.
/// The numbers are complete when the function is called, and the sums must be complete when it returns. All ranks make
/// the same calls in the same order. The function is called on the thread that makes the call, such as
/// `syclamp_scaler_step`. It may call `syclamp_memory_copy_in` and `syclamp_memory_copy_out`.
/// \return 0, or any other number to report a failure (SYCLAMP_CALLBACK_FAILED)
typedef int32_t (*syclamp_consensus_sum)(void* user, float* device_numbers, size_t count);

/// Options of a scaler. All may be 0.
typedef struct syclamp_scaler_options {
  size_t struct_size;                   ///< sizeof(syclamp_scaler_options)
  uint32_t scales;                      ///< 0 or 1: one scale for all tensors; more: one per group of tensors
  int32_t skip_separately;              ///< with several scales, 1: an overflow skips only its own group
  uint32_t ledger;                      ///< number of steps that the ledger keeps; 0: 1024
  uint32_t rank;                        ///< number of this rank
  uint32_t ranks;                       ///< number of ranks; 0 means 1
  uint32_t reserved;                    ///< 0
  syclamp_consensus_sum consensus_sum;  ///< null: this process decides alone
  void* consensus_user;                 ///< passed to `consensus_sum`; it must stay valid while the scaler exists
} syclamp_scaler_options;

/// Makes a scaler.
/// \param engine   the device and queue of its state
/// \param policy   null: syclamp's own policy
/// \param options  may be null
/// \param scaler   receives the handle
SYCLAMP_C_API syclamp_status syclamp_scaler_create(syclamp_engine engine, const syclamp_policy* policy,
                                                   const syclamp_scaler_options* options, syclamp_scaler* scaler);
SYCLAMP_C_API syclamp_status syclamp_scaler_destroy(syclamp_scaler scaler);  ///< destroys a handle

// --- A step ---------------------------------------------------------------------------------------------------------

/// Options of a step. All may be 0: no clipping.
typedef struct syclamp_step_options {
  size_t struct_size;            ///< sizeof(syclamp_step_options)
  float max_norm;                ///< with `clip` set: clips the L2 norm of the unscaled gradients to this limit
  int32_t clip;                  ///< 1: clips
  const float* device_max_norm;  ///< address of the limit on the device, which replaces `max_norm`; null: `max_norm`
  int32_t clip_separately;       ///< 1: in a joint step, clips the gradients of each optimizer by their own norm
  int32_t reserved;              ///< 0
} syclamp_step_options;

/// Begins a step.
/// \param scaler        the scaler
/// \param device_scale  receives the address of the scale on the device; may be null. Several scales are
///                      `syclamp_scaler_scale_stride` apart.
SYCLAMP_C_API syclamp_status syclamp_scaler_begin_step(syclamp_scaler scaler, const float** device_scale);

/// Begins a step and multiplies a loss by the scale.
/// \param scaler  the scaler
/// \param loss    one or more numbers, of any type but FP64
/// \param scaled  receives the products; null: in place
SYCLAMP_C_API syclamp_status syclamp_scaler_scale(syclamp_scaler scaler, syclamp_tensor_list loss,
                                                  syclamp_tensor_list scaled);

/// Unscales an optimizer's gradients before the step, to read them or to clip them by hand. 16-bit gradients need
/// `unscaled_shadow` of `syclamp_storage_options`.
/// \param options   may be null
/// \param unscaled  receives the unscaled gradients, for clipping; may be null
SYCLAMP_C_API syclamp_status syclamp_scaler_unscale(syclamp_scaler scaler, syclamp_optimizer optimizer,
                                                    const syclamp_step_options* options, syclamp_unscaled* unscaled);

/// Unscales gradients without an optimizer. The next update takes an overflow into account.
/// \param gradients  scaled gradients
/// \param out        FP32 tensors of the same sizes; null: FP32 gradients are unscaled in place
/// \param options    may be null
/// \param unscaled   receives the unscaled gradients, for clipping; may be null
SYCLAMP_C_API syclamp_status syclamp_scaler_unscale_list(syclamp_scaler scaler, syclamp_tensor_list gradients,
                                                         syclamp_tensor_list out, const syclamp_step_options* options,
                                                         syclamp_unscaled* unscaled);

/// The decision on a step, as it lies in device memory. It has no `struct_size` and never changes. A kernel of yours
/// applies the gradient g * unscale_first * unscale_second * clip, or nothing if `apply` is 0.
typedef struct syclamp_step_decision {
  uint32_t apply;        ///< 0: skip the whole step
  float unscale_first;   ///< first factor of 1 / scale
  float unscale_second;  ///< second factor
  float clip;            ///< clip coefficient
} syclamp_step_decision;

/// Inspects gradients and decides on the step, for kernels or host code of yours that apply it.
/// \param gradients         scaled gradients
/// \param options           may be null
/// \param device_decisions  receives the address of one decision, or of one per scale, in device memory. Valid until
///                          the update.
SYCLAMP_C_API syclamp_status syclamp_scaler_inspect(syclamp_scaler scaler, syclamp_tensor_list gradients,
                                                    const syclamp_step_options* options,
                                                    const syclamp_step_decision** device_decisions);

/// Inspects the gradients, unless they were unscaled before, and applies the step, or skips it as a whole.
/// \param options  may be null
SYCLAMP_C_API syclamp_status syclamp_scaler_step(syclamp_scaler scaler, syclamp_optimizer optimizer,
                                                 const syclamp_step_options* options);

/// Makes a joint step: all optimizers apply their gradients, or none does.
/// \param optimizers  the optimizers, each with its own gradients
/// \param count       number of optimizers
/// \param options     may be null
SYCLAMP_C_API syclamp_status syclamp_scaler_step_jointly(syclamp_scaler scaler, const syclamp_optimizer* optimizers,
                                                         size_t count, const syclamp_step_options* options);

/// Ends the step: moves the scale and writes the ledger.
SYCLAMP_C_API syclamp_status syclamp_scaler_update(syclamp_scaler scaler);

/// Ends the step and sets the scale.
SYCLAMP_C_API syclamp_status syclamp_scaler_update_to(syclamp_scaler scaler, float new_scale);

/// Adds unscaled gradients of a micro-batch to a sum. A micro-batch that overflowed is dropped as a whole. Call
/// `syclamp_scaler_update` after each micro-batch.
/// \param gradients  scaled gradients
/// \param sum        FP32 tensors of the same sizes, zero at the beginning
SYCLAMP_C_API syclamp_status syclamp_scaler_accumulate(syclamp_scaler scaler, syclamp_tensor_list gradients,
                                                       syclamp_tensor_list sum);

/// Applies the mean of the micro-batches that were not dropped. The optimizer's gradients are the sums. Set them to
/// zero afterwards.
/// \param options  may be null
SYCLAMP_C_API syclamp_status syclamp_scaler_step_accumulated(syclamp_scaler scaler, syclamp_optimizer optimizer,
                                                             const syclamp_step_options* options);

/// Allocates the memory for a list of gradients, so that no later call allocates.
SYCLAMP_C_API syclamp_status syclamp_scaler_prepare(syclamp_scaler scaler, syclamp_tensor_list gradients);

/// Resumes after the policy has stopped, with the present scale.
SYCLAMP_C_API syclamp_status syclamp_scaler_resume(syclamp_scaler scaler);

/// The address of a word in device memory, by which kernels of yours can skip a step: write SYCLAMP_FOUND_BY_USER into
/// it before `syclamp_scaler_step`. The update sets it to 0 again.
SYCLAMP_C_API syclamp_status syclamp_scaler_user_flags(syclamp_scaler scaler, uint32_t** device_flags);

// --- Readings -------------------------------------------------------------------------------------------------------

/// The address of the scale in device memory.
SYCLAMP_C_API syclamp_status syclamp_scaler_device_scale(syclamp_scaler scaler, const float** device_scale);
/// The distance between two scales in device memory, in floats.
SYCLAMP_C_API uint32_t syclamp_scaler_scale_stride(void);

/// The present scale. Waits.
/// \param index  index of the scale, which is that of its group; 0 if there is one scale
/// \param scale  receives the scale
SYCLAMP_C_API syclamp_status syclamp_scaler_get_scale(syclamp_scaler scaler, uint32_t index, float* scale);

/// The record of the last update. Waits.
/// \param index   index of the scale; 0 if there is one scale
/// \param record  receives the record
SYCLAMP_C_API syclamp_status syclamp_scaler_outcome(syclamp_scaler scaler, uint32_t index, syclamp_step_record* record);

/// The latest records of the ledger, oldest first. Does not wait.
/// \param records   an array of `capacity` records, or null; set `struct_size` of the first one
/// \param capacity  number of records that fit; the oldest are left out
/// \param count     receives the number of records that were written, or with `records` null the number there is
SYCLAMP_C_API syclamp_status syclamp_scaler_records(syclamp_scaler scaler, syclamp_step_record* records,
                                                    size_t capacity, size_t* count);

/// The ledger as text. Free the text. Does not wait.
SYCLAMP_C_API syclamp_status syclamp_scaler_ledger_text(syclamp_scaler scaler, syclamp_ledger_format format,
                                                        char** text);

/// Receives the record of a step, which is valid during the call.
typedef void (*syclamp_step_handler)(void* user, const syclamp_step_record* record);

/// Sets a handler that `syclamp_scaler_update` and `syclamp_scaler_report` call for each new record, on their thread.
/// \param handler  null: no handler
/// \param user     passed to the handler; it must stay valid while the handler is set
SYCLAMP_C_API syclamp_status syclamp_scaler_on_step(syclamp_scaler scaler, syclamp_step_handler handler, void* user);

/// Calls the handler for records that are visible on the host by now. Does not wait.
SYCLAMP_C_API syclamp_status syclamp_scaler_report(syclamp_scaler scaler);

// --- Settings and state ---------------------------------------------------------------------------------------------

/// Reads the present policy.
SYCLAMP_C_API syclamp_status syclamp_scaler_get_policy(syclamp_scaler scaler, syclamp_policy* policy);

/// Changes the policy from the next update on. The scale and the counters do not change.
SYCLAMP_C_API syclamp_status syclamp_scaler_set_policy(syclamp_scaler scaler, const syclamp_policy* policy);

/// The complete state as JSON: policy, counters and ledger. Free the text. Waits.
SYCLAMP_C_API syclamp_status syclamp_scaler_get_state(syclamp_scaler scaler, char** json);

/// Loads a state, so that the scaler continues where the state was taken. After an error it is unchanged. Waits.
SYCLAMP_C_API syclamp_status syclamp_scaler_set_state(syclamp_scaler scaler, const char* json);

/// Saves the complete state as a JSON file, which is replaced atomically. Waits.
SYCLAMP_C_API syclamp_status syclamp_scaler_save_state(syclamp_scaler scaler, const char* file);

/// Loads a file of `syclamp_scaler_save_state`. After an error the scaler is unchanged. Waits.
SYCLAMP_C_API syclamp_status syclamp_scaler_load_state(syclamp_scaler scaler, const char* file);

/// The state as another framework saves it: a JSON object with the keys of that framework. Free the text. Waits.
/// \param scaler     the scaler
/// \param framework  `pytorch`, `keras3`, `keras2`, `apex`, `deepspeed` or `megatron`
/// \param json       receives the text
SYCLAMP_C_API syclamp_status syclamp_scaler_get_framework_state(syclamp_scaler scaler, const char* framework,
                                                                char** json);

/// Loads the saved state of another framework, so that the scaler continues as the framework would have. What the
/// framework does not save stays as it is. After an error the scaler is unchanged. Waits.
/// \param scaler     the scaler, made with the policy of the framework (`syclamp_policy_preset`)
/// \param framework  as above
/// \param json       a JSON object with the keys of that framework
SYCLAMP_C_API syclamp_status syclamp_scaler_set_framework_state(syclamp_scaler scaler, const char* framework,
                                                                const char* json);

#ifdef __cplusplus
}
#endif
#endif
