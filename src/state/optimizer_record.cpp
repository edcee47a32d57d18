// SPDX-License-Identifier: Apache-2.0
#include "state/optimizer_record.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "engine/command_queue.hpp"
#include "optimizer/optimizer_parts.hpp"
#include "scaler/snapshot_check.hpp"
#include "state/codec/state_codec.hpp"
#include "support/printable.hpp"
#include "syclamp/error.hpp"

namespace SYCLAMP_NAMESPACE {

namespace {

using kernels::weight_storage;
using state_codec::refuse;

/// Limit of step counts, far from 2^64, where they would wrap. At one step per microsecond, it is reached after 300
/// years. The limit for files is half of it, so that a loaded state can be saved again.
constexpr std::uint64_t max_steps = 2 * max_loaded_steps;

/// Checks a group before it is saved and after it was read.
void check_group(const std::string& kind, const group_record& group, std::uint64_t most, const std::string& path) {
  std::string part = ".hyper";
  try {
    check(kind, group.hyper);
    part = ".schedule";
    check(group.schedule);
  } catch (const invalid_argument& wrong) {
    refuse(path + part, fmt::format("cannot be used: {}", wrong.what()));
  }
  if (group.applied > most) refuse(path + ".applied", group.applied, fmt::format("at most {}", most));
}

}  // namespace

std::uint64_t optimizer_record::bytes() const {
  std::uint64_t sum = 0;
  for (const group_record& group : groups)
    sum +=
        group.elements * (sizeof(float) * (has_copies ? 2 : 1) + std::uint64_t{states} * bytes_per_element(moments)) +
        group.sizes.size() * sizeof(float);
  return sum;
}

optimizer_record record_of(const optimizer_parts& parts) {
  optimizer_record record{.kind = std::string(parts.rule.name),
                          .kernel = std::string(parts.rule.step->name),
                          .states = parts.rule.states(),
                          .moments = parts.storage.moments,
                          .is_stochastic = parts.storage.rounding_mode == rounding::stochastic,
                          .groups = {}};
  record.has_copies = record.is_stochastic && std::any_of(parts.slots.begin(), parts.slots.end(), has_copy);
  std::vector<kernels::parameter_group> groups(parts.host_groups.size());
  kernels::optimizer_memory memory{};
  command_queue(parts.engine).memcpy(groups.data(), parts.groups, groups.size() * sizeof groups[0]);
  command_queue(parts.engine).memcpy(&memory, parts.memory, sizeof memory);
  parts.engine.wait();
  record.seed = memory.seed;
  for (const kernels::parameter_group& group : groups) {
    record.groups.push_back({group.hyper, group.schedule, group.applied, 0, {}});
    check_group(record.kind, record.groups.back(), max_steps,
                fmt::format("group {} of an optimizer", record.groups.size() - 1));
  }
  for (std::size_t i = 0; i < parts.parameters.size(); ++i) {
    group_record& group = record.groups[parts.parameters[i].group];
    group.elements += parts.count(i);
    if (parts.rule.has_tensor_moments) group.sizes.push_back(parts.count(i));
    if (group.sizes.size() > max_elements)
      throw invalid_argument(
          fmt::format("checkpoint: a group of an optimizer with moments per tensor may have at most {} tensors, but "
                      "this one has more; use more groups",
                      max_elements));
  }
  if (record.groups.size() > max_elements)
    throw invalid_argument(
        fmt::format("checkpoint: an optimizer may have at most {} groups, but this one has {}; use fewer groups",
                    max_elements, record.groups.size()));
  return record;
}

json encode(const optimizer_record& record) { return state_codec::encode_fields(record); }

optimizer_record decode_optimizer(const json& from, const std::string& path, std::uint32_t version) {
  optimizer_record record;
  state_codec::decode_fields(from, record, path, version);
  for (std::size_t i = 0; i < record.groups.size(); ++i)
    check_group(record.kind, record.groups[i], max_loaded_steps, fmt::format("{}.groups[{}]", path, i));
  return record;
}

void check_fits(const optimizer_record& saved, const optimizer_record& here, const std::string& path) {
  if (saved.kind != here.kind || saved.kernel != here.kernel || saved.states != here.states)
    refuse(path,
           fmt::format("was saved by {} ({}), but is loaded into {} ({}); make the optimizer with the same settings",
                       saved.kind, printable(saved.kernel), here.kind, here.kernel));
  if (saved.moments != here.moments && here.moments != element_type::float32)
    refuse(path,
           fmt::format(
               "has {} moments, which would be rounded to {}; make the optimizer with storage_options::moments = {}",
               to_string(saved.moments), to_string(here.moments), to_string(saved.moments)));
  if (saved.moments != element_type::float32 && saved.moments != element_type::bfloat16)
    refuse(path, fmt::format("has {} moments; they must be float32 or bfloat16", to_string(saved.moments)));
  if (saved.groups.size() != here.groups.size())
    refuse(path,
           fmt::format(
               "was saved with {} groups, but is loaded into {}; make the optimizer with the same number of groups",
               saved.groups.size(), here.groups.size()));
  for (std::size_t i = 0; i < saved.groups.size(); ++i) {
    const group_record &from = saved.groups[i], &to = here.groups[i];
    if (from.elements != to.elements)
      refuse(path, fmt::format("was saved with {} parameters in group {}, but is loaded into {}; the total must be "
                               "equal, while sizes of single tensors may differ",
                               from.elements, i, to.elements));
    if (from.sizes == to.sizes) continue;
    if (from.sizes.size() != to.sizes.size())
      refuse(path, fmt::format("was saved with {} tensors in group {}, but is loaded into {}; {} has moments per "
                               "tensor, so every tensor must have the same size",
                               from.sizes.size(), i, to.sizes.size(), here.kind));
    const auto [a, b] = std::mismatch(from.sizes.begin(), from.sizes.end(), to.sizes.begin());
    refuse(path, fmt::format("was saved with {} elements in tensor {} of group {}, but is loaded into {}; {} has "
                             "moments per tensor, so every tensor must have the same size",
                             *a, a - from.sizes.begin(), i, *b, here.kind));
  }
}

}  // namespace SYCLAMP_NAMESPACE
