// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.hpp"
#include "bench/optimizers.hpp"

namespace syclamp::bench {

result measure_inspect(const engine& on, element_type type, const settings& with);
result measure_norm(const engine& on, element_type type, const settings& with);
result measure_details(const engine& on, element_type type, const settings& with);
result measure_unscale(const engine& on, element_type type, const settings& with);
result measure_scale(const engine& on, element_type type, const settings& with);
result measure_cast(const engine& on, element_type type, const settings& with);
result measure_accumulate(const engine& on, element_type type, const settings& with);
result measure_inspect_unscale(const engine& on, element_type type, const settings& with);
result measure_clip(const engine& on, element_type type, const settings& with);
result measure_clear(const engine& on, element_type type, const settings& with);

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
    for (auto& one : optimizer_operations()) list.push_back(std::move(one));
    return list;
  }();
  return all;
}

}  // namespace syclamp::bench
