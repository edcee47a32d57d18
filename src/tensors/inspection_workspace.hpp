// SPDX-License-Identifier: Apache-2.0
// Device memory for the inspection of one list of tensors, and the kernels that fill it. An `inspector` owns one; a
// `loss_scaler` owns one for each list of gradients.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/device_memory.hpp"
#include "sycl_kernels/shared/layout.hpp"
#include "syclamp/export.hpp"
#include "syclamp/inspector.hpp"

namespace SYCLAMP_NAMESPACE {

class inspection_workspace {
 public:
  /// \param min_groups  there are results for at least this many groups, with tensors in them or not
  inspection_workspace(tensor_list tensors, inspection_level level, std::uint32_t min_groups = 0);

  /// Compiles the kernels of `inspect`.
  void prepare_kernels() const;

  /// All kernels of an inspection.
  /// \param scale   of the elements, which may be absent: they are not scaled then
  /// \param stride  distance between the scales of two groups; 0: one scale for all
  /// \param adds_replicated  false, for a workspace with details: the squares of groups and of the whole list are those
  ///                         of the tensors that are not replicated
  sycl::event inspect(const kernels::scalar_argument& scale, std::uint32_t stride = 0,
                      bool adds_replicated = true) const;

  /// Without details: writes the statistics of each chunk.
  void inspect_chunks() const;

  /// Without details: unscales the elements and writes the statistics of each chunk. The lists have been checked.
  void unscale_chunks(const tensor_list& unscaled, const kernels::scalar_argument& scale) const;

  /// Without details: adds up the statistics of all chunks.
  sycl::event add_up(const kernels::scalar_argument& scale) const;

  const tensor_list& tensors() const { return tensors_; }

  // In device memory. Null if the level has no such result.
  kernels::chunk_statistics* statistics() const { return statistics_.get(); }
  inspection* result() const { return result_.get(); }
  const inspection* tensor_results() const { return details_ ? details_->tensor_results.get() : nullptr; }
  inspection* group_results() const { return details_ ? details_->group_results.get() : nullptr; }
  const exponent_histogram* histogram() const { return details_ ? details_->histogram.get() : nullptr; }

  /// For a workspace with details.
  std::uint32_t group_count() const { return details_->groups; }
  bool has_details() const { return details_.has_value(); }

 private:
  /// Memory for results per tensor and per group.
  struct details {
    details(const tensor_list& tensors, inspection_level level, std::uint32_t min_groups);

    std::uint32_t groups;
    usm_array<inspection> tensor_results, group_results;
    usm_array<std::uint32_t> members, group_starts;  ///< tensors sorted by group, and where each group begins
    usm_array<exponent_histogram> histogram;
  };

  sycl::event inspect_details(const kernels::scalar_argument& scale, std::uint32_t stride, bool adds_replicated) const;
  void count_exponents() const;

  tensor_list tensors_;
  usm_array<kernels::chunk_statistics> statistics_;
  usm_array<inspection> result_;
  std::optional<details> details_;
};

}  // namespace SYCLAMP_NAMESPACE
