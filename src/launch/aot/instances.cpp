// SPDX-License-Identifier: Apache-2.0
// Wraps the kernel bodies as function objects, once for each profile.
#include "launch/aot/instances.hpp"

#include <array>
#include <utility>

#include "backends/profiles.hpp"
#include "launch/operations.hpp"
#include "sycl_kernels/engine/self_test.hpp"
#include "sycl_kernels/matrix/gemm.hpp"
#include "sycl_kernels/matrix/gemm_blocks.hpp"
#include "sycl_kernels/matrix/gemm_joint_brain.hpp"
#include "sycl_kernels/matrix/gemm_joint_half.hpp"
#include "sycl_kernels/nn/activate.hpp"
#include "sycl_kernels/nn/layer_norm.hpp"
#include "sycl_kernels/nn/losses.hpp"
#include "sycl_kernels/nn/row_sums.hpp"
#include "sycl_kernels/optimizer/check_rates.hpp"
#include "sycl_kernels/optimizer/rules/adadelta.hpp"
#include "sycl_kernels/optimizer/rules/adagrad.hpp"
#include "sycl_kernels/optimizer/rules/adam.hpp"
#include "sycl_kernels/optimizer/rules/amsgrad.hpp"
#include "sycl_kernels/optimizer/rules/lamb.hpp"
#include "sycl_kernels/optimizer/rules/lion.hpp"
#include "sycl_kernels/optimizer/rules/novograd.hpp"
#include "sycl_kernels/optimizer/rules/rmsprop.hpp"
#include "sycl_kernels/optimizer/rules/sgd.hpp"
#include "sycl_kernels/scaler/inspect_step.hpp"
#include "sycl_kernels/scaler/scaler.hpp"
#include "sycl_kernels/tensors/cast.hpp"
#include "sycl_kernels/tensors/clip.hpp"
#include "sycl_kernels/tensors/convert.hpp"
#include "sycl_kernels/tensors/exponents.hpp"
#include "sycl_kernels/tensors/inspect.hpp"
#include "sycl_kernels/tensors/inspect_tensors.hpp"
#include "sycl_kernels/tensors/quantize.hpp"
#include "sycl_kernels/tensors/unscale.hpp"

namespace syclamp::launch::aot {
namespace {

using table = std::map<const operation_base*, submitter>;
using backends::profiles;

template <typename Body, unsigned GroupSize, typename... Args>
sycl::event submit(sycl::queue& queue, std::uint64_t groups, const argument* arguments) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return queue.submit([&](sycl::handler& handler) {
      const auto launch = [&](auto... args) {
        sycl::local_accessor<typename Body::shared, 1> shared(sycl::range<1>(1), handler);
        handler.parallel_for<Body>(sycl::nd_range<1>(groups * GroupSize, GroupSize), [=](sycl::nd_item<1> item) {
          Body::run(kernels::work_item(item), shared[0], args...);
        });
      };
      launch(*static_cast<const Args*>(arguments[I].value)...);
    });
  }(std::index_sequence_for<Args...>{});
}

/// Adds the instance of `op` for profile number `P`.
template <std::size_t P, template <unsigned, unsigned, unsigned> typename Body, typename... Args>
void add(table& to, const operation<Args...>& op, const auto walk) {
  constexpr traversal how = profiles[P].*decltype(walk)::value;
  to.emplace(&op, &submit<Body<how.pack_bytes, how.most_lanes, how.group_size>, how.group_size, Args...>);
}

template <traversal profile::* Walk>
using walk = std::integral_constant<traversal profile::*, Walk>;

