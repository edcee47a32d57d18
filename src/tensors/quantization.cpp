// SPDX-License-Identifier: Apache-2.0
#include "syclamp/quantization.hpp"

#include <cmath>

#include <fmt/format.h>

#include "engine/command_queue.hpp"
#include "engine/device_memory.hpp"
#include "launch/kernel_library.hpp"
#include "launch/operations.hpp"
#include "syclamp/error.hpp"
#include "tensors/list_checks.hpp"
#include "tensors/tensor_table.hpp"

namespace SYCLAMP_NAMESPACE {
namespace {

std::vector<float> limits_of(const tensor_list& list) {
  std::vector<float> limits;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const element_type type = list[i].type();
    if (bytes_per_element(type) != 1 && type != element_type::float16)
      throw invalid_argument(
          fmt::format("delayed_scaling: {} is {}, which needs no scale; pass FP8 tensors, or a limit for integers",
                      described(list, i), to_string(type)));
    limits.push_back(max_finite(type));
  }
  return limits;
}

void check_scaling(const char* operation, const tensor_list& list, const delayed_scaling& scaling) {
  if (list.size() != scaling.size())
    throw invalid_argument(
        fmt::format("{}: the list has {} tensors, but the delayed_scaling has {} scales; construct the delayed_scaling "
                    "with this list",
                    operation, list.size(), scaling.size()));
}

void check(const delayed_scaling::settings& options) {
  if (options.history == 0) throw invalid_argument("delayed_scaling: history is 0; it must be at least 1 step");
  if (options.margin < -126 || options.margin > 126)
    throw invalid_argument(
        fmt::format("delayed_scaling: margin is {}; it must be between -126 and 126", options.margin));
}

}  // namespace

struct SYCLAMP_HIDDEN delayed_scaling::impl {
  impl(syclamp::engine owner, std::vector<float> of_tensors, const settings& chosen)
      : engine(std::move(owner)),
        options(chosen),
        limits(std::move(of_tensors)),
        device_limits(allocate_on_device<float>(engine.queue(), limits.size())),
        history(allocate_on_device<float>(engine.queue(), limits.size() * options.history)),
        scales(allocate_on_device<float>(engine.queue(), limits.size())),
        rows(allocate_on_device<std::uint32_t>(engine.queue(), limits.size())) {
    const std::size_t tensors = limits.size();
    if (tensors != 0) {
      const std::vector<float> ones(tensors, 1.0f);
      std::vector<float> bounds;
      for (const float limit : limits) bounds.push_back(std::ldexp(limit, -options.margin));
      const command_queue queue(engine);
      queue.memcpy(device_limits.get(), bounds.data(), tensors * sizeof(float));
      queue.memset(history.get(), 0, tensors * options.history * sizeof(float));
      queue.memcpy(scales.get(), ones.data(), tensors * sizeof(float));
      queue.memset(rows.get(), 0, tensors * sizeof(std::uint32_t));
      engine.wait();
    }
    engine.kernels().prepare(launch::update_scales);
  }

  syclamp::engine engine;
  settings options;
  std::vector<float> limits;
  usm_array<float> device_limits, history, scales;
  usm_array<std::uint32_t> rows;
};

delayed_scaling::delayed_scaling(const tensor_list& quantized, const settings& options) {
  check(options);
  impl_ = make_state<impl>(quantized.get_engine(), limits_of(quantized), options);
}

delayed_scaling::delayed_scaling(const tensor_list& tensors, float limit, const settings& options) {
  check(options);
  if (!(limit > 0) || !std::isfinite(limit))
    throw invalid_argument(fmt::format("delayed_scaling: the limit is {}; it must be positive and finite", limit));
  impl_ = make_state<impl>(tensors.get_engine(), std::vector<float>(tensors.size(), limit), options);
}

