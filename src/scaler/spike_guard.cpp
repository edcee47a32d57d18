// SPDX-License-Identifier: Apache-2.0
#include "syclamp/spike_guard.hpp"

#include <cmath>

#include <fmt/format.h>

#include "engine/device_memory.hpp"
#include "launch/kernel_library.hpp"
#include "launch/operations.hpp"
#include "syclamp/error.hpp"
#include "tensors/list_checks.hpp"

namespace syclamp {

struct spike_guard::impl {
  engine on;
  settings how;
  device_array<kernels::running_value> so_far;
};

spike_guard::spike_guard(engine on, const settings& how) {
  if (!(how.threshold > 0) || !std::isfinite(how.threshold))
    throw invalid_argument(
        fmt::format("spike_guard: threshold is {}; it is a positive number of standard deviations", how.threshold));
  if (how.window < 2)
    throw invalid_argument(fmt::format("spike_guard: window is {}; a deviation needs at least 2 steps", how.window));
  auto so_far = allocate_on_device<kernels::running_value>(on.queue(), 1);
  on.queue().memset(so_far.get(), 0, sizeof(kernels::running_value));
  on.kernels().prepare(launch::guard_value);
  on.wait();
  impl_ = make_state<impl>(std::move(on), how, std::move(so_far));
}

sycl::event spike_guard::check(const float* value, const loss_scaler& scaler) const {
  check_given("spike_guard", "value", value);
  if (scaler.on().queue() != impl_->on.queue())
    throw invalid_argument(
        "spike_guard: the scaler belongs to another queue than the guard; make both with the same engine");
  return impl_->on.kernels().submit(impl_->on.queue(), launch::guard_value, 1, value, impl_->how.threshold,
                                    impl_->how.window, impl_->so_far.get(), scaler.device_user_flags());
}

}  // namespace syclamp
