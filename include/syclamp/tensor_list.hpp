// SPDX-License-Identifier: Apache-2.0
/// \file
/// Lists of tensors, described once and used on every step.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <syclamp/array_view.hpp>
#include <syclamp/element_pointer.hpp>
#include <syclamp/engine.hpp>
#include <syclamp/export.hpp>

namespace SYCLAMP_NAMESPACE {

/// The description of a tensor in a list. The caller owns the memory.
///
///     tensor{.data = pointer, .count = 1000, .name = "layer1.weight"}        // the pointer's type names the format
///     tensor{.data = {bytes, element_type::float8_e4m3}, .count = 1000}      // any other pointer, and the format
///     tensor{.data = array, .name = "layer1.bias"}                           // all elements of a view or device_array
struct tensor {
  element_pointer data;     ///< address and format; a null address means that the tensor is absent
  std::uint64_t count = 0;  ///< number of elements; 0: the number of the view from which `data` was made
  std::string name = {};    ///< for messages and ledgers
  std::uint32_t group = 0;  ///< parameter group, for separate norms, scales and hyper-parameters
  /// True if all ranks of a consensus hold the same tensor, as after an all-reduce. An overflow counts on every rank,
  /// but the norm over all ranks includes the tensor once. Default: each rank holds its own part.
  bool replicated = false;
};

/// A list of any number of tensors of any sizes and types, with a table in device memory.
///
/// The constructor checks the tensors and uploads the table, and waits. Operations on the list neither allocate nor
/// wait. They submit the same number of kernels for one tensor or fifty thousand, because work is divided by elements.
///
/// A list is a handle: copies share the table, and a move is a copy. Use it from one thread at a time. Sizes and types
/// are fixed. Addresses may change from step to step, because frameworks reallocate gradients (`set_addresses`), and a
/// tensor may be absent on a step (null address).
///
/// Also allowed: an empty list, tensors without elements, the same tensor several times, and pointers aligned to only
/// one element (slower on GPUs). The table takes 20 bytes of device memory per tensor.
class SYCLAMP_API tensor_list {
 public:
  /// Makes a list and uploads its table. Waits.
  /// \param engine   the device and queue of all operations on the list
  /// \param tensors  the tensors, in order
  /// \throws invalid_argument that names the tensor, if its pointer is not aligned to its elements or belongs to
  ///         another context or device (where SYCL can tell), its view has fewer elements than `count`, or its group is
  ///         too large
  tensor_list(engine engine, std::vector<tensor> tensors);

  /// Makes a list of one tensor from an `array_view`, a `const_array_view`, or a type that converts to one of them.
  /// Waits.
  template <typename View>
    requires std::convertible_to<const View&, const_array_view>
  tensor_list(engine engine, const View& only)
      : tensor_list(std::move(engine), std::vector<tensor>{tensor{.data = only}}) {}

  // Moving is copying, so that a handle that was moved from stays usable.
  tensor_list(const tensor_list&) = default;
  tensor_list(tensor_list&& other) noexcept : tensor_list(other) {}  // NOLINT(performance-move-*)
  tensor_list& operator=(const tensor_list&) = default;
  tensor_list& operator=(tensor_list&& other) noexcept { return *this = other; }

  // Functions with an index throw invalid_argument if there is no such tensor.
  std::size_t size() const;                              ///< number of tensors
  std::uint64_t elements() const;                        ///< number of elements of all tensors, including absent ones
  const std::string& name(std::uint64_t index) const;    ///< name of a tensor
  std::uint32_t group(std::size_t index) const;          ///< group of a tensor
  std::uint32_t groups() const;                          ///< number of groups: one more than the highest group
  bool is_replicated(std::size_t index) const;           ///< true if all ranks hold the tensor alike
  const_array_view operator[](std::size_t index) const;  ///< a tensor with its present address
  bool is_all(element_type type) const;                  ///< true if every tensor has this type
  const engine& get_engine() const;                      ///< the engine from the constructor

  /// A tensor with its present address, for writing.
  /// \throws invalid_argument that names the tensor, if it is read-only (given as a pointer to const)
  array_view writable(std::size_t index) const;

  /// Sets the address of a tensor from the next operation on. An unchanged address costs nothing. The next operation
  /// uploads all changed addresses together and does not allocate. It waits only if the host is two such uploads ahead
  /// of the device. After a change, operations on two lists check for overlaps again. A read-only tensor becomes
  /// writable.
  /// \param index    index of the tensor
  /// \param address  the new address; null: the tensor is absent
  /// \throws invalid_argument as the constructor does
  void set_address(std::size_t index, void* address);

  /// Sets the addresses of all tensors, for frameworks that reallocate gradients on every step.
  /// \param addresses  one address per tensor, in the order of the list; null: the tensor is absent
  /// \throws invalid_argument as the constructor does, or if the number of addresses is not the number of tensors. All
  ///         addresses are then unchanged.
  void set_addresses(std::span<void* const> addresses);

  // For the library's own operations.
  struct table;
  const table& prepared() const;  ///< uploads what has changed
  long use_count() const;         ///< how many handles of this list there are

 private:
  struct impl;
  std::shared_ptr<impl> impl_;
};

}  // namespace SYCLAMP_NAMESPACE
