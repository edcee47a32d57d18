// SPDX-License-Identifier: Apache-2.0
// out = in · factor: what most element-wise operations come down to.
#pragma once

#include "launch/kernel_library.hpp"
#include "launch/operations.hpp"
#include "tensor_table.hpp"

namespace syclamp {

/// What `convert` multiplies by: a number in device memory, one for all tensors or one for each group or tensor.
struct factor {
  const float* values = nullptr;
  kernels::factor_kind kind = kernels::factor_kind::one;
  kernels::factor_per per = kernels::factor_per::list;
  std::uint32_t stride = 1;  ///< distance between the factors, in floats
};

/// The lists have been checked.
inline sycl::event convert(const tensor_list& in, const tensor_list& out, const factor& by, bool accumulate = false,
                           const inspection* skip_if_bad = nullptr) {
  const auto &from = in.prepared(), &to = out.prepared();
  launch::kernel_library& library = in.on().kernels();
  const auto groups = library.groups_for(launch::convert_list, from.chunks);
  if (groups == 0) return {};
  return library.submit(in.on().queue(), launch::convert_list, groups, from.addresses, from.kinds, to.addresses,
                        to.kinds, from.starts, from.tensors, by.values, by.kind, by.per, by.stride, accumulate,
                        skip_if_bad);
}

}  // namespace syclamp
