// SPDX-License-Identifier: Apache-2.0
// Reads PyTorch tensors through the C table that PyTorch offers on the type of its tensors (DLPack 1.3): no Python call
// per tensor, and none of PyTorch's C++ headers or libraries.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include <syclamp/element_type.hpp>

#include "dlpack.hpp"

namespace syclamp::python {

/// Where the elements of a tensor are, and in which order.
struct tensor_layout {
  void* data = nullptr;
  std::uint64_t count = 0;
  element_type type = element_type::float32;
  std::vector<std::int64_t> shape, strides;

  bool is_dense() const;  ///< the elements fill one stretch of memory, in any order of dimensions
};

/// What a tensor should be: its type, and shape and strides in the memory of the caller.
struct expected_layout {
  element_type type;
  std::span<const std::int64_t> shape, strides;
};

/// Reads tensors of PyTorch. Holds references to Python objects: use it while the interpreter lock is held.
class tensor_reader {
 public:
  /// \param tensor_class  torch.Tensor
  explicit tensor_reader(nanobind::handle tensor_class);

  /// \param described  the tensor in messages, for example "parameter 3"
  /// \throws a Python TypeError or ValueError that names the tensor, if it is sparse, not on the CPU or of a type that
  ///         the library does not know
  tensor_layout read(nanobind::handle tensor, const std::string& described) const;

  /// The same for a tensor that is probably as it was: its address if the tensor still has this type and these strides.
  /// \return false if something else than the address has changed
  bool read_again(PyObject* tensor, const expected_layout& expected, void** address) const;

  /// The attribute `grad` of a parameter: a new reference, Python's None included.
  PyObject* gradient_of(PyObject* parameter) const { return gradient_.get(parameter); }

  // Hints to the processor that a tensor will be read soon. They do not depend on PyTorch's memory layout for
  // correctness: the word behind the header of a tensor's Python object is only prefetched, never used.
  static void prefetch_object(PyObject* tensor) { __builtin_prefetch(tensor); }
  static void prefetch_content(PyObject* tensor) {
    const char* content = reinterpret_cast<const char* const*>(tensor)[sizeof(PyObject) / sizeof(void*)];
    __builtin_prefetch(content);
    __builtin_prefetch(content + 64);
    __builtin_prefetch(content + 128);
  }

  /// How often PyTorch has written to a tensor. The library's own writes do not count.
  std::int64_t version_of(PyObject* tensor) const;

 private:
  /// An attribute of tensors, found once.
  struct attribute {
    attribute(nanobind::handle tensor_class, const char* name);
    PyObject* get(PyObject* tensor) const;

    nanobind::object descriptor;
    descrgetfunc getter;
  };

  const dlpack::exchange_api* table_ = nullptr;
  attribute gradient_, version_;
};

}  // namespace syclamp::python
