// SPDX-License-Identifier: Apache-2.0
/// \file
/// C interface: optimizers with FP32 master weights.
#ifndef SYCLAMP_C_OPTIMIZER_H
#define SYCLAMP_C_OPTIMIZER_H

#include <syclamp/c/base.h>
#include <syclamp/c/gradients.h>
#include <syclamp/c/tensor_list.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Kinds of optimizers.
typedef int32_t syclamp_optimizer_kind;
enum {
  SYCLAMP_SGD = 0,
  SYCLAMP_ADAM = 1,
  SYCLAMP_ADAMW = 2,
  SYCLAMP_LION = 3,
  SYCLAMP_ADAGRAD = 4,
  SYCLAMP_RMSPROP = 5,
  SYCLAMP_LAMB = 6,
  SYCLAMP_NOVOGRAD = 7,
  SYCLAMP_ADADELTA = 8,
  SYCLAMP_OPTIMIZER_KINDS = 9  ///< number of kinds in this header
};

/// Settings of an optimizer, with the names of torch.optim. Fill them with `syclamp_optimizer_defaults`, then change
/// fields. A field that the kind does not have is 0.
typedef struct syclamp_optimizer_settings {
  size_t struct_size;                ///< sizeof(syclamp_optimizer_settings)
  syclamp_optimizer_kind kind;       ///< the optimizer
  int32_t maximize;                  ///< 1: maximizes the loss
  double lr;                         ///< learning rate
  double beta1, beta2;               ///< decay rates of the moments: Adam, AdamW, Lion, LAMB, NovoGrad
  double eps;                        ///< added to the denominator; not SGD, Lion
  double weight_decay;               ///< weight decay
  double momentum;                   ///< SGD, RMSprop
  double dampening;                  ///< SGD
  double alpha;                      ///< RMSprop: decay rate of the second moment
  double rho;                        ///< Adadelta: decay rate of both moments
  double lr_decay;                   ///< Adagrad
  double initial_accumulator_value;  ///< Adagrad
  int32_t nesterov;                  ///< 1: Nesterov's momentum: SGD
  int32_t amsgrad;                   ///< 1: uses the largest second moment: Adam, AdamW
  int32_t centered;                  ///< 1: normalises by the variance: RMSprop
  int32_t reserved;                  ///< 0
} syclamp_optimizer_settings;

/// Fills settings with the defaults of an optimizer.
/// \param kind      the optimizer
/// \param settings  receives the defaults; set its `struct_size` before
SYCLAMP_C_API syclamp_status syclamp_optimizer_defaults(syclamp_optimizer_kind kind,
                                                        syclamp_optimizer_settings* settings);

/// One tensor of weights with its gradient. Addresses are in memory of memory.h, or other USM memory.
typedef struct syclamp_parameter {
  size_t struct_size;  ///< sizeof(syclamp_parameter)
  uint64_t count;      ///< number of weights
  void* gradient;      ///< null: absent
  void* model;         ///< weights that the forward pass reads; may be null if `master` is not
  float* master;       ///< FP32 weights; null: the library allocates them and copies the model
  void* states[3];     ///< moments, FP32 or with `bfloat16_moments` BF16; null: the library allocates them
  syclamp_element_type gradient_type;  ///< FP16, BF16 or FP32
  syclamp_element_type model_type;     ///< FP32, FP16, BF16 or FP8
  const char* name;                    ///< for messages and ledgers; may be null
  uint32_t group;                      ///< index of its settings
  int32_t replicated;                  ///< 1: all ranks hold the same gradient
} syclamp_parameter;

/// How an optimizer stores weights and moments. All may be 0.
typedef struct syclamp_storage_options {
  size_t struct_size;         ///< sizeof(syclamp_storage_options)
  int32_t bfloat16_moments;   ///< 1: moments are BF16 instead of FP32
  int32_t remainders;         ///< 1: BF16 models only: stores the lower 16 bits of the FP32 weights
  syclamp_rounding rounding;  ///< how BF16 moments and copies of the weights are rounded
  int32_t unscaled_shadow;    ///< 1: allocates FP32 memory for `syclamp_scaler_unscale` of 16-bit gradients
  uint64_t seed;              ///< of stochastic rounding
} syclamp_storage_options;

