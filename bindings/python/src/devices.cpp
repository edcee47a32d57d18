// SPDX-License-Identifier: Apache-2.0
// The devices of the machine.
#include <string>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <nanobind/typing.h>
#include <sycl/sycl.hpp>

#include <syclamp/system_info.hpp>

#include "module.hpp"

namespace nb = nanobind;

namespace syclamp::python {
namespace {

std::string kind_of(const sycl::device& device) {
  return device.is_gpu() ? "gpu" : device.is_cpu() ? "cpu" : "accelerator";
}

using fields_dict = nb::typed<nb::dict, nb::str, nb::any>;

nb::typed<nb::list, fields_dict> devices() {
  nb::list all;
  for (const sycl::device& device : sycl::device::get_devices()) {
    namespace info = sycl::info::device;
    nb::dict fields;
    fields["name"] = device.get_info<info::name>();
    fields["vendor"] = device.get_info<info::vendor>();
    fields["driver"] = device.get_info<info::driver_version>();
    fields["platform"] = device.get_platform().get_info<sycl::info::platform::name>();
    fields["kind"] = kind_of(device);
    fields["compute_units"] = device.get_info<info::max_compute_units>();
    fields["memory_bytes"] = device.get_info<info::global_mem_size>();
    fields["has_fp64"] = device.has(sycl::aspect::fp64);
    fields["has_fp16"] = device.has(sycl::aspect::fp16);
    fields["reads_host_memory"] = device.has(sycl::aspect::usm_system_allocations);
    all.append(fields);
  }
  return nb::typed<nb::list, fields_dict>(all);
}

fields_dict system_report_dict() {
  const auto report = [] {
    const nb::gil_scoped_release others_run;
    return describe_system();
  }();
  nb::dict fields;
  fields["version"] = report.version;
  fields["kernel_mode"] = report.kernel_mode;
  fields["compiler"] = report.compiler;
  fields["cache"] = report.cache;
  nb::list all;
  for (const device_report& device : report.devices) {
    nb::dict entry;
    entry["name"] = device.name;
    entry["profile"] = device.profile;
    entry["usable"] = device.usable;
    entry["problem"] = device.problem;
    nb::dict checks;
    for (const arithmetic_check& check : device.arithmetic.checks) checks[check.name.c_str()] = check.passed;
    entry["arithmetic"] = checks;
    all.append(entry);
  }
  fields["devices"] = all;
  fields["advice"] = report.advice;
  return fields_dict(fields);
}

}  // namespace

void register_devices(nb::module_& module) {
  module.def("devices", &devices);
  module.def("system_report", &system_report_dict);
}

}  // namespace syclamp::python
