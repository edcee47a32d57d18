// SPDX-License-Identifier: Apache-2.0
// Settings of optimizers: the C interface has one struct for all kinds, the library one type per kind.
#include <variant>

#include <fmt/format.h>

#include "bindings/c/conversions.hpp"
#include "bindings/c/structs.hpp"
#include "syclamp/optimizer_settings.hpp"

namespace syclamp::c {
namespace {

static_assert(SYCLAMP_OPTIMIZER_KINDS == std::variant_size_v<optimizer_settings>,
              "an optimizer was added: add its kind to syclamp/c/optimizer.h");

/// Calls `number(c_field, field)` or `flag(c_field, field)` for every setting that a kind has.
template <typename Given, typename Settings, typename Number, typename Flag>
void visit_fields(Given& c, Settings& kind, Number number, Flag flag) {
  number(c.lr, kind.lr);
  number(c.weight_decay, kind.weight_decay);
  flag(c.maximize, kind.maximize);
  if constexpr (requires { kind.betas; }) {
    number(c.beta1, kind.betas[0]);
    number(c.beta2, kind.betas[1]);
  }
  if constexpr (requires { kind.eps; }) number(c.eps, kind.eps);
  if constexpr (requires { kind.momentum; }) number(c.momentum, kind.momentum);
  if constexpr (requires { kind.dampening; }) number(c.dampening, kind.dampening);
  if constexpr (requires { kind.alpha; }) number(c.alpha, kind.alpha);
  if constexpr (requires { kind.rho; }) number(c.rho, kind.rho);
  if constexpr (requires { kind.lr_decay; }) number(c.lr_decay, kind.lr_decay);
  if constexpr (requires { kind.initial_accumulator_value; })
    number(c.initial_accumulator_value, kind.initial_accumulator_value);
  if constexpr (requires { kind.nesterov; }) flag(c.nesterov, kind.nesterov);
  if constexpr (requires { kind.amsgrad; }) flag(c.amsgrad, kind.amsgrad);
  if constexpr (requires { kind.centered; }) flag(c.centered, kind.centered);
}

/// The alternative number `index` of the variant, with default settings.
template <std::size_t Index = 0>
optimizer_settings alternative(std::size_t index) {
  if constexpr (Index + 1 < std::variant_size_v<optimizer_settings>)
    if (index != Index) return alternative<Index + 1>(index);
  return optimizer_settings(std::in_place_index<Index>);
}

}  // namespace

optimizer_settings default_settings(std::int32_t kind) {
  constexpr int last = SYCLAMP_OPTIMIZER_KINDS - 1;
  if (kind < 0 || kind > last)
    throw invalid_argument(fmt::format("the kind of optimizer is {}; it must be from 0 to {}", kind, last));
  return alternative(static_cast<std::size_t>(kind));
}

optimizer_settings to_settings(const syclamp_optimizer_settings& given) {
  optimizer_settings made = default_settings(given.kind);
  syclamp_optimizer_settings left = given;  // a field that no one takes must be 0
  std::visit(
      [&](auto& settings) {
        visit_fields(
            left, settings, [](double& from, double& to) { to = std::exchange(from, 0.0); },
            [](std::int32_t& from, bool& to) { to = std::exchange(from, 0) != 0; });
      },
      made);
  need_zero(left.beta1, "settings.beta1");
  need_zero(left.beta2, "settings.beta2");
  need_zero(left.eps, "settings.eps");
  need_zero(left.momentum, "settings.momentum");
  need_zero(left.dampening, "settings.dampening");
  need_zero(left.alpha, "settings.alpha");
  need_zero(left.rho, "settings.rho");
  need_zero(left.lr_decay, "settings.lr_decay");
  need_zero(left.initial_accumulator_value, "settings.initial_accumulator_value");
  need_zero(left.nesterov, "settings.nesterov");
  need_zero(left.amsgrad, "settings.amsgrad");
  need_zero(left.centered, "settings.centered");
  need_zero(left.reserved, "settings.reserved");
  return made;
}

syclamp_optimizer_settings from_settings(const optimizer_settings& settings) {
  syclamp_optimizer_settings made{};
  made.struct_size = sizeof made;
  made.kind = static_cast<std::int32_t>(settings.index());
  std::visit(
      [&](const auto& kind) {
        visit_fields(
            made, kind, [](double& to, double from) { to = from; },
            [](std::int32_t& to, bool from) { to = from ? 1 : 0; });
      },
      settings);
  return made;
}

}  // namespace syclamp::c
