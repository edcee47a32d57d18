// SPDX-License-Identifier: Apache-2.0
// Results that the device has written: records of steps and inspections.
#include <cmath>
#include <cstring>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <nanobind/typing.h>

#include <syclamp/error.hpp>
#include <syclamp/inspection.hpp>
#include <syclamp/ledger.hpp>

#include "module.hpp"
#include "names.hpp"

namespace nb = nanobind;

namespace syclamp::python {
namespace {

constexpr const char* record_doc =
    "The record of one step: one line of the ledger.\n\n"
    ">>> import array, syclamp\n"
    ">>> gradients = array.array(\"f\", [0.5])\n"
    ">>> scaler = syclamp.LossScaler()\n"
    ">>> _ = scaler.begin_step()\n"
    ">>> scaler.step(syclamp.SGD(array.array(\"f\", [1.0]), gradients))\n"
    ">>> scaler.update()\n"
    ">>> record = scaler.outcome()\n"
    ">>> record.step, record.outcome, record.was_applied\n"
    "(1, 'applied', True)\n";

constexpr const char* inspection_doc =
    "What an inspection found in one list, tensor or group.\n\n"
    ">>> import array, math, syclamp\n"
    ">>> result = syclamp.inspect(array.array(\"f\", [0.0, -2.0, math.inf])).result\n"
    ">>> result.elements, result.zero_count, result.inf_count, result.first_nonfinite\n"
    "(3, 1, 1, 2)\n";

/// Python has None where the library has `no_element`.
std::optional<std::uint64_t> index_or_none(std::uint64_t index) {
  if (index == no_element) return {};
  return index;
}

template <auto Member>
auto field(const ledger_entry& entry) {
  return entry.record.*Member;
}

nb::typed<nb::tuple, nb::str, nb::ellipsis> flag_names(std::uint32_t flags) {
  nb::list names;
  if ((flags & found_inf) != 0) names.append("inf");
  if ((flags & found_nan) != 0) names.append("nan");
  if ((flags & found_by_user) != 0) names.append("user");
  return nb::typed<nb::tuple, nb::str, nb::ellipsis>(nb::tuple(names));
}

std::string describe(const ledger_entry& entry) {
  const step_record& record = entry.record;
  return fmt::format("StepRecord(step={}, outcome='{}', status='{}', scale={}, next_scale={}, norm={})", record.step,
                     to_string(record.outcome), to_string(record.status), record.scale, record.next_scale, record.norm);
}

/// A record as bytes, and the name of its first tensor with an Inf or NaN.
using record_state = std::tuple<nb::bytes, std::string>;

record_state to_state(const ledger_entry& entry) {
  static_assert(std::is_trivially_copyable_v<step_record>);
  return {nb::bytes(&entry.record, sizeof entry.record), entry.first_nonfinite_name};
}

void from_state(ledger_entry& entry, const record_state& state) {
  const auto& [bytes, name] = state;
  if (bytes.size() != sizeof entry.record)
    throw invalid_argument(fmt::format(
        "StepRecord: the pickle has {} bytes instead of {}; it comes from another version, so save ledgers as text",
        bytes.size(), sizeof entry.record));
  new (&entry) ledger_entry{};
  std::memcpy(&entry.record, bytes.data(), bytes.size());
  entry.first_nonfinite_name = name;
}

void bind_records(nb::module_& module) {
  nb::class_<ledger_entry>(module, "StepRecord", record_doc)
      .def_prop_ro("step", &field<&step_record::step>, "number of the step, starting at 1")
      .def_prop_ro("applied", &field<&step_record::applied>, "steps applied so far")
      .def_prop_ro("skipped", &field<&step_record::skipped>, "steps skipped so far")
      .def_prop_ro("elements", &field<&step_record::elements>, "number of inspected gradients")
      .def_prop_ro("inf_count", &field<&step_record::inf_count>, "number of Inf among them")
      .def_prop_ro("nan_count", &field<&step_record::nan_count>, "number of NaN among them")
      .def_prop_ro("zero_count", &field<&step_record::zero_count>, "number of zeros among them")
      .def_prop_ro("subnormal_count", &field<&step_record::subnormal_count>, "number of subnormals among them")
      .def_prop_ro(
          "first_nonfinite_tensor",
          [](const ledger_entry& entry) { return index_or_none(entry.record.first_nonfinite_tensor); },
          "index of the first tensor with an Inf or NaN, or None")
      .def_prop_ro(
          "first_nonfinite", [](const ledger_entry& entry) { return index_or_none(entry.record.first_nonfinite); },
          "index of the element within that tensor, or None")
      .def_ro("first_nonfinite_name", &ledger_entry::first_nonfinite_name,
              "name of the first tensor with an Inf or NaN; empty if all were finite")
      .def_prop_ro("scale_index", &field<&step_record::scale_index>, "index of the scale")
      .def_prop_ro(
          "flags", [](const ledger_entry& entry) { return flag_names(entry.record.flags); },
          "what was found: inf, nan, user")
      .def_prop_ro(
          "outcome", [](const ledger_entry& entry) { return std::string(to_string(entry.record.outcome)); },
          "whether the step was applied, or why not")
      .def_prop_ro(
          "status", [](const ledger_entry& entry) { return std::string(to_string(entry.record.status)); },
          "a warning, or ok")
      .def_prop_ro(
          "was_applied", [](const ledger_entry& entry) { return entry.record.was_applied(); },
          "True if the step was applied")
      .def_prop_ro("skips_in_a_row", &field<&step_record::skips_in_a_row>, "consecutive skipped steps")
      .def_prop_ro(
          "retry", [](const ledger_entry& entry) { return entry.record.retry != 0; },
          "True: retry the same batch with next_scale")
      .def_prop_ro("scale", &field<&step_record::scale>, "scale of this step's loss")
      .def_prop_ro("next_scale", &field<&step_record::next_scale>, "scale of the next step's loss")
      .def_prop_ro("norm", &field<&step_record::norm>, "L2 norm of all unscaled gradients")
      .def_prop_ro("clip", &field<&step_record::clip>, "smallest clip coefficient of the step")
      .def_prop_ro("amax", &field<&step_record::amax>, "largest absolute value of the scaled gradients")
      .def_prop_ro(
          "headroom", [](const ledger_entry& entry) { return entry.record.headroom(); },
          "how often the gradients could have been doubled")
      .def("__repr__", &describe)
      .def("__getstate__", &to_state)
      .def("__setstate__", [](ledger_entry& entry, const record_state& state) { from_state(entry, state); });
}

double norm_of(const inspection& result, const std::string& kind) {
  const double norm = result.norm(norm_named(kind));
  if (std::isnan(norm) && kind == "l1" && result.nan_count == 0)
    throw misuse_error(
        "norm: \"l1\" needs sums of absolute values, which were not computed; inspect with level=\"tensors\"");
  return norm;
}

std::string describe_inspection(const inspection& result) {
  return fmt::format("InspectionResult(elements={}, inf_count={}, nan_count={}, zero_count={}, amax={})",
                     result.elements, result.inf_count, result.nan_count, result.zero_count, result.amax);
}

void bind_inspections(nb::module_& module) {
  nb::class_<inspection>(module, "InspectionResult", inspection_doc)
      .def_ro("elements", &inspection::elements, "number of elements read")
      .def_ro("inf_count", &inspection::inf_count, "number of elements that are Inf")
      .def_ro("nan_count", &inspection::nan_count, "number of NaNs")
      .def_ro("zero_count", &inspection::zero_count, "number of zeros")
      .def_ro("subnormal_count", &inspection::subnormal_count, "number of subnormals in the storage type")
      .def_prop_ro(
          "first_nonfinite_tensor",
          [](const inspection& result) { return index_or_none(result.first_nonfinite_tensor); },
          "index of the first tensor with an Inf or NaN, or None")
      .def_prop_ro(
          "first_nonfinite", [](const inspection& result) { return index_or_none(result.first_nonfinite); },
          "lowest index of an Inf or NaN within that tensor, or None")
      .def_ro("scale", &inspection::scale, "the loss scale of the elements")
      .def_ro("amax", &inspection::amax, "largest absolute value")
      .def_ro("unscaled_amax", &inspection::unscaled_amax, "amax / scale")
      .def_prop_ro(
          "flags", [](const inspection& result) { return flag_names(result.flags); }, "what was found: inf, nan")
      .def_prop_ro("all_finite", &inspection::all_finite, "True if no element is Inf or NaN")
      .def("norm", &norm_of, nb::arg("kind") = "l2",
           "The norm of the elements, not unscaled: l2, inf, or l1 with level \"tensors\".")
      .def("headroom", &inspection::headroom, nb::arg("amax_limit") = 65504.0,
           "How often the elements can be doubled until the largest exceeds the limit.")
      .def("__repr__", &describe_inspection);
}

ledger_format format_named(const std::string& name) {
  return value_named<ledger_format>("format", name,
                                    {{"csv", ledger_format::csv}, {"jsonl", ledger_format::json_lines}});
}

std::string ledger_text(const std::vector<ledger_entry>& entries, const std::string& format) {
  std::ostringstream text;
  write_ledger_header(text, format_named(format));
  for (const ledger_entry& entry : entries) write_ledger_entry(text, entry, format_named(format));
  return text.str();
}

}  // namespace

void register_records(nb::module_& module) {
  bind_records(module);
  bind_inspections(module);
  module.def("ledger_text", &ledger_text, nb::arg("records"), nb::arg("format"));
  module.def("read_ledger", [](const std::string& text) { return read_ledger(text); }, nb::arg("text"));
}

}  // namespace syclamp::python
