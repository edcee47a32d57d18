// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which numbers of a training step have which format.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <syclamp/element_type.hpp>
#include <syclamp/export.hpp>

namespace SYCLAMP_NAMESPACE::nn {

/// In the spirit of Keras's Policy: four formats that together say what "mixed precision" means.
struct precision_policy {
  element_type compute = element_type::float32;     ///< activations, the copy of the model that computes, and products
  element_type params = element_type::float32;      ///< weights that the optimizer keeps
  element_type accumulate = element_type::float32;  ///< sums of products, of rows and of gradients
  element_type loss = element_type::float32;        ///< the loss, and what stays in FP32 (`operation_rules`)

  friend bool operator==(const precision_policy&, const precision_policy&) = default;
};

/// What goes by a name.
struct named_policy {
  std::string_view name;
  precision_policy formats;
  std::string_view aliases;  ///< APEX's optimization levels, with spaces between them
  std::string_view about;
};

/// All names. APEX's O1 and O2 differ in how they get at FP16 operations in a framework, not in what is FP16.
inline constexpr named_policy named_policies[] = {
    {"float32", {}, "O0", "everything in FP32"},
    {"mixed_float16",
     {.compute = element_type::float16},
     "O1 O2",
     "FP16 with FP32 weights; small gradients vanish unless the loss is scaled"},
    {"mixed_bfloat16",
     {.compute = element_type::bfloat16},
     "",
     "BF16 with FP32 weights; has the range of FP32, hence needs no loss scaling"},
    {"mixed_float8",
     {.compute = element_type::float8_e4m3},
     "",
     "FP8 with FP32 weights, E4M3 forwards and E5M2 for gradients, each tensor with a scale (quantization.hpp)"},
    {"float16",
     {.compute = element_type::float16, .params = element_type::float16, .loss = element_type::float16},
     "O3",
     "FP16 weights as well, for comparison: updates below half a step of a weight are lost"},
};

/// \param name  one of `named_policies`, or an alias of it
/// \throws invalid_argument that lists the names
SYCLAMP_API precision_policy precision_preset(std::string_view name);

/// The name of a policy; empty if it has none.
SYCLAMP_API std::string_view to_string(const precision_policy& policy);

/// Names without the aliases.
SYCLAMP_API std::vector<std::string> policy_names();

/// The format of gradients: that of the computation, but E5M2 for FP8, because gradients need range.
SYCLAMP_API element_type gradient_type(const precision_policy& policy);

/// True if gradients of that format have fewer exponents than FP32, so that small ones vanish.
SYCLAMP_API bool needs_loss_scaling(const precision_policy& policy);

/// Whether an operation may be computed in the policy's format, or stays in that of the loss: autocast's lists, as
/// data.
struct operation_rule {
  std::string_view operation;
  bool stays_in_loss_type;
  std::string_view why;
};

inline constexpr operation_rule operation_rules[] = {
    {"matmul", false, "sums are accumulated apart, and this is where the time goes"},
    {"linear", false, "a matmul"},
    {"bias", false, "one addition"},
    {"relu", false, "exact in any format"},
    {"gelu", false, "computed in FP32 registers, stored as what follows needs it"},
    {"tanh", false, "computed in FP32 registers, stored as what follows needs it"},
    {"layer_norm", true, "a variance is a sum of squares, which FP16 cannot hold beyond 256²"},
    {"softmax", true, "exponentials overflow FP16 at 11"},
    {"cross_entropy", true, "logarithms of small probabilities"},
    {"mean_squared_error", true, "squares, and a mean over many"},
    {"sum", true, "FP16 cannot count beyond 2048"},
    {"mean", true, "a sum"},
    {"norm", true, "a sum of squares"},
};

/// The format in which a policy computes an operation.
/// \throws invalid_argument that lists the operations, if it is none of `operation_rules`
SYCLAMP_API element_type type_for(const precision_policy& policy, std::string_view operation);

}  // namespace SYCLAMP_NAMESPACE::nn
