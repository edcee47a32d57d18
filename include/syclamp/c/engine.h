// SPDX-License-Identifier: Apache-2.0
/// \file
/// C interface: devices and engines.
#ifndef SYCLAMP_C_ENGINE_H
#define SYCLAMP_C_ENGINE_H

#include <syclamp/c/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The description of a device. Longer texts are cut.
typedef struct syclamp_device_info {
  size_t struct_size;            ///< sizeof(syclamp_device_info)
  char name[128];                ///< name of the device
  char vendor[128];              ///< maker of the device
  char driver[128];              ///< version of the driver
  char profile[32];              ///< tuning profile that syclamp uses for it
  char problem[256];             ///< why syclamp cannot use it; empty if it can
  uint64_t global_memory_bytes;  ///< size of its memory
  uint32_t compute_units;        ///< number of compute units
  int32_t is_gpu;                ///< 1: a GPU
  int32_t is_cpu;                ///< 1: a CPU
  int32_t usable;                ///< 1: syclamp can use it
  char platform[128];            ///< the runtime behind SYCL, such as `Intel(R) OpenCL`
  char profile_note[256];        ///< why a profile that matches the device better is not used; empty if none does
  int32_t is_accelerator;        ///< 1: neither a GPU nor a CPU
  int32_t has_fp16;              ///< 1: supports FP16 arithmetic
  int32_t has_fp64;              ///< 1: supports FP64, which syclamp does not need
  int32_t reserved;              ///< 0
} syclamp_device_info;

/// The number of SYCL devices. The first call finds all devices and runs a self-test on each, which compiles kernels.
SYCLAMP_C_API syclamp_status syclamp_device_count(size_t* count);

/// Describes a device.
/// \param index  from 0 to the number of devices - 1
/// \param info   receives the description
SYCLAMP_C_API syclamp_status syclamp_device_describe(size_t index, syclamp_device_info* info);

/// The number of tuning profiles. Every profile gives correct results on every device.
SYCLAMP_C_API syclamp_status syclamp_profile_count(size_t* count);

/// The name of a tuning profile. Free the text.
/// \param index  from 0 to the number of profiles - 1
/// \param name   receives the name
SYCLAMP_C_API syclamp_status syclamp_profile_name(size_t index, char** name);

/// Options of an engine. All may be 0.
typedef struct syclamp_engine_options {
  size_t struct_size;  ///< sizeof(syclamp_engine_options)
  /// The device. Null or empty: the best usable one. `gpu`, `cpu` or `accelerator`: the first usable one of this kind.
  /// `gpu:1`: the second one. A number: the index of `syclamp_device_describe`. Any other text: the first usable device
  /// whose name contains it, in any case of letters.
  const char* device;
  /// The address of an in-order `sycl::queue` of the same SYCL runtime, which is copied. Null: the engine makes a
  /// queue. The library cannot check this address.
  void* queue;
  const char* profile;  ///< name of a tuning profile; null or empty: the profile that fits the device
} syclamp_engine_options;

/// Makes an engine: a device, its queue and the kernels compiled for it.
/// \param options  may be null: the best usable device
/// \param engine   receives the handle
SYCLAMP_C_API syclamp_status syclamp_engine_create(const syclamp_engine_options* options, syclamp_engine* engine);
SYCLAMP_C_API syclamp_status syclamp_engine_destroy(syclamp_engine engine);  ///< destroys a handle

/// The name of the tuning profile in use. The text is constant.
SYCLAMP_C_API syclamp_status syclamp_engine_profile(syclamp_engine engine, const char** profile);

/// The name of the engine's device. Free the text.
SYCLAMP_C_API syclamp_status syclamp_engine_device_name(syclamp_engine engine, char** name);

/// Counters of an engine's work.
typedef struct syclamp_engine_statistics {
  size_t struct_size;          ///< sizeof(syclamp_engine_statistics)
  uint64_t kernels_submitted;  ///< number of kernels submitted
  uint64_t waits;              ///< number of times the host has waited for the queue
} syclamp_engine_statistics;

/// Reads the counters of an engine, which are 0 when the engine is made.
SYCLAMP_C_API syclamp_status syclamp_engine_get_statistics(syclamp_engine engine,
                                                           syclamp_engine_statistics* statistics);

/// Compiles all kernels or loads them from the cache, so that no later call compiles.
SYCLAMP_C_API syclamp_status syclamp_engine_compile_all(syclamp_engine engine);

/// Waits until all submitted work is complete, and reports its faults.
SYCLAMP_C_API syclamp_status syclamp_engine_wait(syclamp_engine engine);

// --- Order with other work of the same SYCL runtime -----------------------------------------------------------------

/// The address of the engine's in-order `sycl::queue`. Work that you submit to it runs in order with the engine's
/// calls. The address is valid while the engine exists.
SYCLAMP_C_API syclamp_status syclamp_engine_get_queue(syclamp_engine engine, void** queue);

/// Lets all later work of the engine wait for events. The host does not wait.
/// \param engine  the engine
/// \param events  addresses of `sycl::event`s, which are copied. The library cannot check these addresses.
/// \param count   number of events, at most 65536
SYCLAMP_C_API syclamp_status syclamp_engine_depend_on(syclamp_engine engine, const void* const* events, size_t count);

/// Makes an event for all work that the engine has submitted so far.
/// \param engine  the engine
/// \param event   address of a `sycl::event`, which is overwritten. The library cannot check this address.
SYCLAMP_C_API syclamp_status syclamp_engine_get_event(syclamp_engine engine, void* event);

#ifdef __cplusplus
}
#endif
#endif
