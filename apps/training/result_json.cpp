// SPDX-License-Identifier: Apache-2.0
#include "apps/training/result_json.hpp"

#include <cmath>
#include <ctime>

namespace syclamp::training {
namespace {

using json = nlohmann::ordered_json;

json number(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

template <typename Points, typename Convert>
json array_of(const Points& points, Convert convert) {
  json all = json::array();
  for (const auto& entry : points) all.push_back(convert(entry));
  return all;
}

json tensors_of(const run_result& run) {
  return array_of(run.tensors, [&](const tensor_result& tensor) {
    const double value = static_cast<double>(tensor.elements) * static_cast<double>(run.looks);
    return json{{"name", tensor.name},
                {"elements", tensor.elements},
                {"zero_share", number(tensor.zeros / value)},
                {"subnormal_share", number(tensor.subnormals / value)},
                {"amax", number(tensor.amax)}};
  });
}

std::string now() {
  const std::time_t time = std::time(nullptr);
  char text[sizeof "2026-01-01T00:00:00Z"];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&time));
  return text;
}

}  // namespace

json json_of(const run_result& run) {
  const exponent_result& bins = run.exponents;
  const step_times& times = run.times;
  return {
      {"name", run.name},
      {"precision", run.precision},
      {"scaling", run.scaling},
      {"loss", number(run.loss())},
      {"accuracy", number(run.accuracy())},
      {"zero_share", number(run.zero_share())},
      {"zero_share_weights", number(run.zero_share_weights())},
      {"skips", run.skips()},
      {"final_scale", number(run.final_scale)},
      {"seconds", run.seconds},
      {"scaling_share", number(times.scaling_share())},
      {"steps", run.steps},
      {"loss_curve", array_of(run.losses.points(), [](const auto& at) { return json{at.step, number(at.loss)}; })},
      {"held_out_curve", array_of(run.held_out.points(),
                                  [](const auto& at) { return json{at.step, number(at.loss), number(at.accuracy)}; })},
      {"scale_curve", array_of(run.scales.points(), [](const auto& at) { return json{at.step, number(at.scale)}; })},
      {"skipped_steps", run.skipped.points()},
      {"exponents",
       {{"step", bins.step},
        {"lowest", bins.lowest},
        {"counts", bins.counts},
        {"zeros", bins.zeros},
        {"infs", bins.infs},
        {"nans", bins.nans}}},
      {"tensors", tensors_of(run)},
      {"step_seconds",
       {{"forward", number(times.forward)},
        {"backward", number(times.backward)},
        {"inspect", number(times.inspect)},
        {"apply", number(times.apply)},
        {"update", number(times.update)},
        {"other", number(times.other)}}},
  };
}

json json_of(const task_result& task) {
  return {{"task", task.task},
          {"command", task.command},
          {"seed", task.seed},
          {"epochs", task.epochs},
          {"steps", task.steps},
          {"batch", task.batch},
          {"parameters", task.parameters},
          {"device", task.device},
          {"profile", task.profile},
          {"gemm", task.gemm},
          {"version", library_version()},
          {"date", now()},
          {"interrupted", task.interrupted},
          {"runs", array_of(task.runs, [](const run_result& run) { return json_of(run); })}};
}

}  // namespace syclamp::training