template <std::size_t P>
table instances_of_profile() {
  table all;
  add<P, kernels::inspect_chunks>(all, inspect_chunks, walk<inspect_chunks.walk>{});
  add<P, kernels::inspect_total>(all, inspect_total, walk<inspect_total.walk>{});
  add<P, kernels::unscale_chunks>(all, unscale_chunks, walk<unscale_chunks.walk>{});
  add<P, kernels::inspect_pieces>(all, inspect_pieces, walk<inspect_pieces.walk>{});
  add<P, kernels::inspect_tensors>(all, inspect_tensors, walk<inspect_tensors.walk>{});
  add<P, kernels::inspect_groups>(all, inspect_groups, walk<inspect_groups.walk>{});
  add<P, kernels::count_exponents>(all, count_exponents, walk<count_exponents.walk>{});
  add<P, kernels::convert_list>(all, convert_list, walk<convert_list.walk>{});
  add<P, kernels::clear_list>(all, clear_list, walk<clear_list.walk>{});
  add<P, kernels::cast_list>(all, cast_list, walk<cast_list.walk>{});
  add<P, kernels::clip_coefficients>(all, clip_coefficients, walk<clip_coefficients.walk>{});
  add<P, kernels::clamp_list>(all, clamp_list, walk<clamp_list.walk>{});
  add<P, kernels::update_scales>(all, update_scales, walk<update_scales.walk>{});
  add<P, kernels::fake_quantize>(all, fake_quantize, walk<fake_quantize.walk>{});
  add<P, kernels::straight_through>(all, straight_through, walk<straight_through.walk>{});
  add<P, kernels::inspect_and_decide>(all, inspect_and_decide, walk<inspect_and_decide.walk>{});
  add<P, kernels::inspect_step>(all, inspect_step, walk<inspect_step.walk>{});
  add<P, kernels::decide_gradients>(all, decide_gradients, walk<decide_gradients.walk>{});
  add<P, kernels::report_jointly>(all, report_jointly, walk<report_jointly.walk>{});
  add<P, kernels::skip_jointly>(all, skip_jointly, walk<skip_jointly.walk>{});
  add<P, kernels::fill_rank_flags>(all, fill_rank_flags, walk<fill_rank_flags.walk>{});
  add<P, kernels::check_limits>(all, check_limits, walk<check_limits.walk>{});
  add<P, kernels::check_rates>(all, check_rates, walk<check_rates.walk>{});
  add<P, kernels::update_scale>(all, update_scale, walk<update_scale.walk>{});
  add<P, kernels::resume_scaling>(all, resume_scaling, walk<resume_scaling.walk>{});
  add<P, kernels::guard_value>(all, guard_value, walk<guard_value.walk>{});
  add<P, kernels::sgd_step>(all, sgd_step, walk<sgd_step.walk>{});
  add<P, kernels::momentum_step>(all, momentum_step, walk<momentum_step.walk>{});
  add<P, kernels::adam_step>(all, adam_step, walk<adam_step.walk>{});
  add<P, kernels::amsgrad_step>(all, amsgrad_step, walk<amsgrad_step.walk>{});
  add<P, kernels::lion_step>(all, lion_step, walk<lion_step.walk>{});
  add<P, kernels::adadelta_step>(all, adadelta_step, walk<adadelta_step.walk>{});
  add<P, kernels::adagrad_step>(all, adagrad_step, walk<adagrad_step.walk>{});
  add<P, kernels::rmsprop_step>(all, rmsprop_step, walk<rmsprop_step.walk>{});
  add<P, kernels::rmsprop_momentum_step>(all, rmsprop_momentum_step, walk<rmsprop_momentum_step.walk>{});
  add<P, kernels::rmsprop_centered_step>(all, rmsprop_centered_step, walk<rmsprop_centered_step.walk>{});
  add<P, kernels::rmsprop_centered_momentum_step>(all, rmsprop_centered_momentum_step,
                                                  walk<rmsprop_centered_momentum_step.walk>{});
  add<P, kernels::lamb_pieces>(all, lamb_pieces, walk<lamb_pieces.walk>{});
  add<P, kernels::lamb_norms>(all, lamb_norms, walk<lamb_norms.walk>{});
  add<P, kernels::lamb_step>(all, lamb_step, walk<lamb_step.walk>{});
  add<P, kernels::novograd_pieces>(all, novograd_pieces, walk<novograd_pieces.walk>{});
  add<P, kernels::novograd_norms>(all, novograd_norms, walk<novograd_norms.walk>{});
  add<P, kernels::novograd_step>(all, novograd_step, walk<novograd_step.walk>{});
  add<P, kernels::activate_rows>(all, activate_rows, walk<activate_rows.walk>{});
  add<P, kernels::activate_gradient>(all, activate_gradient, walk<activate_gradient.walk>{});
  add<P, kernels::gemm_tiles>(all, gemm_tiles, walk<gemm_tiles.walk>{});
  add<P, kernels::gemm_blocks_half>(all, gemm_blocks_half, walk<gemm_blocks_half.walk>{});
  add<P, kernels::gemm_blocks_brain>(all, gemm_blocks_brain, walk<gemm_blocks_brain.walk>{});
#if defined(SYCL_EXT_ONEAPI_MATRIX)
  add<P, kernels::gemm_joint_half>(all, gemm_joint_half, walk<gemm_joint_half.walk>{});
  add<P, kernels::gemm_joint_brain>(all, gemm_joint_brain, walk<gemm_joint_brain.walk>{});
#endif
  add<P, kernels::sum_rows>(all, sum_rows, walk<sum_rows.walk>{});
  add<P, kernels::layer_norm_rows>(all, layer_norm_rows, walk<layer_norm_rows.walk>{});
  add<P, kernels::layer_norm_gradient>(all, layer_norm_gradient, walk<layer_norm_gradient.walk>{});
  add<P, kernels::layer_norm_sums>(all, layer_norm_sums, walk<layer_norm_sums.walk>{});
  add<P, kernels::cross_entropy_rows>(all, cross_entropy_rows, walk<cross_entropy_rows.walk>{});
  add<P, kernels::squared_error_rows>(all, squared_error_rows, walk<squared_error_rows.walk>{});
  add<P, kernels::mean_of_rows>(all, mean_of_rows, walk<mean_of_rows.walk>{});
  add<P, kernels::self_test>(all, self_test, walk<self_test.walk>{});
  return all;
}

}  // namespace

const std::map<const operation_base*, submitter>& instances(const profile& tuning) {
  static const auto all = []<std::size_t... P>(std::index_sequence<P...>) {
    return std::array{instances_of_profile<P>()...};
  }(std::make_index_sequence<profiles.size()>{});
  return all.at(static_cast<std::size_t>(&tuning - profiles.data()));
}

}  // namespace syclamp::launch::aot
