// SPDX-License-Identifier: Apache-2.0
// out = in · factor, or zero: the base of most element-wise operations.
#pragma once

#include "launch/kernel_library.hpp"
#include "launch/operations.hpp"
#include "syclamp/export.hpp"
#include "tensors/tensor_table.hpp"

namespace SYCLAMP_NAMESPACE {

/// What `convert` multiplies by: a number, or numbers in device memory, one for all tensors or one per group or tensor.
struct factor {
  const float* values = nullptr;  ///< in device memory; null: `value`
  float value = 1.0f;
  kernels::factor_kind kind = kernels::factor_kind::one;
  kernels::factor_per per = kernels::factor_per::list;
  std::uint32_t stride = 1;  ///< distance between the factors, in floats
};

/// A condition for a kernel: a word in device memory. The kernel does nothing unless the word equals `wanted`. Null: no
/// condition.
struct condition {
  const std::uint32_t* word = nullptr;
  std::uint32_t wanted = 0;
};

/// The lists have been checked.
/// \param ordered  the event of `engine::order_after`, which is the result if there are no elements
inline sycl::event convert(const tensor_list& in, const tensor_list& out, const factor& multiplier,
                           const sycl::event& ordered = {}, bool accumulate = false, const condition& only = {}) {
  const auto &from = in.prepared(), &to = out.prepared();
  launch::kernel_library& library = in.get_engine().kernels();
  const auto groups = library.groups_for(launch::convert_list, from.chunks);
  if (groups == 0) return ordered;
  return library.submit(in.get_engine().queue(), launch::convert_list, groups, from.addresses, from.kinds, to.addresses,
                        to.kinds, from.starts, from.tensors, multiplier.values, multiplier.value, multiplier.kind,
                        multiplier.per, multiplier.stride, accumulate, only.word, only.wanted);
}

/// Sets every element to zero, unless the word of its group, in device memory, is `spared`. The words lie `stride`
/// apart; 0: one for all. Null: always.
/// \param ordered  as for `convert`
inline sycl::event clear_unless(const tensor_list& list, const std::uint32_t* words, std::uint32_t stride,
                                std::uint32_t spared, const sycl::event& ordered = {}) {
  const auto& table = list.prepared();
  launch::kernel_library& library = list.get_engine().kernels();
  const auto groups = library.groups_for(launch::clear_list, table.chunks);
  if (groups == 0) return ordered;
  return library.submit(list.get_engine().queue(), launch::clear_list, groups, table.addresses, table.starts,
                        table.kinds, table.tensors, words, stride, spared);
}

}  // namespace SYCLAMP_NAMESPACE
