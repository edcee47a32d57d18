// SPDX-License-Identifier: Apache-2.0
#include "syclamp/gradients.hpp"

#include "launch/kernel_library.hpp"
#include "launch/operations.hpp"
#include "tensors/convert.hpp"
#include "tensors/list_checks.hpp"
#include "tensors/tensor_table.hpp"
#include "tensors/unscaling.hpp"

namespace syclamp {

using kernels::factor_kind;
using kernels::factor_per;

namespace {

/// Lets the scaler, if one has unscaled the gradients, skip the step if a limit, or the factor that follows from it, is
/// negative or NaN.
void check_limits(const unscaled_gradients& gradients, const float* limits, std::uint32_t count, std::uint32_t stride) {
  const step_gate* gate = gradients.gate();
  if (gate == nullptr) return;
  const engine& engine = gradients.list().get_engine();
  engine.kernels().submit(engine.queue(), launch::check_limits, 1, limits, count, stride, gate->memory,
                          gate->open_steps, gate->scales, gate->decisions);
}

}  // namespace

unscaled_gradients unscale(const tensor_list& in, const tensor_list& out, const float* scale) {
  check_given("unscale", "scale", scale);
  check_unscaling(in, out);
  return unscaled_gradients(unscaling{out, convert(in, out, {.values = scale, .kind = factor_kind::divide})});
}

sycl::event scale(const tensor_list& in, const tensor_list& out, const float* factor) {
  check_given("scale", "factor", factor);
  check_pair("scale", in, out);
  return convert(in, out, {.values = factor, .kind = factor_kind::multiply});
}

unscaled_gradients accumulate(const tensor_list& in, const tensor_list& sum, const float* scale,
                              const inspection* unless_bad) {
  check_given("accumulate", "scale", scale);
  check_pair("accumulate", in, sum);
  check_float32("accumulate", sum, "sums of many small gradients need FP32");
  const condition only{unless_bad != nullptr ? &unless_bad->flags : nullptr, found_nothing};
  return unscaled_gradients(
      unscaling{sum, convert(in, sum, {.values = scale, .kind = factor_kind::divide}, true, only)});
}

sycl::event clear_gradients(const tensor_list& list, const inspection* only_if_bad) {
  return clear_unless(list, only_if_bad != nullptr ? &only_if_bad->flags : nullptr, 0, found_nothing);
}

sycl::event clip_coefficient(const engine& engine, const inspection* inspected, const float* max_norm,
                             clip_result* result, norm_kind kind) {
  return clip_coefficients(engine, inspected, 1, max_norm, result, kind);
}

sycl::event clip_coefficients(const engine& engine, const inspection* inspected, std::uint32_t count,
                              const float* max_norm, clip_result* results, norm_kind kind) {
  if (count == 0) return {};
  check_given("clip_coefficients", "inspected", inspected);
  check_given("clip_coefficients", "max_norm", max_norm);
  check_given("clip_coefficients", "results", results);
  return engine.kernels().submit_items(engine.queue(), launch::clip_coefficients, count, inspected, count, kind,
                                       max_norm, results);
}

sycl::event clip(const unscaled_gradients& gradients, const clip_result* clip) {
  const tensor_list& list = gradients.list();
  check_given("clip", "by", clip);
  check_pair("clip", list, list);
  check_limits(gradients, &clip->coefficient, 1, 1);
  return convert(list, list, {.values = &clip->coefficient, .kind = factor_kind::multiply});
}

sycl::event clip_by_group(const unscaled_gradients& gradients, const clip_result* clip) {
  constexpr auto stride = static_cast<std::uint32_t>(sizeof(clip_result) / sizeof(float));
  const tensor_list& list = gradients.list();
  check_given("clip_by_group", "by", clip);
  check_pair("clip_by_group", list, list);
  check_limits(gradients, &clip->coefficient, list.groups(), stride);
  return convert(
      list, list,
      {.values = &clip->coefficient, .kind = factor_kind::multiply, .per = factor_per::group, .stride = stride});
}

sycl::event clip_by_value(const unscaled_gradients& gradients, const float* limit) {
  const tensor_list& list = gradients.list();
  check_given("clip_by_value", "limit", limit);
  check_pair("clip_by_value", list, list);
  check_limits(gradients, limit, 1, 1);
  const auto& table = list.prepared();
  launch::kernel_library& library = list.get_engine().kernels();
  const auto groups = library.groups_for(launch::clamp_list, table.chunks);
  if (groups == 0) return {};
  return library.submit(list.get_engine().queue(), launch::clamp_list, groups, table.addresses, table.starts,
                        table.kinds, table.tensors, limit);
}

}  // namespace syclamp
