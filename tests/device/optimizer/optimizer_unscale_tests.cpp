// SPDX-License-Identifier: Apache-2.0
// Gradients that are unscaled first and applied then, as users of PyTorch's GradScaler do who look at them.
#include <cstdint>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "syclamp/syclamp.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/training.hpp"

using namespace syclamp;

namespace {

/// With a scale that changes after every step, and a step that overflows.
template <typename Gradient>
void check_unscaling_first(const engine& engine, const optimizer_settings& settings) {
  using run = training<Gradient, copy_of<Gradient>>;
  const bool needs_shadow = !std::is_same_v<Gradient, float32>;
  const scaling_policy policy{.init_scale = 1024, .growth_interval = 1};
  run fused(engine, settings, 1), apart(engine, settings, 1, {.unscaled_shadow = needs_shadow});
  loss_scaler of_fused(engine, policy), of_apart(engine, policy);
  const device_scalar max_norm(engine, 0.01f);

  for (const std::uint32_t t : {1, 2, 3, 4}) {
    const bool overflows = t == 2;
    for (run* const first : {&fused, &apart})
      first->backward(10 * t, overflows ? std::optional(run::flat::total() - 7) : std::nullopt);
    of_fused.begin_step();
    of_fused.step(fused.optimizer, {.max_norm = max_norm});
    of_fused.update();
    of_apart.begin_step();
    of_apart.unscale(apart.optimizer, {.max_norm = max_norm});
    of_apart.step(apart.optimizer);
    of_apart.update();

    const step_record record = of_fused.outcome();
    CHECK(record.was_applied() == !overflows);
    CHECK((overflows || record.clip < 1.0f));
    CHECK(of_apart.outcome().clip == record.clip);
    CHECK(of_apart.outcome().scale == record.scale);
    CHECK(apart.read() == fused.read());
    CHECK(fused.gradients.memory.read() == fused.gradients.content);
  }
  CHECK(fused.optimizer.steps() == 3);
  CHECK(apart.canaries_are_alive());
}

}  // namespace

TEMPLATE_TEST_CASE("unscaling first and applying then leads to the same bits", "[optimizers]", float16, bfloat16,
                   float32) {
  const engine& engine = any_engine();
  const optimizer_case& test_case = any_case();
  CAPTURE(engine.profile_name(), test_case.name);
  check_unscaling_first<TestType>(engine, test_case.settings);
}

TEMPLATE_TEST_CASE("unscaling first leads to the same bits where norms of tensors count", "[optimizers]", float16,
                   float32) {
  const engine& engine = any_engine();
  const optimizer_case& test_case = any_tensor_wise_case();
  CAPTURE(engine.profile_name(), test_case.name);
  check_unscaling_first<TestType>(engine, test_case.settings);
}

TEST_CASE("16-bit gradients cannot be unscaled without a shadow", "[optimizers]") {
  const engine& engine = all_engines().front();
  training<float16, float16> run(engine, sgd{}, 0);
  loss_scaler scaler(engine);
  scaler.begin_step();
  CHECK_THROWS_MATCHES(scaler.unscale(run.optimizer), misuse_error,
                       Catch::Matchers::MessageMatches(Catch::Matchers::ContainsSubstring("unscaled_shadow")));
}
