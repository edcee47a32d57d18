// SPDX-License-Identifier: Apache-2.0
#include "apps/training/run_notes.hpp"

#include <cmath>

#include <fmt/format.h>

#include "support/json_reader.hpp"
#include "support/printable.hpp"

namespace syclamp::training {
namespace {

using json = nlohmann::json;  // notes have their keys in alphabetical order
constexpr int notes_version = 3;

/// For messages: short, on one line.
std::string text_of(const json& value) {
  constexpr std::size_t longest = 60;
  if (value.is_number_float()) return fmt::format("{}", value.get<double>());
  return value.is_string() ? printable(value.get_ref<const std::string&>().substr(0, longest)) : shown(value);
}

[[noreturn]] void refuse(const char* subject, const std::string& why) {
  throw invalid_argument(fmt::format("notes.{} {}; the file is damaged, so use another copy", subject, why));
}

void need_range(const char* subject, double value, double least, double most) {
  if (!(value >= least && value <= most))
    refuse(subject, fmt::format("is {}, but it must be from {} to {}", value, least, most));
}

void need_at_most(const char* subject, std::uint64_t value, std::uint64_t most) {
  if (value > most) refuse(subject, fmt::format("is {}, but it must be at most {}", value, most));
}

std::uint64_t step_of(std::uint64_t step) { return step; }
template <typename Point>
std::uint64_t step_of(const Point& point) {
  return point.step;
}

/// Checks that steps increase and do not exceed the number of steps.
template <typename Point>
void check_curve(const char* subject, const curve<Point>& points, std::uint64_t steps) {
  need_at_most(subject, points.added(), steps);
  std::uint64_t last = 0;
  for (const Point& point : points.points()) {
    const std::uint64_t step = step_of(point);
    if (step <= last || step > steps)
      refuse(subject, fmt::format("has step {} after step {} in a run of {} steps", step, last, steps));
    last = step;
  }
}

/// What is loaded can be shown and saved again.
void check(const run_result& result) {
  constexpr std::uint64_t max_steps = std::uint64_t{1} << 52;  // as in the scaler's part of a checkpoint
  constexpr double largest = std::numeric_limits<double>::max();
  need_at_most("steps", result.steps, max_steps);
  need_range("seconds", result.seconds, 0.0, largest);
  need_range("final_scale", result.final_scale, std::numeric_limits<double>::min(), largest);
  check_curve("losses", result.losses, result.steps);
  check_curve("held_out", result.held_out, result.steps);
  check_curve("scales", result.scales, result.steps);
  check_curve("skipped", result.skipped, result.steps);
  for (const scale_point& point : result.scales.points())
    need_range("scales[].scale", point.scale, std::numeric_limits<double>::min(), largest);
  for (const held_out_point& point : result.held_out.points())
    if (!std::isnan(point.accuracy)) need_range("held_out[].accuracy", point.accuracy, 0.0, 1.0);
  need_at_most("looks", result.looks, result.steps);
  for (const tensor_result& tensor : result.tensors) {
    const double value = static_cast<double>(tensor.elements) * static_cast<double>(result.looks);
    need_range("tensors[].zeros", tensor.zeros, 0.0, value);
    need_range("tensors[].subnormals", tensor.subnormals, 0.0, value);
    need_range("tensors[].amax", tensor.amax, 0.0, largest);
  }
  const exponent_result& bins = result.exponents;
  need_at_most("exponents.step", bins.step, result.steps);
  need_at_most("exponents.counts.size", bins.counts.size(), exponent_histogram::size);
  need_range("exponents.lowest", bins.lowest, -exponent_histogram::bias, exponent_histogram::bias + 1);
}

}  // namespace

template <typename Point>
void to_json(json& to, const curve<Point>& from) {
  to = {{"added", from.added()}, {"points", from.points()}};
}
template <typename Point>
void from_json(const json& from, curve<Point>& to) {
  to = {from.at("points").get<std::vector<Point>>(), from.at("added").get<std::uint64_t>()};
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(tensor_result, name, elements, zeros, subnormals, amax)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(exponent_result, step, lowest, counts, zeros, infs, nans)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(loss_point, step, loss)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(held_out_point, step, loss, accuracy)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(scale_point, step, scale)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(run_result, name, steps, seconds, losses, held_out, scales, skipped, final_scale,
                                   looks, tensors, exponents)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(run_identity, task, precision, scaling, seed, batch, init, growth, backoff, min, max,
                                   interval, hysteresis)

// CBOR, because JSON has no NaN.
std::string notes_of(const run_identity& who, const run_result& so_far) {
  const auto bytes = json::to_cbor(json{{"version", notes_version}, {"run", who}, {"result", so_far}});
  return {bytes.begin(), bytes.end()};
}

run_result read_notes(std::string_view notes, const run_identity& who) {
  try {
    const json all(read_cbor(notes, "its notes"));
    if (all.at("version") != notes_version)
      throw invalid_argument(
          "it was saved by another version of syclamp train; resume it with that version, or start a new run");
    const json run = who;
    for (const auto& [key, asked] : run.items())
      if (const json& saved = all.at("run").at(key); saved != asked)
        throw invalid_argument(
            fmt::format("it belongs to a run with {} {}, but this one has {}; resume it with the same options", key,
                        text_of(saved), text_of(asked)));
    run_result result = all.at("result").get<run_result>();
    check(result);
    return result;
  } catch (const json::exception&) {
    throw invalid_argument("it was not saved by syclamp train; pass a checkpoint of syclamp train");
  }
}

}  // namespace syclamp::training
