// SPDX-License-Identifier: Apache-2.0
#include "tensors/memory_extents.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace SYCLAMP_NAMESPACE {
namespace {

bool begins_before(const memory_extent& a, const memory_extent& b) { return a.begin < b.begin; }

/// Sorts by digits of the distance from the lowest address, the last digit first.
void sort_by_digits(std::vector<memory_extent>& extents) {
  constexpr unsigned digit_bits = 11;
  constexpr std::size_t digits = std::size_t{1} << digit_bits;
  const auto [low, high] = std::minmax_element(extents.begin(), extents.end(), begins_before);
  const std::uint64_t lowest = low->begin, range = high->begin - lowest;
  std::vector<memory_extent> other(extents.size());
  for (unsigned shift = 0; shift < 64 && range >> shift != 0; shift += digit_bits) {
    std::array<std::uint32_t, digits> places{};
    const auto digit = [&](const memory_extent& extent) { return (extent.begin - lowest) >> shift & (digits - 1); };
    for (const memory_extent& extent : extents) ++places[digit(extent)];
    std::uint32_t sum = 0;
    for (std::uint32_t& place : places) {
      const std::uint32_t count = place;
      place = sum;
      sum += count;
    }
    for (const memory_extent& extent : extents) other[places[digit(extent)]++] = extent;
    extents.swap(other);
  }
}

}  // namespace

void sort_extents(std::vector<memory_extent>& extents) {
  constexpr std::size_t few = 256;
  if (std::is_sorted(extents.begin(), extents.end(), begins_before)) return;
  if (extents.size() < few)
    std::sort(extents.begin(), extents.end(), begins_before);
  else
    sort_by_digits(extents);
}

void sorted_extents(std::span<const std::uint64_t> addresses, std::span<const std::uint64_t> bytes,
                    std::vector<memory_extent>& extents) {
  extents.clear();
  extents.reserve(addresses.size());
  for (std::size_t i = 0; i < addresses.size(); ++i)
    if (addresses[i] != 0 && bytes[i] != 0)
      extents.push_back({addresses[i], addresses[i] + bytes[i], static_cast<std::uint32_t>(i)});
  sort_extents(extents);
}

overlap overlap_within(std::span<const memory_extent> extents) {
  const memory_extent* farthest = nullptr;  // of those so far
  for (const memory_extent& extent : extents) {
    if (farthest != nullptr && extent.begin < farthest->end) return {farthest, &extent};
    if (farthest == nullptr || extent.end > farthest->end) farthest = &extent;
  }
  return {};
}

overlap overlap_between(std::span<const memory_extent> first, std::span<const memory_extent> other) {
  std::size_t next = 0;
  for (const memory_extent& each : first) {
    while (next != other.size() && other[next].end <= each.begin) ++next;
    if (next != other.size() && other[next].begin < each.end) return {&each, &other[next]};
  }
  return {};
}

}  // namespace SYCLAMP_NAMESPACE
