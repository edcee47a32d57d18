// SPDX-License-Identifier: Apache-2.0
// Reads PyTorch tensors and their gradients through functions of PyTorch's libraries: no Python call per tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include <syclamp/element_type.hpp>

#include "torch_functions.hpp"

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

  /// \throws a Python TypeError if this is not a tensor. `handle_of` must not be called for other objects.
  void need_tensor(nanobind::handle object, const std::string& described) const;

  /// The same for a tensor that is probably as it was: its address if the tensor still has this type and these strides.
  /// \return false if something else than the address has changed
  bool read_again(tensor_handle tensor, const expected_layout& expected, void** address) const;

  tensor_handle handle_of(PyObject* tensor) const {
    return reinterpret_cast<tensor_handle>(reinterpret_cast<char*>(tensor) + handle_offset_);
  }

  /// The attribute `grad` of a parameter, null if the attribute is None.
  /// \param holder  keeps the gradient alive if PyTorch must make a Python object for it
  tensor_handle gradient_of(PyObject* parameter, nanobind::object& holder) const;

  /// Whether PyTorch has negated a gradient without writing to its memory.
  /// \param holder  of the gradient
  bool is_negated(tensor_handle gradient, nanobind::handle holder) const;

  /// How often PyTorch has written to a tensor. The library's own writes do not count.
  std::int64_t version_of(PyObject* tensor) const;

  /// Hints to the processor that a parameter and its gradient will be read soon: thousands of small objects are far
  /// apart in memory. Call it for each stage in turn, some parameters apart, because a stage reads what the one before
  /// has asked for.
  enum class stage : std::uint8_t { object, tensor, storage, gradient, storage_of_gradient };
  void prefetch(PyObject* parameter, stage next) const;

  /// Whether gradients are read without a Python object for each. Tests turn it off.
  static inline bool reads_directly = true;

 private:
  /// An attribute of tensors, found once.
  struct attribute {
    attribute(nanobind::handle tensor_class, const char* name);
    nanobind::object get(PyObject* tensor) const;

    nanobind::object descriptor;
    descrgetfunc getter;
  };

  static std::size_t find_handle();
  std::size_t find_storage() const;
  void prefetch_storage(const void* content) const;

  nanobind::object tensor_class_;
  const torch_functions& functions_;
  attribute gradient_, version_;
  bool is_direct_;
  std::size_t handle_offset_;   ///< of the `at::Tensor` in a tensor's Python object
  std::size_t storage_offset_;  ///< of the pointer to the storage in what an `at::Tensor` points to; 0: unknown
};

}  // namespace syclamp::python