/// Makes an optimizer. Allocates and compiles.
/// \param engine          the device and queue
/// \param parameters      the tensors, which are copied
/// \param count           number of tensors, at least 1
/// \param settings        one for all groups, or one per group; all of the same kind
/// \param settings_count  number of settings
/// \param storage         may be null
/// \param optimizer       receives the handle
SYCLAMP_C_API syclamp_status syclamp_optimizer_create(syclamp_engine engine, const syclamp_parameter* parameters,
                                                      size_t count, const syclamp_optimizer_settings* settings,
                                                      size_t settings_count, const syclamp_storage_options* storage,
                                                      syclamp_optimizer* optimizer);
SYCLAMP_C_API syclamp_status syclamp_optimizer_destroy(syclamp_optimizer optimizer);  ///< destroys a handle

/// A handle of the list of gradients, for example to set addresses. Destroy it.
SYCLAMP_C_API syclamp_status syclamp_optimizer_gradients(syclamp_optimizer optimizer, syclamp_tensor_list* list);

/// Applies gradients that were never scaled, without an inspection. For scaled gradients, call `syclamp_scaler_step`.
SYCLAMP_C_API syclamp_status syclamp_optimizer_apply(syclamp_optimizer optimizer);

/// Sets all gradients to zero.
SYCLAMP_C_API syclamp_status syclamp_optimizer_zero_gradients(syclamp_optimizer optimizer);

// --- Hyper-parameters, from the next step on ------------------------------------------------------------------------

#define SYCLAMP_ALL_GROUPS UINT32_MAX  ///< instead of the index of a group

/// Sets the learning rate of a group, or of SYCLAMP_ALL_GROUPS.
SYCLAMP_C_API syclamp_status syclamp_optimizer_set_lr(syclamp_optimizer optimizer, uint32_t group, double lr);
/// Reads the learning rate of a group, before the schedule.
SYCLAMP_C_API syclamp_status syclamp_optimizer_get_lr(syclamp_optimizer optimizer, uint32_t group, double* lr);

/// Lets every step read the learning rate of a group, or of SYCLAMP_ALL_GROUPS, from device memory.
/// \param device_lr  address of an FP32 number; null: the learning rate of `syclamp_optimizer_set_lr` again
SYCLAMP_C_API syclamp_status syclamp_optimizer_set_lr_source(syclamp_optimizer optimizer, uint32_t group,
                                                             const float* device_lr);

/// Replaces all settings of a group. The moments do not change.
SYCLAMP_C_API syclamp_status syclamp_optimizer_set_settings(syclamp_optimizer optimizer, uint32_t group,
                                                            const syclamp_optimizer_settings* settings);
/// Reads the settings of a group.
SYCLAMP_C_API syclamp_status syclamp_optimizer_get_settings(syclamp_optimizer optimizer, uint32_t group,
                                                            syclamp_optimizer_settings* settings);

/// Shapes of a learning-rate schedule.
enum { SYCLAMP_LR_CONSTANT = 0, SYCLAMP_LR_COSINE = 1, SYCLAMP_LR_DECAY = 2 };

/// A learning-rate schedule: lr * factor(applied steps). Skipped steps do not count.
typedef struct syclamp_lr_schedule {
  size_t struct_size;  ///< sizeof(syclamp_lr_schedule)
  int32_t kind;        ///< SYCLAMP_LR_CONSTANT, SYCLAMP_LR_COSINE or SYCLAMP_LR_DECAY
  float gamma;         ///< decay: factor of each decay
  float lowest;        ///< cosine: final factor
  uint32_t reserved;   ///< 0
  uint64_t warm_up;    ///< linear warm-up over this many steps
  uint64_t steps;      ///< length of the cosine, or number of steps between two decays
} syclamp_lr_schedule;

