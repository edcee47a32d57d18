// SPDX-License-Identifier: Apache-2.0
// An inspector from the inside, for the scaler, which goes on where the first kernel of an inspection ends.
#pragma once

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "engine/device_memory.hpp"
#include "launch/kernel_library.hpp"
#include "launch/operations.hpp"
#include "syclamp/error.hpp"
#include "syclamp/inspector.hpp"
#include "tensors/tensor_table.hpp"

namespace syclamp {

/// What is kept for an inspection with details.
struct tensor_details {
  tensor_details(const tensor_list& list, detail level, std::uint32_t least_groups)
      : groups(std::max(list.groups(), least_groups)),
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

struct inspector::state {
  /// \param least_groups  results are there for so many groups, if it has tensors for them or not
  state(tensor_list of, detail level, std::uint32_t least_groups = 0)
      : list(std::move(of)),
        statistics(allocate_on_device<kernels::chunk_statistics>(
            list.on().queue(), list.prepared().chunks + (level == detail::list ? 0 : list.size()))),
        result(allocate_on_device<inspection>(list.on().queue(), 1)) {
    if (level != detail::list) details.emplace(list, level, least_groups);
  }

  void prepare_kernels() const {
    launch::kernel_library& library = list.on().kernels();
    if (!details) return library.prepare(launch::inspect_chunks);
    library.prepare(launch::inspect_pieces);
    if (details->histogram) library.prepare(launch::count_exponents);
  }

  /// The first kernel: a record for each chunk.
  void look_at_chunks() const {
    const auto& table = list.prepared();
    if (const auto groups = list.on().kernels().groups_for(launch::inspect_chunks, table.chunks); groups != 0)
      list.on().kernels().submit(list.on().queue(), launch::inspect_chunks, groups, table.addresses, table.starts,
                                 table.kinds, table.tensors, statistics.get());
  }

  /// The same, unscaling on the way. The lists have been checked.
  void unscale_chunks(const tensor_list& out, const float* scale) const {
    const auto &table = list.prepared(), &to = out.prepared();
    if (const auto groups = list.on().kernels().groups_for(launch::unscale_chunks, table.chunks); groups != 0)
      list.on().kernels().submit(list.on().queue(), launch::unscale_chunks, groups, table.addresses, table.starts,
                                 table.kinds, table.tensors, statistics.get(), to.addresses, scale);
  }

  /// The second kernel: one result.
  sycl::event add_up(const float* scale) const {
    const auto& table = list.prepared();
    return list.on().kernels().submit(list.on().queue(), launch::inspect_total, 1, statistics.get(), table.starts,
                                      table.tensors, scale, result.get(), sticky);
  }

  /// All kernels of an inspection with details. `stride`: distance between the scales of the groups; 0: one for all.
  sycl::event inspect_details(const float* scale, std::uint32_t stride) const {
    const auto& table = list.prepared();
    launch::kernel_library& library = list.on().kernels();
    sycl::queue& queue = list.on().queue();
    if (details->histogram) count_exponents();
    if (const auto groups = library.groups_for(launch::inspect_pieces, table.chunks); groups != 0)
      library.submit(queue, launch::inspect_pieces, groups, table.addresses, table.starts, table.kinds, table.tensors,
                     statistics.get());
    if (const auto groups = library.groups_for(launch::inspect_tensors, table.tensors); groups != 0)
      library.submit(queue, launch::inspect_tensors, groups, statistics.get(), table.addresses, table.starts,
                     table.kinds, table.tensors, scale, stride, details->of_tensors.get());
    const auto groups = library.groups_for(launch::inspect_groups, details->groups + std::uint64_t{1});
    return library.submit(queue, launch::inspect_groups, groups, details->of_tensors.get(), table.tensors,
                          details->members.get(), details->group_starts.get(), details->groups, scale, stride,
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
  device_array<kernels::chunk_statistics> statistics;
  device_array<inspection> result;
  std::optional<tensor_details> details;
  std::uint32_t* sticky = nullptr;
};

/// The library's own way in.
struct inspector_access {
  /// For a scaler, which knows by itself of which kernels it is in need.
  static inspector for_scales(tensor_list list, std::uint32_t scales) {
    const detail level = scales == 1 ? detail::list : detail::tensors;
    return inspector(make_state<inspector::state>(std::move(list), level, scales));
  }
  static const inspector::state& of(const inspector& one) { return *one.state_; }
};

}  // namespace syclamp
