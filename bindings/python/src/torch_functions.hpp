// SPDX-License-Identifier: Apache-2.0
// Functions of PyTorch's libraries, found by name in the running process: none of PyTorch's headers is needed.
#pragma once

#include <cstdint>

namespace syclamp::python {

/// The address of an `at::Tensor`, which holds one pointer. PyTorch's C interface calls it `AtenTensorHandle`.
using tensor_handle = void* const*;

struct torch_functions {
  // The C interface for extensions. A function returns 0 if it succeeds.
  std::int32_t (*is_defined)(tensor_handle, bool*);
  std::int32_t (*get_data_ptr)(tensor_handle, void**);
  std::int32_t (*get_dim)(tensor_handle, std::int64_t*);
  std::int32_t (*get_sizes)(tensor_handle, std::int64_t**);
  std::int32_t (*get_strides)(tensor_handle, std::int64_t**);
  std::int32_t (*get_dtype)(tensor_handle, std::int32_t*);
  std::int32_t (*get_device_type)(tensor_handle, std::int32_t*);
  std::int32_t (*get_layout)(tensor_handle, std::int32_t*);
  std::int32_t cpu, strided, float16, bfloat16, float32, float64;  ///< its numbers

  /// C++ functions, which avoid a Python object per gradient. All are null if this PyTorch lacks one of them.
  struct {
    tensor_handle (*grad)(const void* tensor);
    std::int64_t (*version)(tensor_handle);
    bool (*is_negated)(tensor_handle);
  } direct;

  /// \throws a Python ImportError if this PyTorch does not have the C interface
  static const torch_functions& get();
};

}  // namespace syclamp::python
