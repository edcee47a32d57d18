// SPDX-License-Identifier: Apache-2.0
#include "syclamp/nn/precision_policy.hpp"

#include <algorithm>
#include <ranges>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "syclamp/error.hpp"

namespace SYCLAMP_NAMESPACE::nn {
namespace {

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const auto end = std::min(text.find(' '), text.size());
    if (end != 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

}  // namespace

precision_policy precision_preset(std::string_view name) {
  std::vector<std::string> known;
  for (const named_policy& policy : named_policies) {
    const auto aliases = words_of(policy.aliases);
    if (policy.name == name || std::ranges::find(aliases, name) != aliases.end()) return policy.formats;
    known.push_back(aliases.empty() ? std::string(policy.name)
                                    : fmt::format("{} ({})", policy.name, fmt::join(aliases, ", ")));
  }
  throw invalid_argument(
      fmt::format("the precision policy \"{}\" does not exist; choose one of {}", name, fmt::join(known, ", ")));
}

std::string_view to_string(const precision_policy& policy) {
  const auto* found = std::ranges::find(named_policies, policy, &named_policy::formats);
  return found == std::end(named_policies) ? std::string_view{} : found->name;
}

std::vector<std::string> policy_names() {
  std::vector<std::string> names;
  for (const named_policy& policy : named_policies) names.emplace_back(policy.name);
  return names;
}

element_type gradient_type(const precision_policy& policy) {
  return policy.compute == element_type::float8_e4m3 ? element_type::float8_e5m2 : policy.compute;
}

bool needs_loss_scaling(const precision_policy& policy) {
  const element_type type = gradient_type(policy);
  return type == element_type::float16 || bytes_per_element(type) == 1;
}

element_type type_for(const precision_policy& policy, std::string_view operation) {
  const auto* found = std::ranges::find(operation_rules, operation, &operation_rule::operation);
  if (found != std::end(operation_rules)) return found->stays_in_loss_type ? policy.loss : policy.compute;
  throw invalid_argument(
      fmt::format("there is no precision rule for the operation \"{}\"; choose one of {}", operation,
                  fmt::join(operation_rules | std::views::transform(&operation_rule::operation), ", ")));
}

}  // namespace SYCLAMP_NAMESPACE::nn
