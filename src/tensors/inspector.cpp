// SPDX-License-Identifier: Apache-2.0
#include "syclamp/inspector.hpp"

#include "syclamp/gradients.hpp"
#include "tensors/inspector_state.hpp"
#include "tensors/list_checks.hpp"
#include "tensors/unscaled_maker.hpp"

namespace syclamp {
inspector::inspector(tensor_list list, detail level) : state_(make_state<state>(std::move(list), level)) {
  state_->prepare_kernels();
}

sycl::event inspector::operator()(const float* scale) const {
  if (state_->details) return state_->inspect_details(scale, 0);
  state_->look_at_chunks();
  return state_->add_up(scale);
}

unscaled_gradients inspector::unscale(const tensor_list& out, const float* scale) const {
  const tensor_list& list = state_->list;
  check_given("unscale", "scale", scale);
  check_unscaling(list, out);
  if (state_->details) {
    (*this)(scale);
    return syclamp::unscale(list, out, scale);
  }
  state_->unscale_chunks(out, scale);
  return unscaled_maker::make(out, state_->add_up(scale));
}

void inspector::report_to(std::uint32_t* statistics) const { state_->sticky = statistics; }

const tensor_list& inspector::list() const { return state_->list; }
const inspection* inspector::device_result() const { return state_->result.get(); }
const inspection* inspector::device_tensors() const {
  return state_->details ? state_->details->of_tensors.get() : nullptr;
}
const inspection* inspector::device_groups() const {
  return state_->details ? state_->details->of_groups.get() : nullptr;
}
const exponent_histogram* inspector::device_histogram() const {
  return state_->details ? state_->details->histogram.get() : nullptr;
}

inspection inspector::result() const { return state_->read(device_result(), 1).front(); }

std::vector<inspection> inspector::tensors() const {
  state_->need(device_tensors() != nullptr, "about each tensor", "tensors");
  return state_->read(device_tensors(), state_->list.size());
}

std::vector<inspection> inspector::groups() const {
  state_->need(device_groups() != nullptr, "about groups", "tensors");
  return state_->read(device_groups(), state_->details->groups);
}

exponent_histogram inspector::histogram() const {
  state_->need(device_histogram() != nullptr, "exponents", "histogram");
  return state_->read(device_histogram(), 1).front();
}

sycl::event reset_flags(const engine& on, std::uint32_t* statistics) {
  check_given("reset_flags", "statistics", statistics);
  return on.queue().memset(statistics, 0, sizeof *statistics);
}

inspection inspect(const engine& on, array_view array) {
  const inspector look(tensor_list(on, array));
  look();
  return look.result();
}

}  // namespace syclamp
