// SPDX-License-Identifier: Apache-2.0
#include "torch_optimizer.hpp"

#include <limits>
#include <utility>

#include <nanobind/stl/string.h>

#include "settings.hpp"
#include "torch_engine.hpp"

namespace nb = nanobind;

namespace syclamp::python {
namespace {

std::vector<optimizer_settings> settings_of(const std::string& optimizer, const nb::list& groups) {
  std::vector<optimizer_settings> settings;
  for (nb::handle group : groups) settings.push_back(settings_from(optimizer, nb::cast<nb::dict>(group)));
  return settings;
}

/// The reciprocal of a scale as two factors, neither of them subnormal.
std::pair<float, float> reciprocal(float scale) {
  constexpr float large = 0x1p64f;
  if (scale > 0x1p125f) return {1.0f / large, 1.0f / (scale / large)};
  if (scale < 0x1p-125f) return {large, 1.0f / (scale * large)};
  return {1.0f / scale, 1.0f};
}

scaling_policy clipping_policy(float scale) {
  scaling_policy policy;
  policy.mode = scaling_mode::fixed;
  policy.init_scale = static_cast<double>(scale);
  policy.power_of_two = false;
  policy.min = 0x1p-126;
  policy.max = static_cast<double>(std::numeric_limits<float>::max());
  policy.nan_patience = 0;
  return policy;
}

}  // namespace

torch_optimizer::torch_optimizer(nb::handle tensor_class, std::string optimizer, const nb::list& parameters,
                                 nb::list watched, const nb::list& groups)
    : reader_(tensor_class),
      name_(std::move(optimizer)),
      watched_(std::move(watched)),
      optimizer_(cpu_engine(), describe(reader_, parameters, &parameters_), settings_of(name_, groups)),
      addresses_(parameters_.size()),
      decision_(sycl::malloc_host<step_decision>(1, cpu_engine().queue())) {}

std::vector<parameter> torch_optimizer::describe(const tensor_reader& reader, const nb::list& parameters,
                                                 std::vector<described_parameter>* described) {
  std::vector<parameter> result;
  for (nb::handle entry : parameters) {
    const auto values = nb::cast<nb::tuple>(entry);
    const auto name = nb::cast<std::string>(values[2]);
    described_parameter stored{.tensor = values[0], .layout = reader.read(values[0], name), .gradient = {}};
    if (stored.layout.type == element_type::float64)
      throw nb::type_error((name + " has the type torch.float64; supported are torch.float32, torch.float16 and "
                                   "torch.bfloat16, so convert the model with .float()")
                               .c_str());
    if (!stored.layout.is_dense())
      throw nb::value_error((name + " has gaps or overlaps in memory; make it contiguous first").c_str());
    stored.gradient = stored.layout;
    stored.gradient.data = nullptr;
    const nb::object gradient = nb::steal(reader.gradient_of(stored.tensor.ptr()));
    if (!gradient.is_none()) stored.gradient.type = reader.read(gradient, "the gradient of " + name).type;
    const tensor_layout& layout = stored.layout;
    parameter made{.gradient = {nullptr, layout.count, stored.gradient.type},
                   .model = {layout.data, layout.count, layout.type},
                   .name = name,
                   .group = nb::cast<std::uint32_t>(values[1])};
    stored.has_master = !values[3].is_none();
    stored.version = reader.version_of(stored.tensor.ptr());
    if (stored.has_master)
      made.master = {reader.read(values[3], "the master of " + name).data, layout.count, element_type::float32};
    for (std::size_t i = 4; i < values.size(); ++i)
      made.states[i - 4] = reader.read(values[i], "a moment of " + name).data;
    result.push_back(std::move(made));
    described->push_back(std::move(stored));
  }
  return result;
}

bool torch_optimizer::read_gradient(std::size_t index, PyObject* gradient) {
  const described_parameter& stored = parameters_[index];
  if (reader_.read_again(gradient, stored.gradient, &addresses_[index])) return true;
  const std::string described = "the gradient of " + optimizer_.gradients().name(index);
  if (reader_.read(gradient, described).type != stored.gradient.type) return false;
  // The optimizer walks through gradients in the order of the parameter's memory.
  const nb::object copy = nb::module_::import_("torch").attr("empty_like")(
      stored.tensor.attr("detach")(), nb::arg("dtype") = nb::handle(gradient).attr("dtype"));
  copy.attr("copy_")(nb::handle(gradient).attr("detach")());
  addresses_[index] = reader_.read(copy, described).data;
  copies_.push_back(copy);
  return true;
}

bool torch_optimizer::read_gradients() {
  copies_.clear();
  gradients_ = 0;
  for (nb::handle parameter : watched_)
    if (!nb::steal(reader_.gradient_of(parameter.ptr())).is_none()) return false;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    void* address = nullptr;
    PyObject* tensor = parameters_[i].tensor.ptr();
    if (!reader_.read_again(tensor, parameters_[i].layout, &address) || address != parameters_[i].layout.data)
      return false;
    PyObject* gradient = reader_.gradient_of(tensor);
    const nb::object owner = nb::steal(gradient);
    if (gradient == Py_None)
      addresses_[i] = nullptr;
    else if (!read_gradient(i, gradient))
      return false;
    if (addresses_[i] != nullptr) ++gradients_;
  }
  tensor_list gradients = optimizer_.gradients();
  gradients.set_addresses(addresses_);
  return true;
}

std::vector<std::size_t> torch_optimizer::take_changed() {
  std::vector<std::size_t> changed;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (!parameters_[i].has_master) continue;
    const std::int64_t version = reader_.version_of(parameters_[i].tensor.ptr());
    if (std::exchange(parameters_[i].version, version) != version) changed.push_back(i);
  }
  return changed;
}

void torch_optimizer::set_group(std::uint32_t index, const nb::dict& group) {
  optimizer_.set(settings_from(name_, group), index);
}

loss_scaler& torch_optimizer::clipping_scaler(float scale) {
  if (!clipping_) clipping_.emplace(cpu_engine(), clipping_policy(scale), scaler_options{.ledger = 1});
  if (clipping_->policy().init_scale != static_cast<double>(scale)) {
    clipping_->set_policy(clipping_policy(scale));  // remembers the scale
    clipping_->update(scale);
  }
  return *clipping_;
}

bool torch_optimizer::finish() {
  cpu_engine().wait();
  return optimizer_.progress().last_was_applied;
}

bool torch_optimizer::apply(float scale, bool skip, std::optional<float> max_norm) {
  const nb::gil_scoped_release unlocked;
  if (max_norm && !skip) {
    loss_scaler& scaler = clipping_scaler(scale);
    scaler.begin_step();
    scaler.step(optimizer_, {.max_norm = *max_norm});
    scaler.update();
    return finish();
  }
  const auto [first, second] = reciprocal(scale);
  *decision_ = {.apply = skip ? 0u : 1u, .unscale_first = first, .unscale_second = second};
  optimizer_.apply(step_inputs{optimizer_.gradients(), decision_, false});
  return finish();
}

bool torch_optimizer::apply(loss_scaler& scaler, std::optional<float> max_norm) {
  const nb::gil_scoped_release unlocked;
  step_options options;
  if (max_norm) options.max_norm = *max_norm;
  scaler.begin_step();
  scaler.step(optimizer_, options);
  return finish();
}

}  // namespace syclamp::python
