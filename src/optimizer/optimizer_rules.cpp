// SPDX-License-Identifier: Apache-2.0
#include "optimizer/optimizer_rules.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "syclamp/error.hpp"

namespace SYCLAMP_NAMESPACE {
namespace {

/// True if value, 1 - β and log β belong to the same β: each lies between the results for the neighbours of the others.
bool is_one_rate(const decay_rate& rate) {
  constexpr double rounding = 0x1p-22;
  constexpr float infinite = std::numeric_limits<float>::infinity();
  const auto below = [](float x) { return static_cast<double>(std::nextafter(x, -infinite)); };
  const auto above = [](float x) { return static_cast<double>(std::nextafter(x, infinite)); };
  const auto log_or_least = [](double x) { return x > 0.0 ? std::log(x) : -HUGE_VAL; };
  const auto log_of_rest = [](double x) { return x < 1.0 ? std::log1p(-x) : -HUGE_VAL; };
  const double logarithm = static_cast<double>(rate.logarithm),
               slack = std::isfinite(logarithm) ? rounding * -logarithm : 0.0;
  const double lowest = std::max(log_or_least(below(rate.value)), log_of_rest(above(rate.complement)));
  const double highest = std::min(log_or_least(above(rate.value)), log_of_rest(below(rate.complement)));
  return std::abs(static_cast<double>(rate.value) + static_cast<double>(rate.complement) - 1.0) <= rounding &&
         logarithm >= lowest - slack && logarithm <= highest + slack;
}

/// Checks the settings of one optimizer. Messages begin with its name.
struct checker {
  std::string_view optimizer;

  float not_negative(const char* setting, double value) const {
    if (!(value >= 0.0) || !std::isfinite(static_cast<float>(value)))
      throw invalid_argument(
          fmt::format("{}: {} is {}; it must be finite and not negative", optimizer, setting, value));
    return static_cast<float>(value);
  }

  /// Each of the three is rounded from double separately.
  decay_rate rate(const char* setting, double value) const {
    if (!(value >= 0.0 && value < 1.0))
      throw invalid_argument(fmt::format("{}: {} is {}; it must be at least 0 and below 1", optimizer, setting, value));
    return {static_cast<float>(value), static_cast<float>(1.0 - value), static_cast<float>(std::log(value))};
  }

  /// True if `rate` could have made it. Just below 1, β is rounded to 1, but 1 - β and log β are not 0.
  void rate(const char* setting, const decay_rate& rate) const {
    const bool is_below_1 = rate.complement > 0.0f && rate.logarithm < 0.0f;
    if (!(rate.value >= 0.0f && rate.value <= 1.0f && rate.complement <= 1.0f && is_below_1))
      throw invalid_argument(
          fmt::format("{}: {} is {}, 1 - {} is {} and its logarithm is {}; it must be at least 0 and below 1",
                      optimizer, setting, rate.value, setting, rate.complement, rate.logarithm));
    if (!is_one_rate(rate))
      throw invalid_argument(
          fmt::format("{}: {} is {}, but 1 - {} is {} and its logarithm is {}, which belong to another number; compute "
                      "all three from the same number",
                      optimizer, setting, rate.value, setting, rate.complement, rate.logarithm));
  }

  void flag(const char* setting, std::uint32_t value) const {
    if (value > 1) throw invalid_argument(fmt::format("{}: {} is {}; it must be 0 or 1", optimizer, setting, value));
  }

