// SPDX-License-Identifier: Apache-2.0
#include "syclamp/spike_guard.hpp"

#include <cmath>

#include <fmt/format.h>

#include "engine/command_queue.hpp"
#include "engine/device_memory.hpp"
#include "launch/kernel_library.hpp"
#include "launch/operations.hpp"
#include "syclamp/error.hpp"
#include "tensors/list_checks.hpp"

namespace SYCLAMP_NAMESPACE {

struct SYCLAMP_HIDDEN spike_guard::impl {
  syclamp::engine engine;
  settings options;
  usm_array<kernels::running_value> so_far;
};

spike_guard::spike_guard(engine engine, const settings& options) {
  if (!(options.threshold > 0) || !std::isfinite(options.threshold))
    throw invalid_argument(fmt::format(
        "spike_guard: threshold is {}; it must be a positive number of standard deviations", options.threshold));
  if (options.window < 2)
    throw invalid_argument(fmt::format("spike_guard: window is {}; it must be at least 2 steps", options.window));
  auto so_far = allocate_on_device<kernels::running_value>(engine.queue(), 1);
  command_queue(engine).memset(so_far.get(), 0, sizeof(kernels::running_value));
  engine.kernels().prepare(launch::guard_value);
  engine.wait();
  impl_ = make_state<impl>(std::move(engine), options, std::move(so_far));
}

sycl::event spike_guard::check(const device_value& value, const loss_scaler& scaler,
                               const std::vector<sycl::event>& dependencies) const {
  if (scaler.get_engine().queue() != impl_->engine.queue())
    throw invalid_argument(
        "spike_guard: the scaler belongs to another queue; make the guard and the scaler with the same engine");
  impl_->engine.order_after(dependencies);
  return impl_->engine.kernels().submit(impl_->engine.queue(), launch::guard_value, 1, value.address(),
                                        impl_->options.threshold, impl_->options.window, impl_->so_far.get(),
                                        scaler.device_user_flags());
}

}  // namespace SYCLAMP_NAMESPACE