sycl::event delayed_scaling::update(const inspector& inspector, const std::vector<sycl::event>& dependencies) const {
  const auto count = static_cast<std::uint32_t>(impl_->limits.size());
  if (inspector.device_tensors() == nullptr)
    throw invalid_argument(
        "delayed_scaling: the inspector has no results per tensor; construct it with inspection_level::tensors");
  if (inspector.list().size() != count)
    throw invalid_argument(fmt::format(
        "delayed_scaling: it has {} scales, but the inspector has {} tensors; construct both with the same list", count,
        inspector.list().size()));
  if (inspector.list().get_engine().queue() != impl_->engine.queue())
    throw invalid_argument("delayed_scaling: the inspector belongs to another queue; make both with the same engine");
  const engine& engine = impl_->engine;
  sycl::event ordered = engine.order_after(dependencies);
  if (count == 0) return ordered;
  return engine.kernels().submit_items(engine.queue(), launch::update_scales, count, inspector.device_tensors(), count,
                                       impl_->device_limits.get(), impl_->options.latest_only, impl_->options.history,
                                       impl_->history.get(), impl_->rows.get(), impl_->scales.get());
}

cast_options delayed_scaling::quantize() const { return {.saturate = true, .scales = device_scales()}; }
cast_options delayed_scaling::dequantize() const { return {.scales = device_scales(), .divide = true}; }

const float* delayed_scaling::device_scales() const { return impl_->scales.get(); }

std::vector<float> delayed_scaling::scales() const {
  std::vector<float> values(impl_->limits.size());
  if (!values.empty())
    command_queue(impl_->engine).memcpy(values.data(), device_scales(), values.size() * sizeof(float));
  impl_->engine.wait();
  return values;
}

const float* delayed_scaling::device_limits() const { return impl_->device_limits.get(); }
std::size_t delayed_scaling::size() const { return impl_->limits.size(); }

float delayed_scaling::limit(std::size_t tensor) const {
  if (tensor >= size())
    throw invalid_argument(fmt::format(
        "delayed_scaling: there is no tensor {}; it has {} tensors, and indices begin at 0", tensor, size()));
  return impl_->limits[tensor];
}

sycl::event fake_quantize(const tensor_list& in, const tensor_list& out, const delayed_scaling& scaling,
                          const std::vector<sycl::event>& dependencies) {
  check_pair("fake_quantize", in, out);
  check_scaling("fake_quantize", in, scaling);
  const auto &from = in.prepared(), &to = out.prepared();
  sycl::event ordered = in.get_engine().order_after(dependencies);
  launch::kernel_library& library = in.get_engine().kernels();
  const auto groups = library.groups_for(launch::fake_quantize, from.chunks);
  if (groups == 0) return ordered;
  return library.submit(in.get_engine().queue(), launch::fake_quantize, groups, from.addresses, from.kinds,
                        to.addresses, to.kinds, from.starts, from.tensors, scaling.device_scales(),
                        scaling.device_limits());
}

sycl::event fake_quantize_gradient(const tensor_list& in, const tensor_list& gradient_out,
                                   const tensor_list& gradient_in, const delayed_scaling& scaling,
                                   const std::vector<sycl::event>& dependencies) {
  check_scaling("fake_quantize_gradient", in, scaling);
  check_pair("fake_quantize_gradient", gradient_out, gradient_in);
  check_pair("fake_quantize_gradient", in, gradient_in);
  const auto &from = in.prepared(), &gradient = gradient_out.prepared(), &to = gradient_in.prepared();
  sycl::event ordered = in.get_engine().order_after(dependencies);
  launch::kernel_library& library = in.get_engine().kernels();
  const auto groups = library.groups_for(launch::straight_through, from.chunks);
  if (groups == 0) return ordered;
  return library.submit(in.get_engine().queue(), launch::straight_through, groups, from.addresses, from.kinds,
                        gradient.addresses, gradient.kinds, to.addresses, to.kinds, from.starts, from.tensors,
                        scaling.device_scales(), scaling.device_limits());
}

}  // namespace SYCLAMP_NAMESPACE
