// SPDX-License-Identifier: Apache-2.0
/// \file
/// C interface: lists of tensors, described once and used on every step.
#ifndef SYCLAMP_C_TENSOR_LIST_H
#define SYCLAMP_C_TENSOR_LIST_H

#include <syclamp/c/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The largest number of tensors in a list, and of parameters in an optimizer.
#define SYCLAMP_MAX_TENSORS 16777216

/// The description of a tensor. In an array of descriptions, all have the same `struct_size`.
typedef struct syclamp_tensor {
  size_t struct_size;         ///< sizeof(syclamp_tensor)
  void* address;              ///< in memory of memory.h, or other USM memory; null: the tensor is absent
  uint64_t count;             ///< number of elements
  syclamp_element_type type;  ///< storage format
  uint32_t group;             ///< parameter group, for separate norms and scales
  const char* name;           ///< for messages and ledgers; may be null
  int32_t replicated;         ///< 1: all ranks hold the same tensor (`syclamp_consensus_sum`)
  int32_t read_only;          ///< 1: operations must not write it
} syclamp_tensor;

/// Makes a list. Waits.
/// \param engine   the device and queue of all operations on the list
/// \param tensors  the descriptions with their names, which are copied; may be null if `count` is 0
/// \param count    number of tensors
/// \param list     receives the handle
SYCLAMP_C_API syclamp_status syclamp_tensor_list_create(syclamp_engine engine, const syclamp_tensor* tensors,
                                                        size_t count, syclamp_tensor_list* list);
SYCLAMP_C_API syclamp_status syclamp_tensor_list_destroy(syclamp_tensor_list list);  ///< destroys a handle

/// The sizes of a list.
typedef struct syclamp_tensor_list_info {
  size_t struct_size;  ///< sizeof(syclamp_tensor_list_info)
  uint64_t tensors;    ///< number of tensors
  uint64_t elements;   ///< number of elements of all tensors, including absent ones
  uint32_t groups;     ///< one more than the highest group
  uint32_t reserved;   ///< 0
} syclamp_tensor_list_info;

/// Reads the sizes of a list.
SYCLAMP_C_API syclamp_status syclamp_tensor_list_describe(syclamp_tensor_list list, syclamp_tensor_list_info* info);

/// Describes one tensor, with its present address.
/// \param list    the list
/// \param index   index of the tensor
/// \param tensor  receives the description. Its name is valid while the list exists; an empty text if there is none.
SYCLAMP_C_API syclamp_status syclamp_tensor_list_tensor(syclamp_tensor_list list, uint64_t index,
                                                        syclamp_tensor* tensor);

/// Sets the address of one tensor from the next operation on.
/// \param list     the list
/// \param index    index of the tensor
/// \param address  null: the tensor is absent
SYCLAMP_C_API syclamp_status syclamp_tensor_list_set_address(syclamp_tensor_list list, uint64_t index, void* address);

/// Sets the addresses of all tensors, if the program reallocates gradients on every step. After an error, all addresses
/// are unchanged.
/// \param list       the list
/// \param addresses  one address per tensor; null: the tensor is absent
/// \param count      number of addresses, which is the number of tensors
SYCLAMP_C_API syclamp_status syclamp_tensor_list_set_addresses(syclamp_tensor_list list, void* const* addresses,
                                                               size_t count);

#ifdef __cplusplus
}
#endif
#endif
