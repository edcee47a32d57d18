// SPDX-License-Identifier: Apache-2.0
/// \file
/// Objects for tests of every function.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "tests/c/handle_calls.hpp"
#include "tests/c/support.hpp"

namespace c_tests {

/// One object of every kind.
struct objects {
  device_floats gradient{std::vector<float>(8, 1.0f)}, model{std::vector<float>(8, 1.0f)};
  owned<syclamp_tensor_list> list = list_of({tensor(gradient.data(), 8)});
  owned<syclamp_inspector> inspector;
  owned<syclamp_unscaled> unscaled;
  owned<syclamp_scaler> scaler = scaler_of();
  owned<syclamp_optimizer> optimizer = optimizer_of(gradient, model, settings(SYCLAMP_SGD, 0.5));
  owned<syclamp_spike_guard> guard;
  owned<syclamp_recorded_step> recorded;

  objects() {
    ok(syclamp_inspector_create(list, SYCLAMP_INSPECT_TENSORS, inspector.address()));
    ok(syclamp_unscaled_create(list, unscaled.address()));
    ok(syclamp_spike_guard_create(engine(), nullptr, guard.address()));
    ok(syclamp_recorded_step_create(engine(), no_calls, nullptr, SYCLAMP_RECORD_NEVER, recorded.address()));
  }

  arguments all() const { return {list, inspector, unscaled, scaler, optimizer, guard}; }
  std::array<std::pair<kind, void*>, 8> handles() const {
    return {{{kind::engine, engine()},
             {kind::list, static_cast<syclamp_tensor_list>(list)},
             {kind::inspector, static_cast<syclamp_inspector>(inspector)},
             {kind::unscaled, static_cast<syclamp_unscaled>(unscaled)},
             {kind::scaler, static_cast<syclamp_scaler>(scaler)},
             {kind::optimizer, static_cast<syclamp_optimizer>(optimizer)},
             {kind::guard, static_cast<syclamp_spike_guard>(guard)},
             {kind::recorded, static_cast<syclamp_recorded_step>(recorded)}}};
  }
};

}  // namespace c_tests
