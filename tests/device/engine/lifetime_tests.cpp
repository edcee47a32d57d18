// SPDX-License-Identifier: Apache-2.0
// Destructors: in any order, while work runs, with one wait at most.
#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <future>
#include <optional>
#include <thread>

#include <catch2/catch_test_macros.hpp>

#include "engine/device_memory.hpp"
#include "syclamp/syclamp.hpp"

using namespace syclamp;

namespace {

/// What a training code holds, as objects that can be destroyed one by one.
struct training {
  training() {
    engine.emplace();
    memory.emplace(*engine, 2, 4.0f);
    float* const data = memory->data();
    list.emplace(*engine, array_view(data, 1));
    optimizer.emplace(*engine, std::vector<parameter>{{.gradient = {data, 1}, .model = {data + 1, 1}}}, sgd{.lr = 0.5});
    scaler.emplace(*engine, scaling_policy{.init_scale = 4});
    scaler->prepare(optimizer->gradients());
  }

  void step() {
    scaler->begin_step();
    scaler->step(*optimizer);
    scaler->update();
  }

  std::optional<syclamp::engine> engine;
  std::optional<device_array<float>> memory;
  std::optional<tensor_list> list;
  std::optional<fused_optimizer> optimizer;
  std::optional<loss_scaler> scaler;
};

}  // namespace

TEST_CASE("engine, memory, lists, scaler and optimizer can be destroyed in any order while their work runs") {
  const std::uint64_t before = live_arrays_counter();
  for (int i = 0; i < 10; ++i) {  // each of them first, and last, with the others in both directions
    std::array order{0, 1, 2, 3, 4};
    std::rotate(order.begin(), order.begin() + i % 5, order.end());
    if (i >= 5) std::reverse(order.begin(), order.end());
    training code;
    code.step();
    const std::array<std::function<void()>, 5> destroy{[&] { code.engine.reset(); }, [&] { code.memory.reset(); },
                                                       [&] { code.list.reset(); }, [&] { code.optimizer.reset(); },
                                                       [&] { code.scaler.reset(); }};
    for (const int which : order) destroy[static_cast<std::size_t>(which)]();
    CHECK(live_arrays_counter() == before);
  }
}

#if defined(SYCL_EXT_ONEAPI_QUEUE_EMPTY)
TEST_CASE("the destructors of a scaler and an optimizer wait once for work that runs, and not at all without any") {
  for (const bool is_busy : {false, true}) {
    training code;
    code.step();
    code.engine->wait();
    std::promise<void> release;
    if (is_busy)
      code.engine->queue().submit([&](sycl::handler& handler) {
        handler.host_task([released = release.get_future().share()] { released.wait(); });
      });
    const std::uint64_t waits = deleter_waits_counter();
    std::atomic<bool> has_ended = false;
    std::thread destroying([&] {
      code.scaler.reset();
      code.optimizer.reset();
      code.list.reset();
      code.memory.reset();
      has_ended = true;
    });
    while (!has_ended && deleter_waits_counter() == waits) std::this_thread::yield();
    const bool ended_before_release = has_ended;
    release.set_value();
    destroying.join();

    CHECK(deleter_waits_counter() - waits == (is_busy ? 1 : 0));
    CHECK(ended_before_release == !is_busy);
  }
}
#endif
