// SPDX-License-Identifier: Apache-2.0
#include "tensors/inspection_workspace.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "engine/command_queue.hpp"
#include "launch/kernel_library.hpp"
#include "launch/operations.hpp"
#include "tensors/tensor_table.hpp"

namespace SYCLAMP_NAMESPACE {

inspection_workspace::details::details(const tensor_list& tensors, inspection_level level, std::uint32_t min_groups)
    : groups(std::max(tensors.groups(), min_groups)),
      tensor_results(allocate_on_device<inspection>(tensors.get_engine().queue(), tensors.size())),
      group_results(allocate_on_device<inspection>(tensors.get_engine().queue(), groups)),
      members(allocate_on_device<std::uint32_t>(tensors.get_engine().queue(), tensors.size())),
      group_starts(allocate_on_device<std::uint32_t>(tensors.get_engine().queue(), groups + std::size_t{1})) {
  std::vector<std::uint32_t> order(tensors.size()), starts(groups + std::size_t{1});
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(),
            [&](auto a, auto b) { return std::pair(tensors.group(a), a) < std::pair(tensors.group(b), b); });
  for (const auto tensor : order) ++starts[tensors.group(tensor) + std::size_t{1}];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  const command_queue queue(tensors.get_engine());
  if (!order.empty()) queue.memcpy(members.get(), order.data(), order.size() * sizeof order[0]);
  queue.memcpy(group_starts.get(), starts.data(), starts.size() * sizeof starts[0]);
  if (level == inspection_level::histogram) histogram = allocate_on_device<exponent_histogram>(queue, 1);
  tensors.get_engine().wait();
}

inspection_workspace::inspection_workspace(tensor_list tensors, inspection_level level, std::uint32_t min_groups)
    : tensors_(std::move(tensors)),
      statistics_(allocate_on_device<kernels::chunk_statistics>(
          tensors_.get_engine().queue(),
          tensors_.prepared().chunks + (level == inspection_level::list ? 0 : tensors_.size()))),
      result_(allocate_on_device<inspection>(tensors_.get_engine().queue(), 1)) {
  if (level != inspection_level::list) details_.emplace(tensors_, level, min_groups);
}

void inspection_workspace::prepare_kernels() const {
  launch::kernel_library& library = tensors_.get_engine().kernels();
  if (!details_) return library.prepare(launch::inspect_chunks);
  library.prepare(launch::inspect_pieces);
  if (details_->histogram) library.prepare(launch::count_exponents);
}

sycl::event inspection_workspace::inspect(const kernels::scalar_argument& scale, std::uint32_t stride,
                                          bool adds_replicated) const {
  if (details_) return inspect_details(scale, scale.address != nullptr ? stride : 0, adds_replicated);
  inspect_chunks();
  return add_up(scale);
}

void inspection_workspace::inspect_chunks() const {
  const auto& table = tensors_.prepared();
  launch::kernel_library& library = tensors_.get_engine().kernels();
  if (const auto groups = library.groups_for(launch::inspect_chunks, table.chunks); groups != 0)
    library.submit(tensors_.get_engine().queue(), launch::inspect_chunks, groups, table.addresses, table.starts,
                   table.kinds, table.tensors, statistics_.get());
}

void inspection_workspace::unscale_chunks(const tensor_list& unscaled, const kernels::scalar_argument& scale) const {
  const auto &table = tensors_.prepared(), &output = unscaled.prepared();
  launch::kernel_library& library = tensors_.get_engine().kernels();
  if (const auto groups = library.groups_for(launch::unscale_chunks, table.chunks); groups != 0)
    library.submit(tensors_.get_engine().queue(), launch::unscale_chunks, groups, table.addresses, table.starts,
                   table.kinds, table.tensors, statistics_.get(), output.addresses, scale.address, scale.value);
}

sycl::event inspection_workspace::add_up(const kernels::scalar_argument& scale) const {
  const auto& table = tensors_.prepared();
  return tensors_.get_engine().kernels().submit(tensors_.get_engine().queue(), launch::inspect_total, 1,
                                                statistics_.get(), table.starts, table.tensors, scale.address,
                                                scale.value, result_.get());
}

sycl::event inspection_workspace::inspect_details(const kernels::scalar_argument& scale, std::uint32_t stride,
                                                  bool adds_replicated) const {
  const auto& table = tensors_.prepared();
  launch::kernel_library& library = tensors_.get_engine().kernels();
  sycl::queue& queue = tensors_.get_engine().queue();
  if (details_->histogram) count_exponents();
  if (const auto groups = library.groups_for(launch::inspect_pieces, table.chunks); groups != 0)
    library.submit(queue, launch::inspect_pieces, groups, table.addresses, table.starts, table.kinds, table.tensors,
                   statistics_.get());
  if (const auto groups = library.groups_for(launch::inspect_tensors, table.tensors); groups != 0)
    library.submit(queue, launch::inspect_tensors, groups, statistics_.get(), table.addresses, table.starts,
                   table.kinds, table.tensors, scale.address, scale.value, stride, details_->tensor_results.get());
  const auto groups = library.groups_for(launch::inspect_groups, details_->groups + std::uint64_t{1});
  return library.submit(queue, launch::inspect_groups, groups, details_->tensor_results.get(), table.tensors,
                        details_->members.get(), details_->group_starts.get(), details_->groups, scale.address,
                        scale.value, stride, adds_replicated ? nullptr : table.kinds, details_->group_results.get(),
                        result_.get());
}

void inspection_workspace::count_exponents() const {
  const auto& table = tensors_.prepared();
  launch::kernel_library& library = tensors_.get_engine().kernels();
  const command_queue queue(tensors_.get_engine());
  queue.memset(details_->histogram.get(), 0, sizeof(exponent_histogram));
  if (const auto groups = library.groups_for(launch::count_exponents, table.chunks); groups != 0)
    library.submit(queue, launch::count_exponents, groups, table.addresses, table.starts, table.kinds, table.tensors,
                   details_->histogram.get());
}

}  // namespace SYCLAMP_NAMESPACE
