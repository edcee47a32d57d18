// SPDX-License-Identifier: Apache-2.0
/// \file
/// Looks at every element of an array once and writes none of them.
#pragma once

#include <cstdint>
#include <memory>

#include <syclamp/array_view.hpp>
#include <syclamp/engine.hpp>
#include <syclamp/inspection.hpp>

namespace syclamp {

/// Inspects arrays of up to a given size without waiting or allocating.
///
/// Make one, use it on every step. Each call overwrites the result of the one before.
class inspector {
 public:
  /// Prepares for arrays of at most `capacity` elements: allocates the memory and makes sure the kernels are compiled.
  /// The scratch memory is 32 bytes for each 65 536 elements.
  inspector(engine on, std::uint64_t capacity);

  /// Submits the inspection of `array` and returns at once.
  /// \throws invalid_argument if the array is larger than the capacity, not aligned to its elements, or null with a
  ///         count above zero.
  sycl::event operator()(array_view array) const;

  /// The result in device memory, for kernels that use it. Valid as long as the inspector; filled once the event of the
  /// call is complete.
  const inspection* device_result() const;

  /// Waits for what was submitted so far and returns the last result.
  inspection result() const;

 private:
  struct state;
  std::shared_ptr<state> state_;
};

/// Inspects `array` once and waits for the result.
inspection inspect(const engine& on, array_view array);

}  // namespace syclamp
