// SPDX-License-Identifier: Apache-2.0
#include "syclamp/inspector.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "device_memory.hpp"
#include "launch/kernel_library.hpp"
#include "launch/operations.hpp"
#include "list_checks.hpp"
#include "syclamp/error.hpp"
#include "syclamp/gradients.hpp"
#include "tensor_table.hpp"
#include "unscaled_maker.hpp"

namespace syclamp {
namespace {

/// What is kept for an inspection with details.
struct tensor_details {
  explicit tensor_details(const tensor_list& list, detail level)
      : groups(list.groups()),
        of_tensors(allocate_on_device<inspection>(list.on().queue(), list.size())),
        of_groups(allocate_on_device<inspection>(list.on().queue(), groups)),
        members(allocate_on_device<std::uint32_t>(list.on().queue(), list.size())),
        group_starts(allocate_on_device<std::uint32_t>(list.on().queue(), groups + std::size_t{1})) {
    std::vector<std::uint32_t> order(list.size()), starts(groups + std::size_t{1});
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(),
              [&](auto a, auto b) { return std::pair(list.group(a), a) < std::pair(list.group(b), b); });
    for (const auto tensor : order) ++starts[list.group(tensor) + std::size_t{1}];
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    sycl::queue& queue = list.on().queue();
    if (!order.empty()) queue.memcpy(members.get(), order.data(), order.size() * sizeof order[0]);
    queue.memcpy(group_starts.get(), starts.data(), starts.size() * sizeof starts[0]);
    if (level == detail::histogram) histogram = allocate_on_device<exponent_histogram>(queue, 1);
    queue.wait();
  }

  std::uint32_t groups;
  device_array<inspection> of_tensors, of_groups;
  device_array<std::uint32_t> members, group_starts;
  device_array<exponent_histogram> histogram;
};

}  // namespace

struct inspector::state {
  state(tensor_list of, detail level)
      : list(std::move(of)),
        findings(allocate_on_device<kernels::chunk_findings>(
            list.on().queue(), list.prepared().chunks + (level == detail::list ? 0 : list.size()))),
        result(allocate_on_device<inspection>(list.on().queue(), 1)) {
    if (level != detail::list) details.emplace(list, level);
    list.on().kernels().prepare(details ? static_cast<const launch::operation_base&>(launch::inspect_pieces)
                                        : launch::inspect_chunks);
    if (level == detail::histogram) list.on().kernels().prepare(launch::count_exponents);
  }

  sycl::event add_up(const float* scale) const {
    const auto& table = list.prepared();
    return list.on().kernels().submit(list.on().queue(), launch::inspect_total, 1, findings.get(), table.starts,
                                      table.tensors, scale, result.get(), sticky);
  }

  sycl::event inspect_details(const float* scale) const {
    const auto& table = list.prepared();
    launch::kernel_library& library = list.on().kernels();
    sycl::queue& queue = list.on().queue();
    if (details->histogram) count_exponents();
    if (const auto groups = library.groups_for(launch::inspect_pieces, table.chunks); groups != 0)
      library.submit(queue, launch::inspect_pieces, groups, table.addresses, table.starts, table.kinds, table.tensors,
                     findings.get());
    if (const auto groups = library.groups_for(launch::inspect_tensors, table.tensors); groups != 0)
      library.submit(queue, launch::inspect_tensors, groups, findings.get(), table.addresses, table.starts, table.kinds,
                     table.tensors, scale, details->of_tensors.get());
    const auto groups = library.groups_for(launch::inspect_groups, details->groups + std::uint64_t{1});
    return library.submit(queue, launch::inspect_groups, groups, details->of_tensors.get(), table.tensors,
                          details->members.get(), details->group_starts.get(), details->groups, scale,
                          details->of_groups.get(), result.get(), sticky);
  }

