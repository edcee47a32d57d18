// SPDX-License-Identifier: Apache-2.0
/// \file
/// Looks at every element of a list of tensors once and writes none of them.
#pragma once

#include <memory>

#include <syclamp/inspection.hpp>
#include <syclamp/tensor_list.hpp>

namespace syclamp {

/// Inspects a list without waiting or allocating, in two kernels however many tensors there are.
///
/// Make one, use it on every step. Each call overwrites the result of the one before; copies share it, so an inspector
/// is for one thread at a time.
class inspector {
 public:
  /// Prepares for `list`: allocates the memory and makes sure the kernels are compiled. The scratch memory is 32 bytes
  /// for each 65 536 elements.
  explicit inspector(tensor_list list);

  /// Submits the inspection and returns at once. Absent tensors are left out.
  sycl::event operator()() const;

  /// The result in device memory, for kernels that use it. Valid as long as the inspector; filled once the event of the
  /// call is complete.
  const inspection* device_result() const;

  /// Waits for what was submitted so far and returns the last result.
  inspection result() const;

 private:
  struct state;
  std::shared_ptr<state> state_;
};

/// Inspects one array and waits for the result.
inspection inspect(const engine& on, array_view array);

}  // namespace syclamp
