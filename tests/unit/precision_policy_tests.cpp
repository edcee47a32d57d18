// SPDX-License-Identifier: Apache-2.0
#include <set>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "syclamp/nn/nn.hpp"
#include "syclamp/syclamp.hpp"

using namespace syclamp;
using namespace syclamp::nn;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

TEST_CASE("precision policies have names") {
  CHECK(precision_preset("float32") == precision_policy{});
  CHECK(precision_preset("mixed_float16") == precision_policy{.compute = element_type::float16});
  CHECK(precision_preset("mixed_bfloat16") == precision_policy{.compute = element_type::bfloat16});
  CHECK(precision_preset("mixed_float8") == precision_policy{.compute = element_type::float8_e4m3});
  for (const auto& name : policy_names()) CHECK(to_string(precision_preset(name)) == name);
  CHECK(to_string(precision_policy{.params = element_type::bfloat16}).empty());
}

TEST_CASE("the levels of APEX are aliases of policies") {
  CHECK(to_string(precision_preset("O0")) == "float32");
  CHECK(to_string(precision_preset("O1")) == "mixed_float16");
  CHECK(to_string(precision_preset("O2")) == "mixed_float16");
  CHECK(precision_preset("O3").params == element_type::float16);
}

TEST_CASE("an unknown policy is refused with the names that there are") {
  for (const auto* wrong : {"mixed_float15", "", "O4", "O", "O1 O2", " "})
    CHECK_THROWS_MATCHES(
        precision_preset(wrong), invalid_argument,
        MessageMatches(ContainsSubstring(std::string("\"") + wrong + "\"") && ContainsSubstring("mixed_bfloat16") &&
                       ContainsSubstring("mixed_float16 (O1, O2)")));
}

TEST_CASE("mixed policies keep weights, sums and the loss in FP32") {
  for (const auto* name : {"float32", "mixed_float16", "mixed_bfloat16", "mixed_float8"}) {
    const auto policy = precision_preset(name);
    CAPTURE(name);
    CHECK(policy.params == element_type::float32);
    CHECK(policy.accumulate == element_type::float32);
    CHECK(policy.loss == element_type::float32);
    for (const auto* operation :
         {"softmax", "layer_norm", "cross_entropy", "mean_squared_error", "sum", "mean", "norm"})
      CHECK(type_for(policy, operation) == element_type::float32);
    for (const auto* operation : {"matmul", "linear", "bias", "relu", "gelu", "tanh"})
      CHECK(type_for(policy, operation) == policy.compute);
  }
  CHECK_THROWS_MATCHES(type_for({}, "knitting"), invalid_argument,
                       MessageMatches(ContainsSubstring("knitting") && ContainsSubstring("softmax")));
}

TEST_CASE("loss scaling is for formats with fewer exponents than FP32") {
  CHECK_FALSE(needs_loss_scaling(precision_preset("float32")));
  CHECK(needs_loss_scaling(precision_preset("mixed_float16")));
  CHECK_FALSE(needs_loss_scaling(precision_preset("mixed_bfloat16")));
  CHECK(needs_loss_scaling(precision_preset("mixed_float8")));
  CHECK(gradient_type(precision_preset("mixed_float8")) == element_type::float8_e5m2);
  CHECK(gradient_type(precision_preset("mixed_bfloat16")) == element_type::bfloat16);
}

TEST_CASE("no name of a policy or of an operation is given twice") {
  std::set<std::string_view> names, operations;
  for (const auto& entry : named_policies) CHECK(names.insert(entry.name).second);
  for (const auto& entry : operation_rules) CHECK(operations.insert(entry.operation).second);
}
