// SPDX-License-Identifier: Apache-2.0
// Every operation that the library can submit. With the profiles of backends/, this is the list of kernel instances:
// the run-time compiler, the ahead-of-time table and the test that compiles them all are derived from it.
#pragma once

#include <cstdint>

#include "launch/operation.hpp"
#include "sycl_kernels/shared/layout.hpp"
#include "sycl_kernels/shared/optimizer_layout.hpp"
#include "sycl_kernels/shared/scaler_layout.hpp"

namespace syclamp::launch {

// What the parameters of many operations begin with, in the order in which kernels take them.
namespace parameters {
using addresses = const std::uint64_t*;
using starts = const std::uint64_t*;
using kinds = const std::uint32_t*;
using tensors = std::uint32_t;
using scalar = const float*;  ///< in device memory
}  // namespace parameters
using namespace parameters;

inline constexpr operation<addresses, starts, kinds, tensors, kernels::chunk_statistics*> inspect_chunks{
    "inspect_chunks", "tensors/inspect", &profile::inspect};

inline constexpr operation<const kernels::chunk_statistics*, starts, tensors, scalar, inspection*, std::uint32_t*>
    inspect_total{"inspect_total", "tensors/inspect", &profile::inspect};

inline constexpr operation<addresses, starts, kinds, tensors, kernels::chunk_statistics*, addresses, scalar>
    unscale_chunks{"unscale_chunks", "tensors/unscale", &profile::inspect};

inline constexpr operation<addresses, starts, kinds, tensors, kernels::chunk_statistics*> inspect_pieces{
    "inspect_pieces", "tensors/inspect_tensors", &profile::inspect};

inline constexpr operation<const kernels::chunk_statistics*, addresses, starts, kinds, tensors, scalar, std::uint32_t,
                           inspection*>
    inspect_tensors{"inspect_tensors", "tensors/inspect_tensors", &profile::inspect};

inline constexpr operation<const inspection*, tensors, const std::uint32_t*, const std::uint32_t*, std::uint32_t,
                           scalar, std::uint32_t, inspection*, inspection*, std::uint32_t*>
    inspect_groups{"inspect_groups", "tensors/inspect_tensors", &profile::inspect};

inline constexpr operation<addresses, starts, kinds, tensors, exponent_histogram*> count_exponents{
    "count_exponents", "tensors/exponents", &profile::convert};

inline constexpr operation<addresses, kinds, addresses, kinds, starts, tensors, const float*, kernels::factor_kind,
                           kernels::factor_per, std::uint32_t, bool, const std::uint32_t*, std::uint32_t>
    convert_list{"convert_list", "tensors/convert", &profile::convert};

inline constexpr operation<addresses, starts, kinds, tensors, const std::uint32_t*, std::uint32_t, std::uint32_t>
    clear_list{"clear_list", "tensors/convert", &profile::convert};

inline constexpr operation<addresses, kinds, addresses, kinds, starts, tensors, const float*, kernels::factor_kind,
                           bool, bool, std::uint64_t, const std::uint64_t*, std::uint64_t*>
    cast_list{"cast_list", "tensors/cast", &profile::convert};

inline constexpr operation<const inspection*, std::uint32_t, norm_kind, scalar, clip_result*> clip_coefficients{
    "clip_coefficients", "tensors/clip", &profile::convert};

inline constexpr operation<addresses, starts, kinds, tensors, scalar> clamp_list{"clamp_list", "tensors/clip",
                                                                                 &profile::convert};

inline constexpr operation<const inspection*, tensors, const float*, bool, std::uint32_t, float*, std::uint32_t*,
                           float*>
    update_scales{"update_scales", "tensors/quantize", &profile::convert};

inline constexpr operation<addresses, kinds, addresses, kinds, starts, tensors, const float*, const float*>
    fake_quantize{"fake_quantize", "tensors/quantize", &profile::convert};

inline constexpr operation<addresses, kinds, addresses, kinds, addresses, kinds, starts, tensors, const float*,
                           const float*>
    straight_through{"straight_through", "tensors/quantize", &profile::convert};

inline constexpr operation<const kernels::chunk_statistics*, starts, tensors, inspection*, kernels::scaler_memory*,
                           scale_state*, kernels::open_step*, scalar, std::uint32_t, std::uint32_t, step_decision*>
    inspect_and_decide{"inspect_and_decide", "scaler/scaler", &profile::inspect};

inline constexpr operation<addresses, starts, kinds, tensors, kernels::chunk_statistics*, inspection*,
                           kernels::scaler_memory*, scale_state*, kernels::open_step*, scalar, std::uint32_t,
                           std::uint32_t, step_decision*>
    inspect_step{"inspect_step", "scaler/inspect_step", &profile::inspect};

inline constexpr operation<const inspection*, const kernels::rank_flags*, kernels::scaler_memory*, scale_state*,
                           kernels::open_step*, std::uint32_t, scalar, std::uint32_t, std::uint32_t, step_decision*>
    decide_gradients{"decide_gradients", "scaler/scaler", &profile::convert};

inline constexpr operation<const inspection*, std::uint32_t, scalar, const step_decision*, kernels::scaler_memory*>
    report_jointly{"report_jointly", "scaler/scaler", &profile::convert};

inline constexpr operation<kernels::scaler_memory*, const kernels::rank_flags*, kernels::open_step*, std::uint32_t,
                           step_decision*>
    skip_jointly{"skip_jointly", "scaler/scaler", &profile::convert};

inline constexpr operation<const inspection*, const kernels::scaler_memory*, std::uint32_t, scalar, bool,
                           kernels::rank_flags*>
    fill_rank_flags{"fill_rank_flags", "scaler/scaler", &profile::convert};

inline constexpr operation<kernels::scaler_memory*, scale_state*, kernels::open_step*, std::uint32_t, std::uint32_t,
                           float, kernels::ledger_slot*, std::uint32_t>
    update_scale{"update_scale", "scaler/scaler", &profile::convert};

inline constexpr operation<scale_state*, std::uint32_t> resume_scaling{"resume_scaling", "scaler/scaler",
                                                                       &profile::convert};

inline constexpr operation<scalar, float, std::uint32_t, kernels::running_value*, std::uint32_t*> guard_value{
    "guard_value", "scaler/scaler", &profile::convert};

inline constexpr operation<scalar, std::uint32_t, std::uint32_t, kernels::scaler_memory*, kernels::open_step*,
                           std::uint32_t, step_decision*>
    check_limits{"check_limits", "scaler/scaler", &profile::convert};

inline constexpr operation<const kernels::parameter_group*, std::uint32_t, std::uint32_t*> check_rates{
    "check_rates", "optimizer/check_rates", &profile::convert};

/// A step of an optimizer. Of what is in its family, all is compiled when one is needed.
struct apply_operation
    : operation<addresses, starts, kinds, tensors, const kernels::parameter_slot*, kernels::parameter_group*,
                kernels::optimizer_memory*, const step_decision*, std::uint32_t, const kernels::tensor_norms*> {
  constexpr apply_operation(std::string_view name, std::string_view family, std::uint32_t moments)
      : operation(name, family, &profile::apply), states(moments) {}

  std::uint32_t states;  ///< moments of each element; a test compares them with the rule's
};

/// What comes before it if the step depends on norms of each tensor: over pieces, then over tensors.
using prepare_operation =
    operation<addresses, starts, kinds, tensors, const kernels::parameter_slot*, const kernels::parameter_group*,
              const kernels::optimizer_memory*, const step_decision*, std::uint32_t, kernels::piece_norms*>;
using norms_operation =
    operation<addresses, starts, kinds, tensors, const kernels::parameter_group*, const step_decision*, std::uint32_t,
              const kernels::piece_norms*, kernels::tensor_norms*>;

inline constexpr apply_operation sgd_step{"sgd_step", "optimizer/rules/sgd", 0};
inline constexpr apply_operation momentum_step{"momentum_step", "optimizer/rules/sgd", 1};
inline constexpr apply_operation adam_step{"adam_step", "optimizer/rules/adam", 2};
inline constexpr apply_operation amsgrad_step{"amsgrad_step", "optimizer/rules/amsgrad", 3};
inline constexpr apply_operation lion_step{"lion_step", "optimizer/rules/lion", 1};
inline constexpr apply_operation adadelta_step{"adadelta_step", "optimizer/rules/adadelta", 2};
inline constexpr apply_operation adagrad_step{"adagrad_step", "optimizer/rules/adagrad", 1};
inline constexpr apply_operation rmsprop_step{"rmsprop_step", "optimizer/rules/rmsprop", 1};
inline constexpr apply_operation rmsprop_momentum_step{"rmsprop_momentum_step", "optimizer/rules/rmsprop", 2};
inline constexpr apply_operation rmsprop_centered_step{"rmsprop_centered_step", "optimizer/rules/rmsprop", 2};
inline constexpr apply_operation rmsprop_centered_momentum_step{"rmsprop_centered_momentum_step",
                                                                "optimizer/rules/rmsprop", 3};

inline constexpr prepare_operation lamb_pieces{"lamb_pieces", "optimizer/rules/lamb", &profile::apply};
inline constexpr norms_operation lamb_norms{"lamb_norms", "optimizer/rules/lamb", &profile::apply};
inline constexpr apply_operation lamb_step{"lamb_step", "optimizer/rules/lamb", 2};

inline constexpr prepare_operation novograd_pieces{"novograd_pieces", "optimizer/rules/novograd", &profile::apply};
inline constexpr norms_operation novograd_norms{"novograd_norms", "optimizer/rules/novograd", &profile::apply};
inline constexpr apply_operation novograd_step{"novograd_step", "optimizer/rules/novograd", 1};

inline constexpr operation<const kernels::arithmetic_inputs*, kernels::arithmetic_answers*> self_test{
    "self_test", "engine/self_test", &profile::inspect};

// A product of matrices: A, B and C with type, stride, distance in a batch and whether transposed; m, n, k; alpha,
// beta; bias and its type; activation.
using product_operation =
    operation<const void*, element_type, std::uint64_t, std::uint64_t, bool, const void*, element_type, std::uint64_t,
              std::uint64_t, bool, void*, element_type, std::uint64_t, std::uint64_t, std::uint32_t, std::uint32_t,
              std::uint32_t, float, float, const void*, element_type, activation>;

inline constexpr product_operation gemm_tiles{"gemm_tiles", "matrix/gemm", &profile::matrix};

// For tests only, which ask for them by name.
inline constexpr product_operation gemm_blocks_half{"gemm_blocks_half", "matrix/gemm_blocks", &profile::blocks, true};
inline constexpr product_operation gemm_blocks_brain{"gemm_blocks_brain", "matrix/gemm_blocks", &profile::blocks, true};

inline constexpr product_operation gemm_joint_half{"gemm_joint_half", "matrix/gemm_joint_half", &profile::blocks, true};
inline constexpr product_operation gemm_joint_brain{"gemm_joint_brain", "matrix/gemm_joint_brain", &profile::blocks,
                                                    true};

inline constexpr operation<const void*, element_type, std::uint64_t, void*, element_type, std::uint64_t, std::uint64_t,
                           std::uint32_t, const void*, element_type, activation>
    activate_rows{"activate_rows", "nn/activate", &profile::convert};

inline constexpr operation<const void*, element_type, std::uint64_t, const void*, element_type, std::uint64_t, void*,
                           element_type, std::uint64_t, std::uint64_t, std::uint32_t, const void*, element_type,
                           activation>
    activate_gradient{"activate_gradient", "nn/activate", &profile::convert};

inline constexpr operation<const void*, element_type, std::uint64_t, std::uint64_t, std::uint32_t, void*, element_type>
    sum_rows{"sum_rows", "nn/row_sums", &profile::convert};

inline constexpr operation<const void*, element_type, std::uint64_t, const void*, element_type, const void*,
                           element_type, void*, element_type, std::uint64_t, std::uint32_t, float, float*, float*>
    layer_norm_rows{"layer_norm_rows", "nn/layer_norm", &profile::convert};

inline constexpr operation<const void*, element_type, std::uint64_t, const void*, element_type, const void*,
                           element_type, std::uint64_t, void*, element_type, std::uint64_t, std::uint32_t, const float*,
                           const float*>
    layer_norm_gradient{"layer_norm_gradient", "nn/layer_norm", &profile::convert};

inline constexpr operation<const void*, element_type, std::uint64_t, const void*, element_type, std::uint64_t,
                           std::uint64_t, std::uint32_t, const float*, const float*, void*, element_type, void*,
                           element_type>
    layer_norm_sums{"layer_norm_sums", "nn/layer_norm", &profile::convert};

inline constexpr operation<const void*, element_type, std::uint64_t, const std::uint32_t*, std::uint32_t, float, scalar,
                           float*, void*, element_type, std::uint64_t>
    cross_entropy_rows{"cross_entropy_rows", "nn/losses", &profile::convert};

inline constexpr operation<const void*, element_type, std::uint64_t, const void*, element_type, std::uint64_t,
                           std::uint32_t, float, scalar, float*, void*, element_type, std::uint64_t>
    squared_error_rows{"squared_error_rows", "nn/losses", &profile::convert};

inline constexpr operation<const float*, std::uint32_t, float, float*> mean_of_rows{"mean_of_rows", "nn/losses",
                                                                                    &profile::convert};

// clang-format off
inline constexpr const operation_base* operations[] = {
    &inspect_chunks,  &inspect_total, &unscale_chunks,   &inspect_pieces,    &inspect_tensors,   &inspect_groups,
    &count_exponents, &convert_list,  &clear_list,       &cast_list,         &clip_coefficients, &clamp_list,
    &update_scales,   &fake_quantize, &straight_through, &inspect_and_decide, &inspect_step, &decide_gradients, &report_jointly, &skip_jointly,
    &fill_rank_flags,    &update_scale,  &resume_scaling,   &guard_value, &check_limits, &check_rates, &self_test,
    &sgd_step, &momentum_step, &adam_step, &amsgrad_step, &lion_step, &adadelta_step, &adagrad_step,
    &rmsprop_step, &rmsprop_momentum_step, &rmsprop_centered_step, &rmsprop_centered_momentum_step,
    &lamb_pieces, &lamb_norms, &lamb_step, &novograd_pieces, &novograd_norms, &novograd_step,
    &gemm_tiles, &gemm_blocks_half, &gemm_blocks_brain, &gemm_joint_half, &gemm_joint_brain,
    &activate_rows, &activate_gradient, &sum_rows, &layer_norm_rows, &layer_norm_gradient, &layer_norm_sums,
    &cross_entropy_rows, &squared_error_rows, &mean_of_rows};
// clang-format on

}  // namespace syclamp::launch
