// SPDX-License-Identifier: Apache-2.0
#include "syclamp/cast.hpp"

#include <fmt/format.h>

#include "engine/command_queue.hpp"
#include "syclamp/error.hpp"
#include "tensors/address_checks.hpp"
#include "tensors/convert.hpp"
#include "tensors/list_checks.hpp"

namespace SYCLAMP_NAMESPACE {

using kernels::factor_kind;
using kernels::factor_per;

namespace {

/// \throws invalid_argument that names the option, if the device cannot read its memory
void check_optional(const engine& engine, const char* option, const void* address) {
  if (address != nullptr) check_address(engine.queue(), option, address);
}

}  // namespace

sycl::event cast(const tensor_list& in, const tensor_list& out, const cast_options& options,
                 const std::vector<sycl::event>& dependencies) {
  check_pair("cast", in, out);
  if (options.divide)
    for (std::size_t i = 0; i < in.size(); ++i)
      if (bytes_per_element(in[i].type()) != 1)
        throw invalid_argument(fmt::format(
            "cast: {} is {}, but only FP8 tensors are divided by their scales; to unscale gradients, call unscale",
            described(in, i), to_string(in[i].type())));
  check_optional(in.get_engine(), "cast_options::scales", options.scales);
  check_optional(in.get_engine(), "cast_options::saturated", options.saturated);
  check_optional(in.get_engine(), "cast_options::step", options.step);
  const auto kind = options.scales == nullptr ? factor_kind::one
                    : options.divide          ? factor_kind::divide
                                              : factor_kind::multiply;
  const command_queue queue(in.get_engine());
  sycl::event ordered = in.get_engine().order_after(dependencies);
  if (options.saturated != nullptr) ordered = queue.memset(options.saturated, 0, sizeof *options.saturated);
  if (options.rounding_mode == rounding::to_nearest && !options.saturate && options.saturated == nullptr)
    return convert(in, out, {.values = options.scales, .kind = kind, .per = factor_per::tensor}, ordered);
  const auto &from = in.prepared(), &to = out.prepared();
  launch::kernel_library& library = in.get_engine().kernels();
  const auto groups = library.groups_for(launch::cast_list, from.chunks);
  if (groups == 0) return ordered;
  return library.submit(queue, launch::cast_list, groups, from.addresses, from.kinds, to.addresses, to.kinds,
                        from.starts, from.tensors, options.scales, kind, options.saturate,
                        options.rounding_mode == rounding::stochastic, options.seed, options.step, options.saturated);
}

}  // namespace SYCLAMP_NAMESPACE
