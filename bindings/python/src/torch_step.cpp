// SPDX-License-Identifier: Apache-2.0
// The classes behind syclamp.torch. The package syclamp.torch wraps them; they are not meant for direct use.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <nanobind/typing.h>

#include "module.hpp"
#include "policy.hpp"
#include "torch_engine.hpp"
#include "torch_optimizer.hpp"
#include "torch_scaler.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace syclamp::python {
namespace {

using object_list = nb::typed<nb::list, nb::any>;

/// The policy, but with the numbers that torch.amp.GradScaler takes.
scaling_policy change_rule(scaling_policy policy, double growth_factor, double backoff_factor,
                           std::uint32_t growth_interval) {
  policy.growth_factor = growth_factor;
  policy.backoff_factor = backoff_factor;
  policy.growth_interval = growth_interval;
  return policy;
}

/// Whether two lists hold the same objects. Python's own comparison would compare tensors by their elements.
bool same_objects(const object_list& first, const object_list& second) {
  const Py_ssize_t count = PyList_Size(first.ptr());
  if (PyList_Size(second.ptr()) != count) return false;
  for (Py_ssize_t i = 0; i < count; ++i)  // without counting references, because there may be thousands of objects
    if (PyList_GetItem(first.ptr(), i) != PyList_GetItem(second.ptr(), i)) return false;
  return true;
}

}  // namespace

void register_torch(nb::module_& module) {
  nb::class_<torch_optimizer>(module, "TorchOptimizer")
      .def(nb::init<nb::handle, std::string, const object_list&, const object_list&, const object_list&>(),
           "tensor_class"_a, "optimizer"_a, "parameters"_a, "watched"_a, "groups"_a)
      .def("read_gradients", &torch_optimizer::read_gradients)
      .def_prop_ro("written", &torch_optimizer::written)
      .def_prop_ro("gradients", &torch_optimizer::gradients)
      .def(
          "set_group",
          [](torch_optimizer& optimizer, std::uint32_t index, const nb::typed<nb::dict, nb::str, nb::any>& group) {
            optimizer.set_group(index, group);
          },
          "index"_a, "group"_a)
      .def("apply", nb::overload_cast<float, bool, std::optional<float>>(&torch_optimizer::apply), "scale"_a, "skip"_a,
           "max_norm"_a.none())
      .def("last_step_was_applied",
           [](const torch_optimizer& optimizer) { return optimizer.progress(0).last_was_applied; })
      .def(
          "applied_steps",
          [](const torch_optimizer& optimizer, std::uint32_t group) { return optimizer.progress(group).applied; },
          "group"_a)
      .def("set_steps", &torch_optimizer::set_steps, "applied"_a)
      .def("tensor_moments", &torch_optimizer::tensor_moments)
      .def("set_tensor_moments", &torch_optimizer::set_tensor_moments, "moments"_a);
  nb::class_<torch_scaler>(module, "TorchScaler")
      .def(
          "__init__",
          [](torch_scaler* made, nb::handle tensor_class, nb::handle policy, double init_scale, double growth_factor,
             double backoff_factor, std::uint32_t growth_interval, std::uint32_t ledger) {
            scaling_policy changed = change_rule(policy_from(policy), growth_factor, backoff_factor, growth_interval);
            changed.init_scale = init_scale;
            new (made) torch_scaler(tensor_class, changed, ledger);
          },
          "tensor_class"_a, "policy"_a, "init_scale"_a, "growth_factor"_a, "backoff_factor"_a, "growth_interval"_a,
          "ledger"_a)
      .def("step", &torch_scaler::step, "optimizer"_a, "max_norm"_a.none())
      .def(
          "inspect",
          [](torch_scaler& scaler, std::uint64_t key, const object_list& tensors) {
            return scaler.inspect(key, tensors);
          },
          "key"_a, "tensors"_a)
      .def("add_flag", &torch_scaler::add_flag, "overflow"_a)
      .def("update", &torch_scaler::update)
      .def("set_scale", &torch_scaler::set_scale, "new_scale"_a)
      .def("scale", [](const torch_scaler& scaler) { return scaler.state().scale; })
      .def("growth_tracker", [](const torch_scaler& scaler) { return scaler.state().clean_steps; })
      .def(
          "set_rule",
          [](torch_scaler& scaler, double growth_factor, double backoff_factor, std::uint32_t growth_interval) {
            scaler.set_policy(change_rule(scaler.policy(), growth_factor, backoff_factor, growth_interval));
          },
          "growth_factor"_a, "backoff_factor"_a, "growth_interval"_a)
      .def("snapshot", &torch_scaler::snapshot)
      .def("load", &torch_scaler::load, "snapshot"_a)
      .def("load_pytorch", &torch_scaler::load_pytorch, "state"_a)
      .def("ledger", &torch_scaler::ledger)
      .def("collect_records", &torch_scaler::collect_records, "is_wanted"_a)
      .def("take_records", &torch_scaler::take_records);
  module.def(
      "torch_policy",
      [](nb::handle argument) {
        const scaling_policy policy = policy_from(argument);
        return std::make_tuple(policy.init_scale, policy.growth_factor, policy.backoff_factor, policy.growth_interval);
      },
      "policy"_a, "The initial scale, growth factor, backoff factor and growth interval of a policy or preset.");
  module.def("same_objects", &same_objects, "first"_a, "second"_a);
  module.def(
      "torch_reads_directly", [](bool is_direct) { tensor_reader::reads_directly = is_direct; }, "is_direct"_a,
      "False: optimizers that are made from now on ask Python for each gradient, as with a PyTorch that lacks a "
      "C++ function.");
  module.def("torch_wait", [] { cpu_engine().wait(); }, "Waits for all steps on CPU tensors.");
  module.def(
      "torch_host_waits", [] { return cpu_engine().statistics().waits; },
      "How often the host has waited for the device of CPU tensors.");
  module.def(
      "torch_kernels", [] { return cpu_engine().statistics().kernels_submitted; },
      "The number of kernels that were submitted for CPU tensors.");
}

}  // namespace syclamp::python
