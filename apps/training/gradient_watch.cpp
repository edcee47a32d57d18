// SPDX-License-Identifier: Apache-2.0
#include "apps/training/gradient_watch.hpp"

#include <algorithm>
#include <cmath>

namespace syclamp::training {
namespace {

tensor_list with_output(const engine& engine, const tensor_list& weights, const const_array_view& output) {
  std::vector<tensor> all;
  for (std::size_t i = 0; i < weights.size(); ++i) all.push_back({.data = weights[i], .name = weights.name(i)});
  all.push_back({.data = output, .name = "output"});
  return {engine, all};
}

exponent_result exponents_of(const exponent_histogram& bins, const inspection& all, std::uint64_t step) {
  exponent_result result{.step = step, .zeros = all.zero_count, .infs = all.inf_count, .nans = all.nan_count};
  const auto first = std::begin(bins.counts), last = std::end(bins.counts) - 1;  // the last bin is not finite
  const auto is_used = [](std::uint64_t count) { return count != 0; };
  const auto low = std::find_if(first, last, is_used);
  if (low == last) return result;
  const auto high = std::find_if(std::make_reverse_iterator(last), std::make_reverse_iterator(low), is_used).base();
  result.lowest = static_cast<int>(low - first) - exponent_histogram::bias;
  result.counts.assign(low, high);
  return result;
}

}  // namespace

gradient_watch::gradient_watch(const engine& engine, const tensor_list& weights, const const_array_view& output)
    : inspector_(with_output(engine, weights, output), inspection_level::histogram) {}

void gradient_watch::record(std::uint64_t step, run_result& result) const {
  inspector_.run();
  const tensor_list& list = inspector_.list();
  const auto inspected = inspector_.tensors();
  result.tensors.resize(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    tensor_result& tensor = result.tensors[i];
    tensor.name = list.name(i);
    tensor.elements = inspected[i].elements;
    tensor.zeros += static_cast<double>(inspected[i].zero_count);
    tensor.subnormals += static_cast<double>(inspected[i].subnormal_count);
    const auto amax = static_cast<double>(inspected[i].amax);
    if (std::isfinite(amax)) tensor.amax = std::max(tensor.amax, amax);
  }
  ++result.looks;
  result.exponents = exponents_of(inspector_.histogram(), inspector_.result(), step);
}

void gradient_watch::need_same(const run_result& result) const {
  const tensor_list& list = inspector_.list();
  const std::vector<tensor_result>& saved = result.tensors;
  bool is_same = saved.size() == (result.looks == 0 ? 0 : list.size());
  for (std::size_t i = 0; is_same && i < saved.size(); ++i)
    is_same = saved[i].name == list.name(i) && saved[i].elements == list[i].count();
  if (!is_same) throw invalid_argument("its notes describe other tensors than those of this model");
}

}  // namespace syclamp::training
