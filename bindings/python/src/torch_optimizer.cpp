// SPDX-License-Identifier: Apache-2.0
#include "torch_optimizer.hpp"

#include <limits>
#include <utility>

#include <nanobind/stl/string.h>

#include "settings.hpp"
#include "torch_engine.hpp"
#include "torch_threads.hpp"

namespace nb = nanobind;

namespace syclamp::python {
namespace {

constexpr std::size_t prefetch_distance = 8;  // parameters

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
      kept_(parameters),
      optimizer_(cpu_engine(), describe(parameters), settings_of(name_, groups)),
      addresses_(parameters_.size()),
      decision_(cpu_engine(), 1, sycl::usm::alloc::host) {}

std::vector<parameter> torch_optimizer::describe(const nb::list& parameters) {
  std::vector<parameter> result;
  for (nb::handle tensor : watched_) reader_.need_tensor(tensor, "a frozen parameter");
  for (nb::handle entry : parameters) {
    const auto values = nb::cast<nb::tuple>(entry);
    const auto name = nb::cast<std::string>(values[2]);
    const nb::handle tensor = values[0];
    const tensor_layout layout = reader_.read(tensor, name);
    if (layout.type == element_type::float64)
      throw nb::type_error((name + " has the type torch.float64; supported are torch.float32, torch.float16 and "
                                   "torch.bfloat16, so convert the model with .float()")
                               .c_str());
    if (!layout.is_dense())
      throw nb::value_error((name + " has gaps or overlaps in memory; make it contiguous first").c_str());
    const nb::object gradient = tensor.attr("grad");
    const element_type gradient_type =
        gradient.is_none() ? layout.type : reader_.read(gradient, "the gradient of " + name).type;
    if (nb::cast<bool>(tensor.attr("is_neg")()))
      throw nb::value_error((name + " is a negated view of other memory; call resolve_neg() on it first").c_str());
    parameter made{.gradient = {nullptr, layout.count, gradient_type},
                   .model = {layout.data, layout.count, layout.type},
                   .name = name,
                   .group = nb::cast<std::uint32_t>(values[1])};
    const bool has_master = !values[3].is_none();
    if (has_master)
      made.master = {reader_.read(values[3], "the master of " + name).data, layout.count, element_type::float32};
    for (std::size_t i = 4; i < values.size(); ++i)
      made.states[i - 4] = reader_.read(values[i], "a moment of " + name).data;
    result.push_back(std::move(made));
    parameters_.push_back({.tensor = tensor.ptr(),
                           .data = layout.data,
                           .place = layouts_.size(),
                           .dimensions = static_cast<std::uint32_t>(layout.shape.size()),
                           .type = layout.type,
                           .gradient_type = gradient_type,
                           .has_master = has_master,
                           .version = reader_.version_of(tensor.ptr())});
    layouts_.insert(layouts_.end(), layout.shape.begin(), layout.shape.end());
    layouts_.insert(layouts_.end(), layout.strides.begin(), layout.strides.end());
  }
  return result;
}

expected_layout torch_optimizer::layout_of(const described_parameter& stored, element_type type) const {
  const std::int64_t* shape = layouts_.data() + stored.place;
  return {type, {shape, stored.dimensions}, {shape + stored.dimensions, stored.dimensions}};
}

bool torch_optimizer::read_gradient(std::size_t index, tensor_handle gradient, nb::handle holder) {
  const described_parameter& stored = parameters_[index];
  if (reader_.read_again(gradient, layout_of(stored, stored.gradient_type), &addresses_[index]) &&
      !reader_.is_negated(gradient, holder))
    return true;
  const nb::handle tensor = stored.tensor;
  const nb::object found = tensor.attr("grad");
  const std::string described = "the gradient of " + optimizer_.gradients().name(index);
  if (reader_.read(found, described).type != stored.gradient_type) return false;
  // The optimizer walks through gradients in the order of the parameter's memory.
  const nb::object copy =
      nb::module_::import_("torch").attr("empty_like")(tensor.attr("detach")(), nb::arg("dtype") = found.attr("dtype"));
  copy.attr("copy_")(found.attr("detach")());
  addresses_[index] = reader_.read(copy, described).data;
  copies_.push_back(copy);
  return true;
}

/// PyTorch may have moved the parameter or written to it.
bool torch_optimizer::check_parameter(std::size_t index) {
  described_parameter& stored = parameters_[index];
  void* address = nullptr;
  if (!reader_.read_again(reader_.handle_of(stored.tensor), layout_of(stored, stored.type), &address) ||
      address != stored.data)
    return false;
  if (!stored.has_master) return true;
  const std::int64_t version = reader_.version_of(stored.tensor);
  if (std::exchange(stored.version, version) != version) written_.push_back(index);
  return true;
}

bool torch_optimizer::read_gradients() {
  release_threads();
  copies_.clear();
  written_.clear();
  gradients_ = 0;
  nb::object holder;
  for (nb::handle parameter : watched_)
    if (reader_.gradient_of(parameter.ptr(), holder) != nullptr) return false;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    using stage = tensor_reader::stage;
    for (const stage next :
         {stage::object, stage::tensor, stage::storage, stage::gradient, stage::storage_of_gradient}) {
      const std::size_t ahead = (5 - static_cast<std::size_t>(next)) * prefetch_distance;
      if (i + ahead < parameters_.size()) reader_.prefetch(parameters_[i + ahead].tensor, next);
    }
    if (!check_parameter(i)) return false;
    addresses_[i] = nullptr;
    tensor_handle gradient = reader_.gradient_of(parameters_[i].tensor, holder);
    if (gradient == nullptr) continue;
    if (!read_gradient(i, gradient, holder)) return false;
    if (addresses_[i] != nullptr) ++gradients_;
  }
  tensor_list gradients = optimizer_.gradients();
  gradients.set_addresses(addresses_);
  return true;
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
  const nb::gil_scoped_release unlocked;
  cpu_engine().wait();
  return optimizer_.progress().last_was_applied;
}

/// Without the GIL, because the threads that end may need it.
void torch_optimizer::release_threads() const {
  const nb::gil_scoped_release unlocked;
  release_openmp_threads(optimizer_.gradients().elements());
}

bool torch_optimizer::apply(float scale, bool skip, std::optional<float> max_norm) {
  if (max_norm && !skip) {
    loss_scaler& scaler = clipping_scaler(scale);
    const bool is_applied = apply(scaler, max_norm);
    scaler.update();
    return is_applied;
  }
  const auto [first, second] = reciprocal(scale);
  *decision_.data() = {.apply = skip ? 0u : 1u, .unscale_first = first, .unscale_second = second};
  optimizer_.apply(step_inputs{optimizer_.gradients(), decision_.data(), false});
  return finish();
}

bool torch_optimizer::apply(loss_scaler& scaler, std::optional<float> max_norm) {
  step_options options;
  if (max_norm) options.max_norm = *max_norm;
  scaler.begin_step();
  scaler.step(optimizer_, options);
  return finish();
}

}  // namespace syclamp::python
