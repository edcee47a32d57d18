// SPDX-License-Identifier: Apache-2.0
// A whole step recorded into a SYCL graph: what can be recorded neither waits nor reads back.
#include <bit>
#include <cstring>

#include <catch2/catch_test_macros.hpp>

#include "tests/device/devices.hpp"
#include "tests/device/scaled_training.hpp"
#include "tests/device/tensors.hpp"

using namespace syclamp;

#if defined(SYCL_EXT_ONEAPI_GRAPH)
namespace graphs = sycl::ext::oneapi::experimental;

namespace {

bool can_record(const engine& on) {
  const sycl::device device = on.queue().get_device();
  return device.has(sycl::aspect::ext_oneapi_graph) || device.has(sycl::aspect::ext_oneapi_limited_graph);
}

/// A gradient of some step: now and then Inf or NaN.
float special_of(int step) { return step % 7 == 3 ? infinity : step % 11 == 5 ? no_number : 0.0f; }

}  // namespace

TEST_CASE("scale, step and update recorded once and replayed are the same bits as submitted one by one") {
  const engine& on = any_engine();
  CAPTURE(on.profile_name());
  if (!can_record(on)) SKIP("the device has no graphs");
  const bool unscales = GENERATE(false, true);
  const scaling_policy policy{.init = 8, .interval = 3};
  training direct(on, policy), recorded(on, policy);
  const device_buffer<float> loss(on.queue(), {1.0f});
  const tensor_list loss_list(on, array_view(loss.data(), 1));
  const device_scalar max_norm(on, 3.0f);
  recorded.scaler.prepare(recorded.optimizer.gradients());
  on.wait();

  graphs::command_graph graph(on.queue());
  graph.begin_recording(on.queue());
  recorded.scaler.scale(loss_list);
  if (unscales) recorded.scaler.unscale(recorded.optimizer, max_norm);
  recorded.scaler.step(recorded.optimizer, unscales ? nullptr : static_cast<const float*>(max_norm));
  recorded.scaler.update();
  graph.end_recording(on.queue());
  auto step = graph.finalize();
  CHECK(recorded.optimizer.weight() == 0.0f);  // nothing has run yet

  for (int i = 0; i < 60; ++i) {
    const float scale = direct.scaler.current_scale(), value = 0.25f * static_cast<float>(i);
    const step_record expected = direct.step(value, special_of(i), max_norm);
    recorded.backward(value, scale, special_of(i));
    on.queue().ext_oneapi_graph(step);
    on.wait();
    const step_record result = recorded.scaler.outcome();
    REQUIRE(std::memcmp(&result, &expected, sizeof result) == 0);
    REQUIRE(std::bit_cast<std::uint32_t>(recorded.optimizer.weight()) ==
            std::bit_cast<std::uint32_t>(direct.optimizer.weight()));
  }
}
#endif
