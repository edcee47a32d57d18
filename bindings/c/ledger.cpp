// SPDX-License-Identifier: Apache-2.0
#include "syclamp/c/ledger.h"

#include <algorithm>
#include <vector>

#include "bindings/c/conversions.hpp"
#include "bindings/c/structs.hpp"
#include "syclamp/ledger.hpp"
#include "syclamp/simulation.hpp"

using namespace syclamp::c;

syclamp_status syclamp_ledger_read(const char* text, syclamp_step_record* records, size_t capacity, size_t* count) {
  return guarded(__func__, [&] {
    need(text, "text");
    const size_t size = result_size(records, capacity, "records");
    const std::vector<syclamp::ledger_entry> ledger = syclamp::read_ledger(text);
    if (size != 0)
      for (size_t i = 0; i < std::min(capacity, ledger.size()); ++i)
        write_struct(element(records, i, size), from_record(ledger[i].record, ledger[i].first_nonfinite_name), size);
    if (count != nullptr) *count = ledger.size();
  });
}

syclamp_status syclamp_ledger_replay(const char* text, const syclamp_policy* policy, syclamp_replay_report* report,
                                     syclamp_simulated_step* results, size_t capacity) {
  return guarded(__func__, [&] {
    need(text, "text");
    const size_t size = checked_size(report, "report");
    const size_t result_bytes = result_size(results, capacity, "results");
    const syclamp::scaling_policy chosen = to_policy(policy);
    const syclamp::replay_report found = syclamp::replay_ledger(syclamp::read_ledger(text), chosen);
    if (result_bytes != 0)
      for (size_t i = 0; i < std::min(capacity, found.results.size()); ++i)
        write_struct(element(results, i, result_bytes), from_simulated(found.results[i]), result_bytes);
    write_struct(report,
                 {.struct_size = size,
                  .steps = found.steps,
                  .skips = found.skips,
                  .recorded_skips = found.recorded_skips,
                  .zero_share = found.zero_share,
                  .subnormal_share = found.subnormal_share,
                  .final_scale = found.final_scale,
                  .max_safe_scale = found.max_safe_scale},
                 size);
  });
}
