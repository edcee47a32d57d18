// SPDX-License-Identifier: Apache-2.0
/// \file
/// C interface: memory of a device. The library knows these blocks, so it checks that tensors and copies lie in them.
#ifndef SYCLAMP_C_MEMORY_H
#define SYCLAMP_C_MEMORY_H

#include <syclamp/c/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Where memory lies.
typedef int32_t syclamp_memory_kind;
enum {
  SYCLAMP_DEVICE_MEMORY = 0,  ///< on the device; the host copies to and from it
  SYCLAMP_SHARED_MEMORY = 1,  ///< host and device read and write it; the host only while no submitted work uses it
  SYCLAMP_HOST_MEMORY = 2     ///< on the host; the device reads and writes it
};

/// Allocates a block of memory, aligned to 64 bytes. Its content is undefined.
/// \param engine   the engine whose device uses the block
/// \param bytes    size, above 0
/// \param kind     where it lies
/// \param address  receives the address
SYCLAMP_C_API syclamp_status syclamp_memory_allocate(syclamp_engine engine, uint64_t bytes, syclamp_memory_kind kind,
                                                     void** address);

/// Lets operations use memory of yours, such as an array of the program on a CPU device, or USM memory. The memory must
/// stay valid until `syclamp_memory_free`, and until every list, optimizer and recorded step that uses it is destroyed.
/// \param engine   the engine whose device uses the memory
/// \param address  start of the memory
/// \param bytes    its size
SYCLAMP_C_API syclamp_status syclamp_memory_adopt(syclamp_engine engine, void* address, uint64_t bytes);

/// Frees a block. Submitted work is finished first. A list, an optimizer or a recorded step that uses the block keeps
/// its memory until it is destroyed, but new ones cannot use it. Adopted memory is forgotten, not freed.
/// \param address  from `syclamp_memory_allocate` or `syclamp_memory_adopt`; null: nothing happens
SYCLAMP_C_API syclamp_status syclamp_memory_free(void* address);

/// Copies from the host to the device, after all submitted work. Waits.
/// \param engine       the engine
/// \param destination  an address in a block, or any USM memory of the engine's context
/// \param source       host memory
/// \param bytes        number of bytes
SYCLAMP_C_API syclamp_status syclamp_memory_copy_in(syclamp_engine engine, void* destination, const void* source,
                                                    uint64_t bytes);

/// Copies from the device to the host, after all submitted work. Waits.
/// \param engine       the engine
/// \param destination  host memory
/// \param source       an address in a block, or any USM memory of the engine's context
/// \param bytes        number of bytes
SYCLAMP_C_API syclamp_status syclamp_memory_copy_out(syclamp_engine engine, void* destination, const void* source,
                                                     uint64_t bytes);

/// Sets every byte to a value, after all submitted work. Does not wait.
/// \param engine       the engine
/// \param destination  an address in a block, or any USM memory of the engine's context
/// \param value        value of each byte, from 0 to 255
/// \param bytes        number of bytes
SYCLAMP_C_API syclamp_status syclamp_memory_fill(syclamp_engine engine, void* destination, int32_t value,
                                                 uint64_t bytes);

#ifdef __cplusplus
}
#endif
#endif
