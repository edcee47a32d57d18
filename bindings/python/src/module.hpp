// SPDX-License-Identifier: Apache-2.0
// The parts of the extension module. Each source file registers its own classes and functions.
#pragma once

#include <nanobind/nanobind.h>

namespace syclamp::python {

void register_errors(nanobind::module_& module);
void register_engine(nanobind::module_& module);
void register_devices(nanobind::module_& module);
void register_arrays(nanobind::module_& module);
void register_policy(nanobind::module_& module);
void register_records(nanobind::module_& module);
void register_tensors(nanobind::module_& module);
void register_optimizer(nanobind::module_& module);
void register_scaler(nanobind::module_& module);
void register_state(nanobind::module_& module);
void register_torch(nanobind::module_& module);

}  // namespace syclamp::python
