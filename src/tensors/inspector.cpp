// SPDX-License-Identifier: Apache-2.0
#include "syclamp/inspector.hpp"

#include <fmt/format.h>

#include "engine/command_queue.hpp"
#include "syclamp/error.hpp"
#include "syclamp/gradients.hpp"
#include "tensors/inspection_workspace.hpp"
#include "tensors/list_checks.hpp"
#include "tensors/scalar_arguments.hpp"
#include "tensors/unscaling.hpp"

namespace SYCLAMP_NAMESPACE {

struct SYCLAMP_HIDDEN inspector::impl {
  template <typename T>
  std::vector<T> read(const T* results, std::size_t count) const {
    const engine& engine = workspace.tensors().get_engine();
    std::vector<T> values(count);
    if (count != 0) command_queue(engine).memcpy(values.data(), results, count * sizeof(T));
    engine.wait();
    return values;
  }

  static void need(const void* results, const char* subject, const char* level) {
    if (results == nullptr)
      throw invalid_argument(fmt::format(
          "inspector: it does not collect {}; construct it with inspection_level::{} as the second argument", subject,
          level));
  }

  inspection_workspace workspace;
};

inspector::inspector(tensor_list list, inspection_level level)
    : impl_(make_state<impl>(inspection_workspace(std::move(list), level))) {
  impl_->workspace.prepare_kernels();
}

sycl::event inspector::run(const std::optional<scalar>& scale, const std::vector<sycl::event>& dependencies) const {
  const auto divisor = scale_argument("inspector", scale);
  list().get_engine().order_after(dependencies);
  return impl_->workspace.inspect(divisor);
}

unscaled_gradients inspector::unscale(const tensor_list& out, const scalar& scale,
                                      const std::vector<sycl::event>& dependencies) const {
  const inspection_workspace& workspace = impl_->workspace;
  const auto divisor = scale_argument("unscale", scale);
  check_unscaling(workspace.tensors(), out);
  list().get_engine().order_after(dependencies);
  if (workspace.has_details()) {
    workspace.inspect(divisor);
    return syclamp::unscale(workspace.tensors(), out, scale, dependencies);
  }
  workspace.unscale_chunks(out, divisor);
  return unscaled_gradients(unscaling{out, workspace.add_up(divisor)});
}

const tensor_list& inspector::list() const { return impl_->workspace.tensors(); }
const inspection* inspector::device_result() const { return impl_->workspace.result(); }
const inspection* inspector::device_tensors() const { return impl_->workspace.tensor_results(); }
const inspection* inspector::device_groups() const { return impl_->workspace.group_results(); }
const exponent_histogram* inspector::device_histogram() const { return impl_->workspace.histogram(); }

inspection inspector::result() const { return impl_->read(device_result(), 1).front(); }

std::vector<inspection> inspector::tensors() const {
  impl::need(device_tensors(), "results per tensor", "tensors");
  return impl_->read(device_tensors(), list().size());
}

std::vector<inspection> inspector::groups() const {
  impl::need(device_groups(), "results per group", "tensors");
  return impl_->read(device_groups(), impl_->workspace.group_count());
}

exponent_histogram inspector::histogram() const {
  impl::need(device_histogram(), "a histogram of exponents", "histogram");
  return impl_->read(device_histogram(), 1).front();
}

inspection inspect(const engine& engine, const_array_view array) {
  const inspector array_inspector(tensor_list(engine, array));
  array_inspector.run();
  return array_inspector.result();
}

}  // namespace SYCLAMP_NAMESPACE