  void count_exponents() const {
    const auto& table = list.prepared();
    launch::kernel_library& library = list.on().kernels();
    list.on().queue().memset(details->histogram.get(), 0, sizeof(exponent_histogram));
    if (const auto groups = library.groups_for(launch::count_exponents, table.chunks); groups != 0)
      library.submit(list.on().queue(), launch::count_exponents, groups, table.addresses, table.starts, table.kinds,
                     table.tensors, details->histogram.get());
  }

  template <typename T>
  std::vector<T> read(const T* from, std::size_t count) const {
    std::vector<T> values(count);
    if (count != 0) list.on().queue().memcpy(values.data(), from, count * sizeof(T));
    list.on().wait();
    return values;
  }

  void need(bool there, const char* what, const char* level) const {
    if (!there)
      throw invalid_argument(
          fmt::format("this inspector does not tell {}; make it with detail::{} as its second argument", what, level));
  }

  tensor_list list;
  device_array<kernels::chunk_findings> findings;
  device_array<inspection> result;
  std::optional<tensor_details> details;
  std::uint32_t* sticky = nullptr;
};

inspector::inspector(tensor_list list, detail level) : state_(std::make_shared<state>(std::move(list), level)) {}

sycl::event inspector::operator()(const float* scale) const {
  if (state_->details) return state_->inspect_details(scale);
  const auto& table = state_->list.prepared();
  const engine& on = state_->list.on();
  if (const auto groups = on.kernels().groups_for(launch::inspect_chunks, table.chunks); groups != 0)
    on.kernels().submit(on.queue(), launch::inspect_chunks, groups, table.addresses, table.starts, table.kinds,
                        table.tensors, state_->findings.get());
  return state_->add_up(scale);
}

unscaled_gradients inspector::unscale(const tensor_list& out, const float* scale) const {
  const tensor_list& list = state_->list;
  check_given("unscale", "scale", scale);
  check_unscaling(list, out);
  if (state_->details) {
    (*this)(scale);
    return syclamp::unscale(list, out, scale);
  }
  const auto &table = list.prepared(), &to = out.prepared();
  const engine& on = list.on();
  if (const auto groups = on.kernels().groups_for(launch::unscale_chunks, table.chunks); groups != 0)
    on.kernels().submit(on.queue(), launch::unscale_chunks, groups, table.addresses, table.starts, table.kinds,
                        table.tensors, state_->findings.get(), to.addresses, scale);
  return unscaled_maker::make(out, state_->add_up(scale));
}

void inspector::report_to(std::uint32_t* findings) const { state_->sticky = findings; }

const tensor_list& inspector::list() const { return state_->list; }
const inspection* inspector::device_result() const { return state_->result.get(); }
const inspection* inspector::device_tensors() const {
  return state_->details ? state_->details->of_tensors.get() : nullptr;
}
const inspection* inspector::device_groups() const {
  return state_->details ? state_->details->of_groups.get() : nullptr;
}
const exponent_histogram* inspector::device_histogram() const {
  return state_->details ? state_->details->histogram.get() : nullptr;
}

inspection inspector::result() const { return state_->read(device_result(), 1).front(); }

std::vector<inspection> inspector::tensors() const {
  state_->need(device_tensors() != nullptr, "about each tensor", "tensors");
  return state_->read(device_tensors(), state_->list.size());
}

std::vector<inspection> inspector::groups() const {
  state_->need(device_groups() != nullptr, "about groups", "tensors");
  return state_->read(device_groups(), state_->details->groups);
}

exponent_histogram inspector::histogram() const {
  state_->need(device_histogram() != nullptr, "exponents", "histogram");
  return state_->read(device_histogram(), 1).front();
}

sycl::event reset_findings(const engine& on, std::uint32_t* findings) {
  check_given("reset_findings", "findings", findings);
  return on.queue().memset(findings, 0, sizeof *findings);
}

inspection inspect(const engine& on, array_view array) {
  const inspector look(tensor_list(on, array));
  look();
  return look.result();
}

}  // namespace syclamp
