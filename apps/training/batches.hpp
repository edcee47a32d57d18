// SPDX-License-Identifier: Apache-2.0
// The samples of a task in device memory, batch by batch.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "apps/training/task.hpp"
#include "apps/training/typed_array.hpp"

namespace syclamp::training {

/// Samples on the device. A classifier has labels, any other task has targets.
struct batch {
  matrix::const_matrix_view inputs;
  std::optional<matrix::const_matrix_view> targets;
  const std::uint32_t* labels = nullptr;
};

/// Gives each step its batch. The order is a function of seed and epoch, and of nothing else.
class batches {
 public:
  /// Uploads the samples; inputs in the format of the computation, targets and labels as they are. Waits.
  /// \param of  must outlive this
  batches(const engine& engine, const task& task, element_type compute, std::uint64_t seed);

  /// Call it before the first batch of an epoch, with nothing of the epoch before still under way. Waits.
  void begin_epoch(std::uint64_t epoch);

  batch operator[](std::uint64_t step_of_epoch) const;
  batch held_out() const;

 private:
  struct uploaded {
    typed_array wide_inputs, inputs, targets, labels;
  };
  uploaded upload(const samples& from) const;
  void fill(const uploaded& where, const samples& from) const;
  batch part(const uploaded& data, std::uint64_t first, std::uint64_t rows) const;

  engine engine_;
  const task& task_;
  element_type compute_;
  std::uint64_t seed_;
  uploaded training_, held_out_;
  samples shuffled_;                  ///< if rows are
  std::vector<std::uint64_t> order_;  ///< of the batches
};

}  // namespace syclamp::training
