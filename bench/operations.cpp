// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.hpp"
#include "bench/optimizers.hpp"

namespace syclamp::bench {

result measure_inspect(const engine& engine, element_type type, const settings& options);
result measure_norm(const engine& engine, element_type type, const settings& options);
result measure_details(const engine& engine, element_type type, const settings& options);
result measure_unscale(const engine& engine, element_type type, const settings& options);
result measure_scale(const engine& engine, element_type type, const settings& options);
result measure_cast(const engine& engine, element_type type, const settings& options);
result measure_accumulate(const engine& engine, element_type type, const settings& options);
result measure_inspect_unscale(const engine& engine, element_type type, const settings& options);
result measure_clip(const engine& engine, element_type type, const settings& options);
result measure_clear(const engine& engine, element_type type, const settings& options);

const std::vector<std::pair<std::string, operation>>& operations() {
  static const std::vector<std::pair<std::string, operation>> all = [] {
    std::vector<std::pair<std::string, operation>> list = {
        {"inspect", measure_inspect},
        {"norm", measure_norm},
        {"inspect_tensors", measure_details},
        {"inspect_unscale", measure_inspect_unscale},
        {"unscale", measure_unscale},
        {"scale", measure_scale},
        {"cast", measure_cast},
        {"accumulate", measure_accumulate},
        {"clip", measure_clip},
        {"clear", measure_clear},
    };
    for (auto& entry : optimizer_operations()) list.push_back(std::move(entry));
    return list;
  }();
  return all;
}

}  // namespace syclamp::bench
