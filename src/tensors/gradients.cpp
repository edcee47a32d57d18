// SPDX-License-Identifier: Apache-2.0
#include "syclamp/gradients.hpp"

#include "launch/kernel_library.hpp"
#include "launch/operations.hpp"
#include "tensors/convert.hpp"
#include "tensors/list_checks.hpp"
#include "tensors/scalar_arguments.hpp"
#include "tensors/tensor_table.hpp"
#include "tensors/unscaling.hpp"

namespace SYCLAMP_NAMESPACE {

using kernels::factor_kind;
using kernels::factor_per;

namespace {

/// Makes the scaler that has unscaled the gradients skip the step if a limit in device memory, or a factor computed
/// from it, is negative or NaN. Does nothing if no scaler has unscaled them.
void check_limits(const unscaled_gradients& gradients, const float* limits, std::uint32_t count, std::uint32_t stride) {
  const step_gate* gate = gradients.gate();
  if (gate == nullptr || limits == nullptr) return;
  const engine& engine = gradients.list().get_engine();
  engine.kernels().submit(engine.queue(), launch::check_limits, 1, limits, count, stride, gate->memory,
                          gate->open_steps, gate->scales, gate->decisions);
}

factor divided_by(const kernels::scalar_argument& scale) {
  return {.values = scale.address, .value = scale.value, .kind = factor_kind::divide};
}

}  // namespace

unscaled_gradients unscale(const tensor_list& in, const tensor_list& out, const scalar& scale,
                           const std::vector<sycl::event>& dependencies) {
  const auto divisor = scale_argument("unscale", scale);
  check_unscaling(in, out);
  sycl::event ordered = in.get_engine().order_after(dependencies);
  return unscaled_gradients(unscaling{out, convert(in, out, divided_by(divisor), ordered)});
}

sycl::event scale(const tensor_list& in, const tensor_list& out, const scalar& factor,
                  const std::vector<sycl::event>& dependencies) {
  check_pair("scale", in, out);
  sycl::event ordered = in.get_engine().order_after(dependencies);
  return convert(in, out, {.values = factor.address(), .value = factor.value(), .kind = factor_kind::multiply},
                 ordered);
}

unscaled_gradients accumulate(const tensor_list& in, const tensor_list& sum, const scalar& scale,
                              const inspection* overflow_check, const std::vector<sycl::event>& dependencies) {
  const auto divisor = scale_argument("accumulate", scale);
  check_pair("accumulate", in, sum);
  check_float32("accumulate", sum, "sums of many small gradients need FP32");
  sycl::event ordered = in.get_engine().order_after(dependencies);
  const condition only{overflow_check != nullptr ? &overflow_check->flags : nullptr, found_nothing};
  return unscaled_gradients(unscaling{sum, convert(in, sum, divided_by(divisor), ordered, true, only)});
}

sycl::event clear_gradients(const tensor_list& list, const inspection* overflow_check,
                            const std::vector<sycl::event>& dependencies) {
  check_writable("clear_gradients", list);
  sycl::event ordered = list.get_engine().order_after(dependencies);
  return clear_unless(list, overflow_check != nullptr ? &overflow_check->flags : nullptr, 0, found_nothing, ordered);
}

sycl::event clip_coefficient(const engine& engine, const inspection* inspected, const scalar& max_norm,
                             clip_result* result, norm_kind kind, const std::vector<sycl::event>& dependencies) {
  return clip_coefficients(engine, inspected, 1, max_norm, result, kind, dependencies);
}

sycl::event clip_coefficients(const engine& engine, const inspection* inspected, std::uint32_t count,
                              const scalar& max_norm, clip_result* results, norm_kind kind,
                              const std::vector<sycl::event>& dependencies) {
  const auto limit = limit_argument("clip_coefficients", "max_norm", max_norm);
  sycl::event ordered = engine.order_after(dependencies);
  if (count == 0) return ordered;
  check_given("clip_coefficients", "inspected", inspected);
  check_given("clip_coefficients", "results", results);
  return engine.kernels().submit_items(engine.queue(), launch::clip_coefficients, count, inspected, count, kind,
                                       limit.address, limit.value, results);
}

sycl::event clip(const unscaled_gradients& gradients, const clip_result* result,
                 const std::vector<sycl::event>& dependencies) {
  const tensor_list& list = gradients.list();
  check_given("clip", "result", result);
  check_pair("clip", list, list);
  sycl::event ordered = list.get_engine().order_after(dependencies);
  check_limits(gradients, &result->coefficient, 1, 1);
  return convert(list, list, {.values = &result->coefficient, .kind = factor_kind::multiply}, ordered);
}

sycl::event clip_by_group(const unscaled_gradients& gradients, const clip_result* results,
                          const std::vector<sycl::event>& dependencies) {
  constexpr auto stride = static_cast<std::uint32_t>(sizeof(clip_result) / sizeof(float));
  const tensor_list& list = gradients.list();
  check_given("clip_by_group", "results", results);
  check_pair("clip_by_group", list, list);
  sycl::event ordered = list.get_engine().order_after(dependencies);
  check_limits(gradients, &results->coefficient, list.groups(), stride);
  return convert(
      list, list,
      {.values = &results->coefficient, .kind = factor_kind::multiply, .per = factor_per::group, .stride = stride},
      ordered);
}

sycl::event clip_by_value(const unscaled_gradients& gradients, const scalar& limit,
                          const std::vector<sycl::event>& dependencies) {
  const tensor_list& list = gradients.list();
  const auto bound = limit_argument("clip_by_value", "limit", limit);
  check_pair("clip_by_value", list, list);
  sycl::event ordered = list.get_engine().order_after(dependencies);
  check_limits(gradients, bound.address, 1, 1);
  const auto& table = list.prepared();
  launch::kernel_library& library = list.get_engine().kernels();
  const auto groups = library.groups_for(launch::clamp_list, table.chunks);
  if (groups == 0) return ordered;
  return library.submit(list.get_engine().queue(), launch::clamp_list, groups, table.addresses, table.starts,
                        table.kinds, table.tensors, bound.address, bound.value);
}

}  // namespace SYCLAMP_NAMESPACE
