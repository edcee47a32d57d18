// SPDX-License-Identifier: Apache-2.0
/// \file
/// Inspects tensors for Inf, NaN, magnitudes and norms, without writing them.
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

/// The level of detail of an inspection. Each level includes the levels before it.
enum class inspection_level {
  list,       ///< one result for all tensors together, which is enough for a training step
  tensors,    ///< also results per tensor and per group, and sums of absolute values
  histogram,  ///< also a histogram of exponents, which needs a second pass over the data
};

/// Inspects a list of tensors. A call submits two kernels for any number of tensors (three with `tensors`, four with
/// `histogram`) and neither waits nor allocates.
///
/// Make an inspector once and use it on every step. Each call overwrites the previous results. Copies share the
/// results, so use an inspector from one thread at a time.
class SYCLAMP_API inspector {
 public:
  /// Allocates the memory for inspections of `list` and compiles the kernels of `run`. The memory is 48 bytes per 65
  /// 536 elements; details add 148 bytes per tensor and 100 bytes per group.
  explicit inspector(tensor_list list, inspection_level level = inspection_level::list);

  // Moving is copying, so that a handle that was moved from stays usable.
  inspector(const inspector&) = default;
  inspector(inspector&& other) noexcept : inspector(other) {}  // NOLINT(performance-move-*)
  inspector& operator=(const inspector&) = default;
  inspector& operator=(inspector&& other) noexcept { return *this = other; }

  /// Submits the inspection and returns at once. Absent tensors are left out.
  /// \param scale  the loss scale of the elements. It is used for `unscaled_amax`, and finite elements that would
  ///               overflow FP32 after unscaling count as `found_inf`. Default: not scaled.
  /// \param dependencies  events that must be complete before the inspection begins
  /// \return an event that is complete when the results are in device memory
  sycl::event run(const std::optional<scalar>& scale = {}, const std::vector<sycl::event>& dependencies = {}) const;

  /// Inspects and unscales in one pass: out = in / scale, in FP32. (With details there is a second pass.) The results
  /// describe the scaled elements. The first call compiles its kernels, unless `engine::compile_all` has.
  /// \param out    FP32 tensors of the same sizes
  /// \param scale  the loss scale, positive and finite
  /// \param dependencies  events that must be complete before the operation begins
  /// \return the unscaled gradients, as clip operations take them
  /// \throws invalid_argument if a tensor of `out` is not FP32, or the lists do not fit (see gradients.hpp)
  unscaled_gradients unscale(const tensor_list& out, const scalar& scale,
                             const std::vector<sycl::event>& dependencies = {}) const;

  const tensor_list& list() const;  ///< the inspected list

  // Results in device memory, for kernels. The inspector owns the memory. The results are complete when the event of
  // the call is.
  const inspection* device_result() const;             ///< result of the whole list, in device memory
  const inspection* device_tensors() const;            ///< one result per tensor; null below `tensors`
  const inspection* device_groups() const;             ///< one result per group; null below `tensors`
  const exponent_histogram* device_histogram() const;  ///< the histogram; null below `histogram`

  /// The result of the whole list. Waits for all submitted work.
  inspection result() const;

  /// One result per tensor. Waits for all submitted work.
  /// \throws invalid_argument if the level is below `tensors`
  std::vector<inspection> tensors() const;

  /// One result per group. Waits for all submitted work.
  /// \throws invalid_argument if the level is below `tensors`
  std::vector<inspection> groups() const;

  /// The histogram of exponents. Waits for all submitted work.
  /// \throws invalid_argument if the level is below `histogram`
  exponent_histogram histogram() const;

 private:
  struct impl;
  std::shared_ptr<impl> impl_;
};

/// Inspects one array and waits for the result.
/// \param engine  the device and queue
/// \param array   elements of any type
/// \return the result on the host
SYCLAMP_API inspection inspect(const engine& engine, const_array_view array);

}  // namespace SYCLAMP_NAMESPACE
