// SPDX-License-Identifier: Apache-2.0
/// \file
/// Precision policies: the number formats of a training step.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <syclamp/element_type.hpp>
#include <syclamp/export.hpp>

namespace SYCLAMP_NAMESPACE::nn {

/// A precision policy, similar to Keras's Policy: the formats of a mixed-precision training step.
struct precision_policy {
  element_type compute = element_type::float32;     ///< activations, the model's working copy, and products
  element_type params = element_type::float32;      ///< master weights of the optimizer
  element_type accumulate = element_type::float32;  ///< sums of products, of rows and of gradients
  /// The loss, and operations that are not safe in `compute` (`operation_rules`).
  element_type loss = element_type::float32;

  friend bool operator==(const precision_policy&, const precision_policy&) = default;
};

/// A policy with a name.
struct named_policy {
  std::string_view name;     ///< for `precision_preset`
  precision_policy formats;  ///< the policy
  std::string_view aliases;  ///< optimization levels of APEX, separated by spaces
  std::string_view about;    ///< a description
};

/// All named policies. APEX's O1 and O2 use the same formats, so they are aliases of the same policy.
inline constexpr named_policy named_policies[] = {
    {"float32", {}, "O0", "everything in FP32"},
    {"mixed_float16",
     {.compute = element_type::float16},
     "O1 O2",
     "FP16 with FP32 weights; small gradients vanish unless the loss is scaled"},
    {"mixed_bfloat16",
     {.compute = element_type::bfloat16},
     "",
     "BF16 with FP32 weights; BF16 has the range of FP32, so it needs no loss scaling"},
    {"mixed_float8",
     {.compute = element_type::float8_e4m3},
     "",
     "FP8 with FP32 weights: E4M3 in the forward pass, E5M2 for gradients, one scale per tensor (quantization.hpp)"},
    {"float16",
     {.compute = element_type::float16, .params = element_type::float16, .loss = element_type::float16},
     "O3",
     "everything in FP16, for comparison; small weight updates are lost"},
};

/// The policy of a name.
/// \param name  a name of `named_policies`, or an alias
/// \throws invalid_argument that lists the names, if there is no such policy
SYCLAMP_API precision_policy precision_preset(std::string_view name);

/// The name of a policy; empty if it is not one of `named_policies`.
SYCLAMP_API std::string_view to_string(const precision_policy& policy);

/// The names of all policies, without aliases.
SYCLAMP_API std::vector<std::string> policy_names();

/// The format of gradients: `compute`, but E5M2 for FP8, because gradients need a large range.
SYCLAMP_API element_type gradient_type(const precision_policy& policy);

/// True if the format of gradients has a smaller exponent range than FP32, so that small gradients would underflow.
SYCLAMP_API bool needs_loss_scaling(const precision_policy& policy);

/// The rule for an operation: whether it is computed in the format `compute` or in the format `loss`, like the lists of
/// PyTorch's autocast.
struct operation_rule {
  std::string_view operation;  ///< name of the operation
  bool stays_in_loss_type;     ///< true: computed in the format `loss`
  std::string_view why;        ///< the reason
};

/// The rules of all operations.
inline constexpr operation_rule operation_rules[] = {
    {"matmul", false, "takes most of the time, and its sums are accumulated in FP32"},
    {"linear", false, "a matrix product"},
    {"bias", false, "a single addition"},
    {"relu", false, "exact in any format"},
    {"gelu", false, "computed in FP32, only stored in 16 bits"},
    {"tanh", false, "computed in FP32, only stored in 16 bits"},
    {"layer_norm", true, "the variance is a sum of squares, which overflows FP16 above 65504"},
    {"softmax", true, "exp(x) overflows FP16 at x = 11.1"},
    {"cross_entropy", true, "logarithms of small probabilities need range and precision"},
    {"mean_squared_error", true, "a mean of squares"},
    {"sum", true, "above 2048, adding 1 does not change an FP16 number"},
    {"mean", true, "contains a sum"},
    {"norm", true, "contains a sum of squares"},
};

/// The format in which a policy computes an operation.
/// \param policy     the policy
/// \param operation  a name of `operation_rules`
/// \throws invalid_argument that lists the operations, if there is no rule
SYCLAMP_API element_type type_for(const precision_policy& policy, std::string_view operation);

}  // namespace SYCLAMP_NAMESPACE::nn
