// SPDX-License-Identifier: Apache-2.0
// The objects by which host code submits operations, one for each row of operations.def.
#pragma once

#include <cstdint>

#include "launch/operation.hpp"
#include "sycl_kernels/shared/layout.hpp"
#include "sycl_kernels/shared/optimizer_layout.hpp"
#include "sycl_kernels/shared/scaler_layout.hpp"

namespace syclamp::launch {

// Parameters that many operations have in common, in the order in which kernels take them.
namespace parameters {

using addresses = const std::uint64_t*;
using starts = const std::uint64_t*;
using kinds = const std::uint32_t*;
using tensors = std::uint32_t;
using kernels::activation;
using scalar = parameter_list<const float*, float>;  ///< the two parts of a `scalar_argument`

using table = parameter_list<addresses, starts, kinds, tensors>;
using two_tables = parameter_list<addresses, kinds, addresses, kinds, starts, tensors>;

/// With type, and distance between rows.
using in_matrix = parameter_list<const void*, element_type, std::uint64_t>;
using out_matrix = parameter_list<void*, element_type, std::uint64_t>;
using in_vector = parameter_list<const void*, element_type>;
using out_vector = parameter_list<void*, element_type>;

/// A, B and C with type, distance between rows, distance in a batch and whether transposed; m, n, k; alpha, beta; bias
/// and its type; activation.
using product_parameters =
    parameter_list<const void*, element_type, std::uint64_t, std::uint64_t, bool, const void*, element_type,
                   std::uint64_t, std::uint64_t, bool, void*, element_type, std::uint64_t, std::uint64_t, std::uint32_t,
                   std::uint32_t, std::uint32_t, float, float, const void*, element_type, activation>;

/// A step of an optimizer.
using step_parameters =
    parameter_list<addresses, starts, kinds, tensors, const kernels::parameter_slot*, kernels::parameter_group*,
                   kernels::optimizer_memory*, const step_decision*, std::uint32_t, const kernels::tensor_norms*>;
/// Two operations before the step, if it depends on norms of each tensor: over pieces, then over tensors.
using pieces_parameters =
    parameter_list<addresses, starts, kinds, tensors, const kernels::parameter_slot*, const kernels::parameter_group*,
                   const kernels::optimizer_memory*, const step_decision*, std::uint32_t, kernels::piece_norms*>;
using norms_parameters =
    parameter_list<addresses, starts, kinds, tensors, const kernels::parameter_group*, const step_decision*,
                   std::uint32_t, const kernels::piece_norms*, kernels::tensor_norms*>;

}  // namespace parameters
using namespace parameters;

using pieces_operation = operation_taking<&profile::apply, pieces_parameters>;
using norms_operation = operation_taking<&profile::apply, norms_parameters>;

using matrix_unit_operation = operation_taking<&profile::blocks, product_parameters>;

struct step_operation : operation_taking<&profile::apply, step_parameters> {
  constexpr step_operation(std::string_view name, std::string_view family, std::uint32_t moments)
      : operation(name, family), states(moments) {}

  std::uint32_t states;  ///< moments of each element; a test compares them with the rule's
};

#define OPERATION(FAMILY, NAME, TUNING, ...) \
  inline constexpr operation_taking<&profile::TUNING, __VA_ARGS__> NAME{#NAME, FAMILY};
#define OPTIMIZER_STEP(FAMILY, NAME, MOMENTS) inline constexpr step_operation NAME{#NAME, FAMILY, MOMENTS};
#define TEST_OPERATION(FAMILY, NAME, TUNING, ...) \
  inline constexpr operation_taking<&profile::TUNING, __VA_ARGS__> NAME{#NAME, FAMILY, true};
#define MATRIX_UNIT_OPERATION(FAMILY, NAME, SUB_GROUPS) \
  inline constexpr matrix_unit_operation NAME{#NAME, FAMILY, true, SUB_GROUPS};
#include "launch/operations.def"

inline constexpr const operation_base* operations[] = {
#define OPERATION(FAMILY, NAME, ...) &NAME,
#define OPTIMIZER_STEP OPERATION
#include "launch/operations.def"
};

}  // namespace syclamp::launch
