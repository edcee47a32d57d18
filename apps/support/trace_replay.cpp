// SPDX-License-Identifier: Apache-2.0
#include "apps/support/trace_replay.hpp"

#include <cstddef>
#include <cstdint>

namespace syclamp::program {

std::vector<simulated_result> replay_on_host(const scaling_policy& policy, const std::vector<simulated_step>& steps) {
  scaler_snapshot scaler = scaler_snapshot::fresh(policy);
  std::vector<simulated_result> results;
  results.reserve(steps.size());
  for (const simulated_step& step : steps) results.push_back(simulate_step(scaler, step));
  return results;
}

std::vector<simulated_result> replay_on_device(const engine& engine, const scaling_policy& policy,
                                               const std::vector<simulated_step>& steps) {
  constexpr std::size_t elements = 64, kinds = 4;
  constexpr std::uint16_t infinity = 0x7c00, nan = 0x7e00;  // of FP16
  std::vector<std::uint16_t> content(elements * kinds, 0);  // one tensor for each OR of flags
  for (std::size_t flags = 1; flags < kinds; ++flags) {
    if ((flags & found_inf) != 0) content[flags * elements] = infinity;
    if ((flags & found_nan) != 0) content[flags * elements + 1] = nan;
  }
  const device_array memory(engine, content);
  tensor_list gradients(engine, array_view(memory.data(), elements, element_type::float16));

  constexpr std::size_t drained = 1024;
  loss_scaler scaler(engine, policy, {.ledger = drained});
  std::vector<simulated_result> results;
  scaler.on_step([&](const ledger_entry& entry) {
    const step_record& record = entry.record;
    results.push_back({record.scale, record.next_scale, record.outcome, record.status});
  });
  for (std::size_t i = 0; i < steps.size(); ++i) {
    gradients.set_address(0, memory.data() + elements * (steps[i].flags % kinds));
    scaler.begin_step();
    scaler.inspect(gradients);
    scaler.update();
    if ((i + 1) % drained == 0) {
      engine.wait();
      scaler.report();
    }
  }
  engine.wait();
  scaler.report();
  return results;
}

}  // namespace syclamp::program
