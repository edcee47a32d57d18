// SPDX-License-Identifier: Apache-2.0
/// \file
/// Looks at every element of a list of tensors once and writes none of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <syclamp/exponent_histogram.hpp>
#include <syclamp/export.hpp>
#include <syclamp/inspection.hpp>
#include <syclamp/scalar.hpp>
#include <syclamp/tensor_list.hpp>
#include <syclamp/unscaled_gradients.hpp>

namespace SYCLAMP_NAMESPACE {

/// How much an inspector tells. Each level includes the ones before.
enum class inspection_level {
  list,       ///< about all tensors together: what a training step needs, at the speed of reading
  tensors,    ///< also about each tensor and each group, and sums of absolute values
  histogram,  ///< also how many elements have which exponent, for which they are read once more
};

/// Inspects a list without waiting or allocating, in two kernels however many tensors there are; in
/// three with details, four with the histogram.
///
/// Make one, use it on every step. Each call overwrites the results of the one before; copies share them, so an
/// inspector is for one thread at a time.
class SYCLAMP_API inspector {
 public:
  /// Prepares for `list`: allocates the memory and makes sure the kernels of `run` are compiled. The scratch
  /// memory is 48 bytes per 65 536 elements; details add 148 bytes per tensor and 100 per group.
  explicit inspector(tensor_list list, inspection_level level = inspection_level::list);

  // Moving is copying, so that a handle that was moved from stays usable.
  inspector(const inspector&) = default;
  inspector(inspector&& other) noexcept : inspector(other) {}  // NOLINT(performance-move-*)
  inspector& operator=(const inspector&) = default;
  inspector& operator=(inspector&& other) noexcept { return *this = other; }

  /// Submits the inspection and returns at once. Absent tensors are left out.
  /// \param scale  by which the elements are scaled. It fills in `unscaled_amax`, and finite elements that would not be
  ///               finite in FP32 after unscaling count as `found_inf`. Not given: the elements are not scaled.
  sycl::event run(const std::optional<scalar>& scale = {}, const std::vector<sycl::event>& dependencies = {}) const;

  /// Inspects and unscales at once: out = in / scale in FP32, in the same read (with details, in a second one).
  /// What is found is about the elements as they were. (The first call compiles its kernels; `engine::compile_all`.)
  /// \throws invalid_argument if a tensor of `out` is not FP32, or the lists do not fit (see gradients.hpp)
  unscaled_gradients unscale(const tensor_list& out, const scalar& scale,
                             const std::vector<sycl::event>& dependencies = {}) const;

  const tensor_list& list() const;

  // The results in device memory, for kernels that use them. Valid as long as the inspector; filled once the event of
  // the call is complete. Those of a level that was not asked for are null.
  const inspection* device_result() const;
  const inspection* device_tensors() const;  ///< one a tensor
  const inspection* device_groups() const;   ///< one a group
  const exponent_histogram* device_histogram() const;

  // The same for the host. They wait for what was submitted so far.
  inspection result() const;
  std::vector<inspection> tensors() const;  ///< \throws invalid_argument if the inspector's level is too low
  std::vector<inspection> groups() const;   ///< \throws invalid_argument if the inspector's level is too low
  exponent_histogram histogram() const;     ///< \throws invalid_argument if the inspector's level is too low

 private:
  struct impl;
  std::shared_ptr<impl> impl_;
};

/// Inspects one array and waits for the result.
SYCLAMP_API inspection inspect(const engine& engine, const_array_view array);

}  // namespace SYCLAMP_NAMESPACE
