// SPDX-License-Identifier: Apache-2.0
/// \file
/// The tensors that an operation works on, described once and used on every step.
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

/// A tensor as a list knows it.
///
///     tensor{.data = pointer, .count = 1000, .name = "layer1.weight"}        // the pointer's type names the format
///     tensor{.data = {bytes, element_type::float8_e4m3}, .count = 1000}      // any other pointer, and the format
///     tensor{.data = array, .name = "layer1.bias"}                           // all elements of a view or device_array
struct tensor {
  element_pointer data;     ///< may be null: the tensor is absent for now
  std::uint64_t count = 0;  ///< number of elements; 0: those of the view that `data` was made from
  std::string name = {};    ///< for messages and ledgers
  std::uint32_t group = 0;  ///< parameter group, for norms and hyper-parameters of its own
  /// All ranks of a consensus hold this tensor alike, as after an all-reduce. It counts for overflow on every rank, and
  /// in the norm over all ranks once. Not set: this rank holds a part of its own.
  bool replicated = false;
};

/// A list of tensors of any number, sizes and types, with its table in device memory.
///
/// Making one checks the tensors and uploads the table; it waits. Afterwards nothing does: operations on the list
/// neither allocate nor wait, and they take the same number of kernels whether it has one tensor or fifty thousand,
/// because work is divided by elements.
///
/// A list is a handle: copies share the table, which is for one thread at a time. Moving is copying. Sizes and types
/// are fixed. Addresses may change from step to step, as frameworks allocate gradients anew (`set_addresses`), and a
/// tensor may be absent on a step (a null address).
///
/// Defined, too: an empty list, tensors without elements, the same tensor several times, pointers that are aligned to
/// one element only (slower on GPUs). The table takes 20 bytes of device memory a tensor.
class SYCLAMP_API tensor_list {
 public:
  /// \throws invalid_argument that names the tensor, if a pointer is not aligned to its elements, belongs to another
  ///         context or device (where SYCL can tell), a view has fewer elements than `count`, or a group is too large
  tensor_list(engine engine, std::vector<tensor> tensors);

  /// A list of one tensor, from an `array_view`, a `const_array_view` or what converts to one of them.
  template <typename View>
    requires std::convertible_to<const View&, const_array_view>
  tensor_list(engine engine, const View& only)
      : tensor_list(std::move(engine), std::vector<tensor>{tensor{.data = only}}) {}

  // Moving is copying, so that a handle that was moved from stays usable.
  tensor_list(const tensor_list&) = default;
  tensor_list(tensor_list&& other) noexcept : tensor_list(other) {}  // NOLINT(performance-move-*)
  tensor_list& operator=(const tensor_list&) = default;
  tensor_list& operator=(tensor_list&& other) noexcept { return *this = other; }

  // An index beyond the end is an invalid_argument.
  std::size_t size() const;                              ///< number of tensors
  std::uint64_t elements() const;                        ///< over all tensors, absent ones included
  const std::string& name(std::uint64_t index) const;    ///< name of a tensor
  std::uint32_t group(std::size_t index) const;          ///< group of a tensor
  std::uint32_t groups() const;                          ///< one more than the highest group of a tensor
  bool is_replicated(std::size_t index) const;           ///< true if all ranks hold the tensor alike
  const_array_view operator[](std::size_t index) const;  ///< a tensor as the next operation will see it
  bool is_all(element_type type) const;                  ///< true if every tensor is of that type
  const engine& get_engine() const;

  /// A tensor as the next operation will write it.
  /// \throws invalid_argument that names the tensor, if it was given as a pointer to const
  array_view writable(std::size_t index) const;

  /// Gives a tensor another address, from the next operation on; null means absent. Costs nothing if it is unchanged.
  /// What has changed is uploaded together, when the next operation is submitted, without waiting or allocating. (Only
  /// a host that is two such uploads ahead of the device waits for the older one.) Operations on two lists look for
  /// overlaps again when an address has changed.
  /// A tensor that was read-only may be written from then on.
  /// \throws invalid_argument as the constructor does
  void set_address(std::size_t index, void* address);

  /// Gives every tensor its address, in the order of the list: what a framework calls that allocates gradients on every
  /// step. With 10 000 tensors this call and the checks of the next step take 0.5 ms at most.
  /// \throws invalid_argument that names the tensor, as the constructor does, or if there are not as many addresses as
  ///         tensors; then all addresses stay as they were
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
