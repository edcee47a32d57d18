// SPDX-License-Identifier: Apache-2.0
// Checkpoints and simulations.
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <nanobind/typing.h>

#include <syclamp/checkpoint.hpp>
#include <syclamp/error.hpp>
#include <syclamp/simulation.hpp>

#include "module.hpp"
#include "optimizer.hpp"
#include "policy.hpp"
#include "scaler.hpp"

namespace nb = nanobind;

namespace syclamp::python {
namespace {

struct parts {
  checkpoint_parts native;
  engine_handle* engine;
};

parts parts_of(const std::vector<std::shared_ptr<optimizer_handle>>& optimizers,
               const std::shared_ptr<scaler_handle>& scaler) {
  parts all{{}, nullptr};
  for (const auto& optimizer : optimizers) {
    all.native.optimizers.push_back(&optimizer->native);
    all.engine = optimizer->engine.get();
  }
  if (scaler) {
    all.native.scaler = &scaler->native;
    all.engine = scaler->engine.get();
  }
  if (all.engine == nullptr) throw invalid_argument("optimizers: there is none, and no scaler; nothing can be saved");
  return all;
}

void save(const std::string& file, const std::vector<std::shared_ptr<optimizer_handle>>& optimizers,
          const std::shared_ptr<scaler_handle>& scaler, const nb::bytes& notes) {
  const parts all = parts_of(optimizers, scaler);
  const std::string text(notes.c_str(), notes.size());
  all.engine->call([&] { save_checkpoint(file, all.native, text); });
}

nb::bytes load(const std::string& file, const std::vector<std::shared_ptr<optimizer_handle>>& optimizers,
               const std::shared_ptr<scaler_handle>& scaler) {
  const parts all = parts_of(optimizers, scaler);
  const std::string notes = all.engine->call([&] { return load_checkpoint(file, all.native); });
  return nb::bytes(notes.data(), notes.size());
}

/// Scale before and after, outcome and status of a step.
using simulated_tuple = std::tuple<float, float, std::string, std::string>;

simulated_tuple to_tuple(const simulated_result& result) {
  return {result.scale_before, result.scale_after, to_string(result.outcome), to_string(result.status)};
}

std::vector<simulated_tuple> simulate(const nb::object& policy, const std::string& trace) {
  scaler_snapshot scaler = scaler_snapshot::fresh(policy_from(policy));
  std::vector<simulated_tuple> results;
  for (const simulated_step& step : read_trace(trace)) results.push_back(to_tuple(simulate_step(scaler, step)));
  return results;
}

nb::typed<nb::dict, nb::str, nb::any> replay(const std::vector<ledger_entry>& ledger, const nb::object& policy) {
  const replay_report report = replay_ledger(ledger, policy_from(policy));
  nb::dict fields;
  fields["steps"] = report.steps;
  fields["skips"] = report.skips;
  fields["recorded_skips"] = report.recorded_skips;
  fields["zero_share"] = report.zero_share;
  fields["subnormal_share"] = report.subnormal_share;
  fields["final_scale"] = report.final_scale;
  fields["max_safe_scale"] = report.max_safe_scale;
  nb::list results;
  for (const simulated_result& result : report.results) results.append(nb::cast(to_tuple(result)));
  fields["results"] = results;
  return nb::typed<nb::dict, nb::str, nb::any>(fields);
}

}  // namespace

void register_state(nb::module_& module) {
  module.def("save_checkpoint", &save, nb::arg("file"), nb::arg("optimizers"), nb::arg("scaler").none(),
             nb::arg("notes"));
  module.def("load_checkpoint", &load, nb::arg("file"), nb::arg("optimizers"), nb::arg("scaler").none());
  module.def("simulate", &simulate, nb::arg("policy").none(), nb::arg("trace"));
  module.def("replay", &replay, nb::arg("ledger"), nb::arg("policy").none());
}

}  // namespace syclamp::python