  void nesterov(bool wanted, double momentum, double dampening) const {
    if (wanted && (momentum <= 0.0 || dampening != 0.0))
      throw invalid_argument(
          fmt::format("{}: nesterov needs a momentum and no dampening, but they are {} and {}; set "
                      "momentum = 0.9 and dampening = 0, or nesterov = false",
                      optimizer, momentum, dampening));
  }
};

/// The hyper-parameters that all optimizers have, and eps if the optimizer has it.
template <typename Settings>
hyper_parameters basics(const checker& is, const Settings& settings) {
  hyper_parameters hyper{.lr = is.not_negative("lr", settings.lr),
                         .weight_decay = is.not_negative("weight_decay", settings.weight_decay),
                         .maximize = settings.maximize};
  if constexpr (requires { settings.eps; }) hyper.eps = is.not_negative("eps", settings.eps);
  return hyper;
}

optimizer_rule describe(const sgd& settings) {
  const checker is{"sgd"};
  is.nesterov(settings.nesterov, settings.momentum, settings.dampening);
  hyper_parameters hyper = basics(is, settings);
  hyper.nesterov = settings.nesterov;
  hyper.beta1.value = is.not_negative("momentum", settings.momentum);
  hyper.beta1.complement =
      static_cast<float>(1.0 - static_cast<double>(is.not_negative("dampening", settings.dampening)));
  if (settings.momentum == 0.0) return {"sgd", &launch::sgd_step, hyper};
  return {"sgd", &launch::momentum_step, hyper};
}

template <typename Settings>
hyper_parameters with_betas(const checker& is, const Settings& settings) {
  hyper_parameters hyper = basics(is, settings);
  hyper.beta1 = is.rate("betas[0]", settings.betas[0]);
  hyper.beta2 = is.rate("betas[1]", settings.betas[1]);
  return hyper;
}

/// Adam and AdamW differ in where the decay goes.
template <typename Settings>
optimizer_rule describe_adam(const char* name, const Settings& settings, bool decoupled) {
  const checker is{name};
  hyper_parameters hyper = with_betas(is, settings);
  hyper.decoupled = decoupled;
  if (settings.amsgrad) return {name, &launch::amsgrad_step, hyper};
  return {name, &launch::adam_step, hyper};
}

optimizer_rule describe(const adam& settings) { return describe_adam("adam", settings, false); }
optimizer_rule describe(const adamw& settings) { return describe_adam("adamw", settings, true); }

optimizer_rule describe(const lion& settings) {
  const checker is{"lion"};
  hyper_parameters hyper = with_betas(is, settings);
  hyper.decoupled = 1;
  return {"lion", &launch::lion_step, hyper};
}

optimizer_rule describe(const adagrad& settings) {
  const checker is{"adagrad"};
  hyper_parameters hyper = basics(is, settings);
  hyper.lr_decay = is.not_negative("lr_decay", settings.lr_decay);
  return {"adagrad",
          &launch::adagrad_step,
          hyper,
          {is.not_negative("initial_accumulator_value", settings.initial_accumulator_value)}};
}

optimizer_rule describe(const rmsprop& settings) {
  const checker is{"rmsprop"};
  hyper_parameters hyper = basics(is, settings);
  hyper.beta2 = is.rate("alpha", settings.alpha);
  hyper.momentum = is.not_negative("momentum", settings.momentum);
  const bool has_momentum = settings.momentum > 0.0;
  const launch::step_operation* step =
      settings.centered ? (has_momentum ? &launch::rmsprop_centered_momentum_step : &launch::rmsprop_centered_step)
                        : (has_momentum ? &launch::rmsprop_momentum_step : &launch::rmsprop_step);
  return {"rmsprop", step, hyper};
}

optimizer_rule describe(const adadelta& settings) {
  const checker is{"adadelta"};
  hyper_parameters hyper = basics(is, settings);
  hyper.beta2 = is.rate("rho", settings.rho);
  return {"adadelta", &launch::adadelta_step, hyper};
}

optimizer_rule describe(const lamb& settings) {
  const checker is{"lamb"};
  return {"lamb", &launch::lamb_step, with_betas(is, settings), {}, &launch::lamb_pieces, &launch::lamb_norms};
}

optimizer_rule describe(const novograd& settings) {
  const checker is{"novograd"};
  return {"novograd", &launch::novograd_step,   with_betas(is, settings),
          {},         &launch::novograd_pieces, &launch::novograd_norms,
          true};
}

/// The hyper-parameters that an optimizer has by default.
template <std::size_t Index = 0>
hyper_parameters defaults_of(std::string_view optimizer) {
  if constexpr (Index < std::variant_size_v<optimizer_settings>) {
    const optimizer_rule rule = describe(std::variant_alternative_t<Index, optimizer_settings>{});
    return rule.name == optimizer ? rule.hyper : defaults_of<Index + 1>(optimizer);
  } else {
    throw invalid_argument(fmt::format("the optimizer {:?} does not exist", optimizer));
  }
}

}  // namespace

optimizer_rule rule_of(const optimizer_settings& settings) {
  return std::visit([](const auto& entry) { return describe(entry); }, settings);
}

optimizer_settings with_hyper(const optimizer_settings& settings, const hyper_parameters& hyper) {
  const auto words_of = [](const hyper_parameters& numbers) {
    std::array<std::uint32_t, sizeof numbers / sizeof(std::uint32_t)> words;
    std::memcpy(words.data(), &numbers, sizeof numbers);
    return words;
  };
  if (words_of(rule_of(settings).hyper) == words_of(hyper)) return settings;
  optimizer_settings changed = settings;
  std::visit(
      [&](auto& values) {
        values.lr = static_cast<double>(hyper.lr);
        values.weight_decay = static_cast<double>(hyper.weight_decay);
        values.maximize = hyper.maximize != 0;
        const auto first = static_cast<double>(hyper.beta1.value), second = static_cast<double>(hyper.beta2.value);
        if constexpr (requires { values.eps; }) values.eps = static_cast<double>(hyper.eps);
        if constexpr (requires { values.betas; }) values.betas = {first, second};
        if constexpr (requires { values.alpha; }) values.alpha = second;
        if constexpr (requires { values.rho; }) values.rho = second;
        if constexpr (requires { values.lr_decay; }) values.lr_decay = static_cast<double>(hyper.lr_decay);
        if constexpr (requires { values.nesterov; }) {  // SGD
          values.momentum = first;
          values.dampening = 1.0 - static_cast<double>(hyper.beta1.complement);
          values.nesterov = hyper.nesterov != 0;
        } else if constexpr (requires { values.momentum; }) {
          values.momentum = static_cast<double>(hyper.momentum);
        }
      },
      changed);
  return changed;
}

float checked_lr(std::string_view optimizer, double lr) { return checker{optimizer}.not_negative("lr", lr); }

void check(std::string_view optimizer, const hyper_parameters& hyper) {
  const checker is{optimizer};
  const hyper_parameters usual = defaults_of(optimizer);
  for (const auto& [setting, value] :
       {std::pair{"lr", hyper.lr}, std::pair{"weight_decay", hyper.weight_decay}, std::pair{"eps", hyper.eps},
        std::pair{"momentum", hyper.momentum}, std::pair{"lr_decay", hyper.lr_decay}})
    is.not_negative(setting, static_cast<double>(value));
  is.flag("maximize", hyper.maximize);
  is.flag("decoupled", hyper.decoupled);
  is.flag("nesterov", hyper.nesterov);
  if (optimizer == "sgd") {  // its momentum is not a decay rate
    const auto momentum = static_cast<double>(hyper.beta1.value);
    const double dampening = 1.0 - static_cast<double>(hyper.beta1.complement);
    is.not_negative("momentum", momentum);
    is.not_negative("dampening", dampening);
    // A momentum of 0 is allowed here: on the device it may be 0 for a while, and a tiny momentum is 0 in FP32.
    if (dampening != 0.0) is.nesterov(hyper.nesterov != 0, momentum, dampening);
  }
  // An optimizer without a rate keeps its default, whose logarithm is 0.
  if (usual.beta1.logarithm != 0.0f) is.rate("beta1", hyper.beta1);
  if (usual.beta2.logarithm != 0.0f) is.rate("beta2", hyper.beta2);
}

void check(const lr_schedule& schedule) {
  if (schedule.steps == 0)
    throw invalid_argument(
        "lr_schedule: steps is 0; set it to the length of the cosine, or to the number of steps between two decays");
  const checker is{"lr_schedule"};
  is.not_negative("gamma", static_cast<double>(schedule.gamma));
  is.not_negative("lowest", static_cast<double>(schedule.lowest));
}

}  // namespace SYCLAMP_NAMESPACE
