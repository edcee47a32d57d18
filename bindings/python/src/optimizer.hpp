// SPDX-License-Identifier: Apache-2.0
// Optimizers on arrays.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include <nanobind/nanobind.h>

#include <syclamp/fused_optimizer.hpp>

#include "engine.hpp"

namespace syclamp::python {

/// An optimizer with references to the memory of its arrays.
struct optimizer_handle {
  std::shared_ptr<engine_handle> engine;
  std::vector<std::shared_ptr<void>> owners;     ///< weights; declared before the optimizer, which uses them to its end
  std::vector<std::shared_ptr<void>> gradients;  ///< gradients of the present step
  std::vector<std::size_t> read_only;            ///< indices of the gradients that must not be written
  bool has_host_memory = false;
  fused_optimizer native;
  sycl::event last = {};  ///< the last operation that used the gradients

  /// Checks gradients before an operation that writes those of a type, or of every type.
  /// \throws invalid_argument that names a gradient that is read-only
  void check_gradients(std::optional<element_type> written = {}) const;

  /// All memory that a step uses.
  std::vector<std::shared_ptr<void>> memory() const;
};

}  // namespace syclamp::python
