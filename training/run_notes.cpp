// SPDX-License-Identifier: Apache-2.0
#include "training/run_notes.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace syclamp::training {
namespace {

using json = nlohmann::json;
constexpr int notes_version = 3;

std::string text_of(const json& value) {
  if (value.is_number_float()) return fmt::format("{}", value.get<double>());
  return value.is_string() ? value.get<std::string>() : value.dump();
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
    const json all = json::from_cbor(notes);
    if (all.at("version") != notes_version) throw invalid_argument("it was saved by another version of syclamp train");
    const json run = who;
    for (const auto& [key, asked] : run.items())
      if (const json& saved = all.at("run").at(key); saved != asked)
        throw invalid_argument(fmt::format("it is of a run with {} {}, but this one has {}; resume it as it was", key,
                                           text_of(saved), text_of(asked)));
    return all.at("result").get<run_result>();
  } catch (const json::exception&) {
    throw invalid_argument("its notes are not those of syclamp train");
  }
}

}  // namespace syclamp::training