/// Sets the schedule of all groups.
SYCLAMP_C_API syclamp_status syclamp_optimizer_set_schedule(syclamp_optimizer optimizer,
                                                            const syclamp_lr_schedule* schedule);

// --- Readings -------------------------------------------------------------------------------------------------------

/// The steps that the device has finished so far.
typedef struct syclamp_optimizer_progress {
  size_t struct_size;        ///< sizeof(syclamp_optimizer_progress)
  uint64_t finished;         ///< steps since the optimizer was made, or its checkpoint was loaded
  uint64_t applied;          ///< applied steps, those before a checkpoint included
  int32_t last_was_applied;  ///< 1: the last finished step was applied, not skipped
  int32_t reserved;          ///< 0
} syclamp_optimizer_progress;

/// Reads the progress of a group. Does not wait.
SYCLAMP_C_API syclamp_status syclamp_optimizer_get_progress(syclamp_optimizer optimizer, uint32_t group,
                                                            syclamp_optimizer_progress* progress);

/// The number of applied steps of a group. Waits.
SYCLAMP_C_API syclamp_status syclamp_optimizer_steps(syclamp_optimizer optimizer, uint32_t group, uint64_t* steps);

/// The sizes of an optimizer.
typedef struct syclamp_optimizer_info {
  size_t struct_size;     ///< sizeof(syclamp_optimizer_info)
  uint64_t parameters;    ///< number of tensors
  uint64_t device_bytes;  ///< device memory that the library has allocated for it
  uint32_t groups;        ///< number of groups
  uint32_t states;        ///< number of moments per parameter
} syclamp_optimizer_info;

/// Reads the sizes of an optimizer.
SYCLAMP_C_API syclamp_status syclamp_optimizer_describe(syclamp_optimizer optimizer, syclamp_optimizer_info* info);

/// Copies the FP32 weights of a tensor to the host, whatever their storage. Waits.
/// \param parameter  index of the tensor
/// \param weights    host memory for `count` numbers
/// \param count      number of weights of the tensor
SYCLAMP_C_API syclamp_status syclamp_optimizer_weights(syclamp_optimizer optimizer, uint64_t parameter, float* weights,
                                                       uint64_t count);

/// Describes a moment of a tensor, in device memory.
/// \param parameter  index of the tensor
/// \param index      index of the moment
/// \param moment     receives address, count and type; valid while the optimizer exists
SYCLAMP_C_API syclamp_status syclamp_optimizer_state(syclamp_optimizer optimizer, uint64_t parameter, uint32_t index,
                                                     syclamp_tensor* moment);

/// The address of the number of applied steps of a group in device memory, for example for `syclamp_cast_options`.
SYCLAMP_C_API syclamp_status syclamp_optimizer_device_steps(syclamp_optimizer optimizer, uint32_t group,
                                                            const uint64_t** device_steps);

// --- State for programs that keep checkpoints of their own; syclamp_checkpoint_save needs none of it ----------------

/// Sets the numbers of applied steps, on which bias corrections depend. The progress starts again. Waits.
/// \param applied  one number per group
/// \param count    number of groups
SYCLAMP_C_API syclamp_status syclamp_optimizer_set_steps(syclamp_optimizer optimizer, const uint64_t* applied,
                                                         size_t count);

/// Reads NovoGrad's second moments: one per tensor. Other optimizers have none. Waits.
/// \param moments   an array of `capacity` numbers, or null
/// \param capacity  number of moments that fit
/// \param count     receives the number of moments that there are
SYCLAMP_C_API syclamp_status syclamp_optimizer_tensor_moments(syclamp_optimizer optimizer, float* moments,
                                                              size_t capacity, size_t* count);

/// Sets NovoGrad's second moments. Waits.
/// \param moments  one number per tensor
/// \param count    number of moments
SYCLAMP_C_API syclamp_status syclamp_optimizer_set_tensor_moments(syclamp_optimizer optimizer, const float* moments,
                                                                  size_t count);

#ifdef __cplusplus
}
#endif
#endif
