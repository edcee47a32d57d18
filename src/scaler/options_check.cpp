// SPDX-License-Identifier: Apache-2.0
#include "scaler/options_check.hpp"

#include <set>

#include <fmt/format.h>

#include "syclamp/error.hpp"
#include "tensors/list_checks.hpp"
#include "tensors/tensor_table.hpp"

namespace SYCLAMP_NAMESPACE {

void check_options(const scaler_options& options, const scaling_policy& policy) {
  constexpr std::uint32_t most = 1u << 20;
  if (options.scales < 1 || options.scales > most)
    throw invalid_argument(fmt::format("scaler_options: scales is {}; it must be from 1 to {}", options.scales, most));
  if (options.ledger < 1 || options.ledger > most / options.scales)
    throw invalid_argument(fmt::format("scaler_options: ledger is {}; with {} scales it must be from 1 to {}",
                                       options.ledger, options.scales, most / options.scales));
  const consensus& ranks = options.consensus;
  if (ranks.rank >= ranks.size)
    throw invalid_argument(
        fmt::format("scaler_options: consensus.rank is {}, but consensus.size is {}; ranks must be from 0 to size - 1",
                    ranks.rank, ranks.size));
  if (ranks.size > 1 && !ranks)
    throw invalid_argument(
        fmt::format("scaler_options: consensus.size is {}, but consensus.sum is empty; set it to a function that sums "
                    "over all ranks",
                    ranks.size));
  if (ranks && (policy.growth_mode == growth_kind::headroom || policy.growth_mode == growth_kind::log_max))
    throw invalid_argument(
        "scaler_options: the policy's growth_mode depends on the largest gradient, on which ranks cannot agree, "
        "because a consensus only sums; use growth_kind::interval");
}

void check_new_scale(float new_scale, const scaling_policy& policy) {
  scaling_policy changed = policy;
  changed.init_scale = new_scale;
  try {
    changed.validate();
  } catch (const invalid_argument& wrong) {
    throw invalid_argument(fmt::format("update: new_scale does not fit the policy: {}", wrong.what()));
  }
}

void check_new_policy(const scaling_policy& next, const scaling_policy& policy) {
  if ((next.mode == scaling_mode::disabled) != (policy.mode == scaling_mode::disabled))
    throw invalid_argument(
        "set_policy: a scaler cannot be enabled or disabled after it was made; make another scaler with this policy");
}

void check_optimizers(std::span<optimizer* const> optimizers) {
  std::set<std::uint64_t> ids;
  for (const optimizer* optimizer : optimizers) {
    check_given("step", "an optimizer", optimizer);
    if (!ids.insert(optimizer->gradients().prepared().id).second)
      throw invalid_argument("step: two optimizers have the same list of gradients; pass each optimizer once");
  }
}

}  // namespace SYCLAMP_NAMESPACE
