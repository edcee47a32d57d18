// SPDX-License-Identifier: Apache-2.0
/// \file
/// C interface: status codes, messages, texts, handles and number formats.
#ifndef SYCLAMP_C_BASE_H
#define SYCLAMP_C_BASE_H

#include <stddef.h>
#include <stdint.h>

/// Marks the functions of the C interface, which are the only symbols of the library `syclamp_c`.
#if defined(__GNUC__)
#define SYCLAMP_C_API __attribute__((visibility("default")))
#else
#define SYCLAMP_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// The result of a call: SYCLAMP_OK or the kind of an error.
typedef int32_t syclamp_status;
enum {
  SYCLAMP_OK = 0,
  SYCLAMP_INVALID_HANDLE = 1,    ///< a null handle, a handle of another kind, or a thing that no longer exists
  SYCLAMP_INVALID_ARGUMENT = 2,  ///< an argument or a field of a struct cannot be used, such as a null address or text
  SYCLAMP_MISUSE = 3,            ///< the call comes at the wrong time, such as a second step without an update
  SYCLAMP_NO_DEVICE = 4,         ///< no usable device was found
  SYCLAMP_DEVICE_FAULT = 5,      ///< the device or its driver reports a fault
  SYCLAMP_OUT_OF_MEMORY = 6,     ///< memory cannot be allocated
  SYCLAMP_FILE_ERROR = 7,        ///< a file cannot be read or written, or has the wrong content
  SYCLAMP_KERNEL_BUILD = 8,      ///< a kernel does not compile for the device
  SYCLAMP_CALLBACK_FAILED = 9,   ///< a function of yours has returned an error
  SYCLAMP_INTERNAL_ERROR = 10    ///< any other error; please report it
};

/// The message of the last call that failed on this thread: the thing, its value and the remedy. An empty text if none
/// has failed. The text belongs to the library, and is valid until the next call fails on this thread.
SYCLAMP_C_API const char* syclamp_last_error(void);

/// The name of a status, such as `invalid_handle`; `unknown` for other numbers.
SYCLAMP_C_API const char* syclamp_status_name(syclamp_status status);

/// The version of the library, as `major.minor.patch`.
SYCLAMP_C_API const char* syclamp_version(void);

/// Frees a text that a function of this library has returned. A null text is allowed.
SYCLAMP_C_API syclamp_status syclamp_text_free(char* text);

/// Receives a warning, on any thread.
/// \param user  the pointer that was given to `syclamp_on_warning`
/// \param line  one line without a line break; valid during the call
typedef void (*syclamp_warning_handler)(void* user, const char* line);

/// Sets the handler of warnings for the whole process. Without this call, warnings go to standard error.
/// \param handler  null: warnings are dropped
/// \param user     passed to the handler; it must stay valid while the handler is set
SYCLAMP_C_API syclamp_status syclamp_on_warning(syclamp_warning_handler handler, void* user);

// --- Handles --------------------------------------------------------------------------------------------------------
// The structs are never defined. A handle is not the address of anything.

typedef struct syclamp_engine_handle* syclamp_engine;            ///< a device and its queue
typedef struct syclamp_tensor_list_handle* syclamp_tensor_list;  ///< tensors on a device
typedef struct syclamp_inspector_handle* syclamp_inspector;      ///< searches tensors for Inf and NaN, computes norms
typedef struct syclamp_unscaled_handle* syclamp_unscaled;        ///< gradients that are known to be unscaled
typedef struct syclamp_scaler_handle* syclamp_scaler;            ///< a loss scaler
typedef struct syclamp_optimizer_handle* syclamp_optimizer;      ///< an optimizer
typedef struct syclamp_spike_guard_handle* syclamp_spike_guard;  ///< skips steps whose loss jumps
typedef struct syclamp_recorded_step_handle* syclamp_recorded_step;  ///< a step that is submitted as a whole

/// Makes a second handle of the same object, of any kind. Destroy both.
///
///     void* copy;
///     syclamp_handle_copy(scaler, &copy);
///     syclamp_scaler second = copy;
///
/// \param handle  a handle
/// \param copy    receives the new handle, which has the same kind
SYCLAMP_C_API syclamp_status syclamp_handle_copy(const void* handle, void** copy);

/// Destroys a handle of any kind, as the functions `syclamp_…_destroy` do.
SYCLAMP_C_API syclamp_status syclamp_handle_destroy(void* handle);

/// A new handle of the engine with which an object was made. Destroy it.
/// \param handle  a handle of any kind
/// \param engine  receives the handle of the engine
SYCLAMP_C_API syclamp_status syclamp_handle_engine(const void* handle, syclamp_engine* engine);

/// The number of handles, blocks of memory and texts that were not destroyed or freed yet, in the whole process. A
/// program that has cleaned up reads 0.
SYCLAMP_C_API size_t syclamp_live_objects(void);

// --- Number formats -------------------------------------------------------------------------------------------------

/// The storage format of elements. Arithmetic is always in FP32.
typedef int32_t syclamp_element_type;
enum {
  SYCLAMP_FLOAT16 = 0,
  SYCLAMP_BFLOAT16 = 1,
  SYCLAMP_FLOAT32 = 2,
  SYCLAMP_FLOAT64 = 3,  ///< input only
  SYCLAMP_FLOAT8_E4M3 = 4,
  SYCLAMP_FLOAT8_E5M2 = 5
};

/// The size of an element in bytes; 0 for an unknown type.
SYCLAMP_C_API size_t syclamp_bytes_per_element(syclamp_element_type type);

/// Rounds FP32 numbers on the host to FP16 or BF16, to nearest even. Numbers outside the range become Inf.
/// \param values  `count` FP32 numbers
/// \param type    SYCLAMP_FLOAT16 or SYCLAMP_BFLOAT16
/// \param bits    receives `count` numbers as bits
/// \param count   number of elements
SYCLAMP_C_API syclamp_status syclamp_host_round(const float* values, syclamp_element_type type, uint16_t* bits,
                                                size_t count);

/// Widens FP16 or BF16 numbers on the host to FP32, exactly.
/// \param bits    `count` numbers as bits
/// \param type    SYCLAMP_FLOAT16 or SYCLAMP_BFLOAT16
/// \param values  receives `count` FP32 numbers
/// \param count   number of elements
SYCLAMP_C_API syclamp_status syclamp_host_widen(const uint16_t* bits, syclamp_element_type type, float* values,
                                                size_t count);

#ifdef __cplusplus
}
#endif
#endif
