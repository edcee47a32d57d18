// SPDX-License-Identifier: Apache-2.0
#include "tensors/list_checks.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "syclamp/error.hpp"
#include "tensors/tensor_table.hpp"

namespace SYCLAMP_NAMESPACE {
namespace {

[[noreturn]] void refuse_overlap(const char* operation, const tensor_list& in, const tensor_list& out,
                                 std::size_t written, std::size_t other, bool is_other_output) {
  throw invalid_argument(fmt::format(
      "{}: the output {} overlaps the {} {}; use separate memory, or exactly the same address, size and type",
      operation, described(out, written), is_other_output ? "output" : "input",
      described(is_other_output ? out : in, other)));
}

/// Extents are visited in the order of their addresses, so an overlap is always with an extent that was visited before.
/// \return whether some tensors are the very same in both lists
bool check_overlaps(const char* operation, const tensor_list& in, const tensor_list& out) {
  const auto &from = in.prepared(), &to = out.prepared();
  const auto &inputs = from.extents(), &outputs = to.extents();
  const memory_extent *input = nullptr, *output = nullptr;  // of the extents visited so far, those with the highest end
  const auto reaches = [](const memory_extent* extent, const memory_extent& beyond) {
    return extent != nullptr && beyond.begin < extent->end;
  };
  bool shares = false;
  for (std::size_t i = 0, o = 0; i != inputs.size() || o != outputs.size();) {
    const bool is_output = i == inputs.size() || (o != outputs.size() && outputs[o].begin <= inputs[i].begin);
    const memory_extent& extent = is_output ? outputs[o++] : inputs[i++];
    if ((is_output ? from : to).host_addresses[extent.index] == 0) continue;  // absent there: left out by the operation
    const bool is_in_place = from.host_addresses[extent.index] == to.host_addresses[extent.index] &&
                             in[extent.index].type() == out[extent.index].type();
    shares = shares || is_in_place;
    if (is_in_place && !is_output) continue;
    if (reaches(output, extent))
      refuse_overlap(operation, in, out, is_output ? extent.index : output->index,
                     is_output ? output->index : extent.index, is_output);
    if (is_output && reaches(input, extent)) refuse_overlap(operation, in, out, extent.index, input->index, false);
    const memory_extent*& farthest = is_output ? output : input;
    if (farthest == nullptr || extent.end > farthest->end) farthest = &extent;
  }
  return shares;
}

}  // namespace

std::string described(std::size_t index, const std::string& name) {
  return name.empty() ? fmt::format("tensor {}", index) : fmt::format("tensor {} (\"{}\")", index, name);
}

std::string described(const tensor_list& list, std::size_t index) { return described(index, list.name(index)); }

void refuse_read_only(const char* operation, const tensor_list& list, std::size_t index) {
  throw invalid_argument(
      fmt::format("{}: {} is read-only, because it was given as a pointer to const; pass a pointer to non-const",
                  operation, described(list, index)));
}

void check_writable(const char* operation, const tensor_list& list) {
  const std::vector<bool>& read_only = *list.prepared().read_only;
  const auto found = std::find(read_only.begin(), read_only.end(), true);
  if (found != read_only.end()) refuse_read_only(operation, list, static_cast<std::size_t>(found - read_only.begin()));
}

void check_sizes(const char* operation, const tensor_list& in, const tensor_list& out) {
  if (in.get_engine().queue() != out.get_engine().queue())
    throw invalid_argument(
        fmt::format("{}: the lists belong to different queues; make both with the same engine", operation));
  if (in.size() != out.size())
    throw invalid_argument(fmt::format("{}: the lists have {} and {} tensors; pass lists of equal length", operation,
                                       in.size(), out.size()));
  check_writable(operation, out);
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (in[i].count() != out[i].count())
      throw invalid_argument(
          fmt::format("{}: {} has {} elements in one list and {} in the other; pass lists with equal sizes", operation,
                      described(in, i), in[i].count(), out[i].count()));
    if (out[i].type() == element_type::float64)
      throw invalid_argument(
          fmt::format("{}: {} is float64, which syclamp reads but does not write; make the output float32", operation,
                      described(out, i)));
  }
}

bool check_pair(const char* operation, const tensor_list& in, const tensor_list& out) {
  constexpr std::size_t remembered = 8;
  const auto &from = in.prepared(), &to = out.prepared();
  auto known = std::find_if(to.fits.begin(), to.fits.end(), [&](const auto& fit) { return fit.other_id == from.id; });
  if (known == to.fits.end()) {
    check_sizes(operation, in, out);
    if (to.fits.size() == remembered) to.fits.erase(to.fits.begin());
    to.fits.reserve(remembered);
    known = to.fits.insert(to.fits.end(), {from.id, 0, 0, false});  // sizes stay as they are; versions begin at 1
  }
  if (known->other_version == from.version && known->version == to.version) return known->shares;
  known->shares = check_overlaps(operation, in, out);
  known->other_version = from.version;
  known->version = to.version;
  return known->shares;
}

std::optional<std::pair<std::size_t, std::size_t>> shared_memory_of(const tensor_list& list, const tensor_list& other) {
  const auto &first = list.prepared().extents(), &second = other.prepared().extents();
  const memory_extent *of_first = nullptr,
                      *of_second = nullptr;  // of the extents visited so far, those with the highest end
  for (std::size_t i = 0, o = 0; i != first.size() || o != second.size();) {
    const bool is_first = o == second.size() || (i != first.size() && first[i].begin <= second[o].begin);
    const memory_extent& next = is_first ? first[i++] : second[o++];
    const memory_extent* before = is_first ? of_second : of_first;
    if (before != nullptr && next.begin < before->end)
      return is_first ? std::pair<std::size_t, std::size_t>(next.index, before->index)
                      : std::pair<std::size_t, std::size_t>(before->index, next.index);
    const memory_extent*& farthest = is_first ? of_first : of_second;
    if (farthest == nullptr || next.end > farthest->end) farthest = &next;
  }
  return {};
}

void check_float32(const char* operation, const tensor_list& list, const char* remedy) {
  if (list.is_all(element_type::float32)) return;
  for (std::size_t i = 0; i < list.size(); ++i)
    if (list[i].type() != element_type::float32)
      throw invalid_argument(fmt::format("{}: {} is {}, but must be float32; {}", operation, described(list, i),
                                         to_string(list[i].type()), remedy));
}

void check_unscaling(const tensor_list& in, const tensor_list& out) {
  check_pair("unscale", in, out);
  check_float32("unscale", out, "unscaled gradients vanish in 16 bits; give it an FP32 shadow");
}

}  // namespace SYCLAMP_NAMESPACE
