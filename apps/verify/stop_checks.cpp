// SPDX-License-Identifier: Apache-2.0
// What skips a step besides overflows: spikes of the loss, a scaler that has given up, and invalid numbers.
#include <limits>

#include <fmt/format.h>

#include "apps/verify/check.hpp"
#include "apps/verify/comparisons.hpp"
#include "apps/verify/summing_model.hpp"

namespace syclamp::verify {
namespace {

std::string spike_difference(const engine& engine) {
  summing_model model(engine, {{gradients(100, 1)}});
  loss_scaler scaler(engine, {.init_scale = init_scale});
  const spike_guard guard(engine, {.threshold = 5, .window = 4});
  const auto outcome_at = [&](float loss, step_outcome expected) {
    const device_array<float> value(engine, 1, loss);
    guard.check(device_value(engine, value.data()), scaler);
    scaler.begin_step();
    scaler.step(model.optimizer());
    scaler.update();
    return in_part(fmt::format("a loss of {}", loss), wrong_outcome(scaler.outcome(), expected));
  };
  std::string difference;
  for (int i = 0; i < 8 && difference.empty(); ++i)
    difference = outcome_at(i % 2 == 0 ? 2.0f : 2.2f, step_outcome::applied);
  if (difference.empty()) difference = outcome_at(9.0f, step_outcome::skipped_by_user);
  if (difference.empty()) difference = outcome_at(1.0f, step_outcome::applied);  // a low loss is no spike
  return difference;
}

std::string stop_difference(const engine& engine) {
  auto bad = gradients(100, 1);
  bad[50] = float16::infinity;
  summing_model model(engine, {{bad}});
  loss_scaler scaler(engine, {.init_scale = init_scale, .give_up_after = 2, .on_give_up = give_up_action::stop});
  const auto step = [&] {
    scaler.begin_step();
    scaler.step(model.optimizer());
    scaler.update();
    return scaler.outcome();
  };
  std::string difference = wrong_outcome(step(), step_outcome::skipped_inf);
  const step_status status = step().status;
  if (difference.empty() && status != step_status::too_many_skips)
    difference = fmt::format("the status of the second overflow is {}", to_string(status));
  model.write(0, gradients(100, 1));
  if (difference.empty()) difference = in_part("after the stop", wrong_outcome(step(), step_outcome::stopped));
  if (difference.empty()) difference = model.unexpected_change();
  scaler.resume();
  if (difference.empty()) difference = in_part("after resume", wrong_outcome(step(), step_outcome::applied));
  return difference;
}

/// A limit or a learning rate in device memory that is a NaN skips the step.
std::string invalid_number_difference(const engine& engine) {
  const device_array<float> invalid(engine, 1, std::numeric_limits<float>::quiet_NaN());
  const device_value value(engine, invalid.data());
  for (const bool is_limit : {true, false}) {
    summing_model model(engine, {{gradients(100, 1)}});
    loss_scaler scaler(engine, {.init_scale = init_scale});
    if (!is_limit) model.optimizer().set_lr_source(value);
    scaler.begin_step();
    if (is_limit) clip_by_value(scaler.unscale(model.optimizer()), value);
    scaler.step(model.optimizer());
    scaler.update();
    const std::string difference =
        first_difference({wrong_outcome(scaler.outcome(), step_outcome::invalid_number), model.unexpected_change()});
    if (!difference.empty()) return in_part(is_limit ? "limit" : "learning rate", difference);
  }
  return {};
}

}  // namespace

std::vector<check> stop_checks(const engine& engine, const settings&) {
  return {{"spikes, stops, invalid numbers",
           "Update the driver of the device and run verify again. Training without a spike guard, without a limit on "
           "skipped steps and with numbers passed by value does not need it.",
           [=] {
             return passed_unless(first_difference({in_part("spike guard", spike_difference(engine)),
                                                    in_part("stop", stop_difference(engine)),
                                                    in_part("NaN", invalid_number_difference(engine))}),
                                  "a spike of the loss, 2 overflows, a limit and a learning rate that are NaN");
           }}};
}

}  // namespace syclamp::verify
