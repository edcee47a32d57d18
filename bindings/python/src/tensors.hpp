// SPDX-License-Identifier: Apache-2.0
// Lists of arrays.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include <syclamp/tensor_list.hpp>

#include "arrays.hpp"
#include "engine.hpp"

namespace syclamp::python {

/// A tensor list with references to the memory of its arrays.
class tensors_handle {
 public:
  /// \param arrays    arrays, or None for an absent tensor
  /// \param argument  name of the argument, for messages
  tensors_handle(std::shared_ptr<engine_handle> engine, const nanobind::sequence& arrays,
                 const std::vector<std::string>& names, const std::vector<std::uint32_t>& groups,
                 const std::string& argument);

  engine_handle& engine() const { return *engine_; }
  const std::shared_ptr<engine_handle>& shared_engine() const { return engine_; }
  const tensor_list& list() const { return *list_; }
  const std::vector<std::shared_ptr<void>>& owners() const { return owners_; }
  bool has_host_memory() const { return has_host_memory_; }
  const std::vector<std::string>& names() const { return names_; }  ///< empty if the arrays have none

  /// Checks that all tensors may be written.
  void check_writable() const;

  /// Checks that all tensors are FP32.
  /// \param remedy  what to do with other formats
  void check_float32(const char* remedy) const;

 private:
  std::shared_ptr<engine_handle> engine_;
  std::string argument_;
  std::vector<std::string> names_;
  std::vector<std::shared_ptr<void>> owners_;
  bool has_host_memory_ = false;
  std::optional<tensor_list> list_;  ///< always set; a list cannot be made before its arrays are checked
};

/// What to do with 16-bit gradients that cannot be unscaled in place.
constexpr const char* unscale_remedy = "pass out= with float32 arrays of the same sizes";

/// The memory of several lists, which an operation keeps until it is complete.
std::vector<std::shared_ptr<void>> owners_of(std::initializer_list<const tensors_handle*> lists);

/// An array of an argument in messages: by its name if there are names, otherwise by its index.
std::string describe_array(const std::string& argument, const std::vector<std::string>& names, std::size_t index);

/// Imports the arrays of a sequence and checks that the engine can use them. None stands for an absent tensor.
std::vector<std::optional<imported_array>> import_arrays(const engine_handle& engine, const nanobind::sequence& arrays,
                                                         const std::vector<std::string>& names,
                                                         const std::string& argument);

}  // namespace syclamp::python
