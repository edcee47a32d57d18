// SPDX-License-Identifier: Apache-2.0
// The extension module syclamp._core.
#include "module.hpp"

// Classes first, because signatures name the classes that are registered before them.
NB_MODULE(_core, module) {
  using namespace syclamp::python;
  nanobind::set_leak_warnings(
      false);  // when it ends, Python does not delete every object, so the default engine may stay
  module.doc() = "The compiled part of syclamp. Use the package syclamp instead.";
  register_errors(module);
  register_engine(module);
  register_devices(module);
  register_arrays(module);
  register_policy(module);
  register_records(module);
  register_tensors(module);
  register_optimizer(module);
  register_scaler(module);
  register_state(module);
  register_torch(module);
}
