// SPDX-License-Identifier: Apache-2.0
#include "state/optimizer_state.hpp"

#include <algorithm>
#include <bit>

#include "engine/command_queue.hpp"
#include "engine/device_memory.hpp"
#include "optimizer/optimizer_parts.hpp"

namespace SYCLAMP_NAMESPACE {
namespace {

using kernels::parameter_slot;
using kernels::weight_storage;

constexpr std::uint64_t block_elements = std::uint64_t{1} << 20;

/// A part of one tensor.
struct stretch {
  const parameter_slot& slot;
  std::uint64_t first;
  std::uint64_t count;

  bool is_split() const { return slot.storage == weight_storage::split; }

  std::byte* at(std::uint64_t address, std::size_t element_bytes) const {
    return std::bit_cast<std::byte*>(address) + first * element_bytes;
  }
  array_view model() const { return {at(slot.model, bytes_per_element(slot.model_type)), count, slot.model_type}; }
};

/// The tensors of a group in order, block by block.
template <typename Visit>
void for_each_stretch(const optimizer_parts& parts, std::uint32_t group, Visit visit) {
  for (std::size_t i = 0; i < parts.parameters.size(); ++i) {
    if (parts.parameters[i].group != group) continue;
    const std::uint64_t end = parts.count(i);
    for (std::uint64_t first = 0; first < end; first += block_elements)
      visit(stretch{parts.slots[i], first, std::min(block_elements, end - first)});
  }
}

/// Room for one block on both sides.
class transfer {
 public:
  explicit transfer(const optimizer_parts& parts) : of_(parts), on_(parts.engine) {
    std::uint64_t largest = 1;
    for (std::size_t i = 0; i < parts.parameters.size(); ++i)
      largest = std::max(largest, std::min(parts.count(i), block_elements));
    words_ = allocate_on_host<std::uint32_t>(on_.queue(), largest);
    upper_ = allocate_on_host<std::uint16_t>(on_.queue(), largest);
    lower_ = allocate_on_host<std::uint16_t>(on_.queue(), largest);
    on_device_ = allocate_on_device<float>(on_.queue(), largest);
  }

  void write_weights(const stretch& part, const byte_sink& to) {
    if (part.is_split()) {
      fetch(upper_.get(), part.at(part.slot.model, 2), part.count * 2);
      fetch(lower_.get(), part.at(part.slot.weights, 2), part.count * 2);
      on_.wait();
      for (std::uint64_t i = 0; i < part.count; ++i) words_[i] = joined(upper_[i], lower_[i]);
    } else {
      fetch(words_.get(), part.at(part.slot.weights, sizeof(float)), part.count * sizeof(float));
      on_.wait();
    }
    to(words_.get(), part.count * sizeof(float));
  }

  void read_weights(const stretch& part, const byte_source& from) {
    from(words_.get(), part.count * sizeof(float));
    if (part.is_split()) {
      for (std::uint64_t i = 0; i < part.count; ++i) {
        upper_[i] = static_cast<std::uint16_t>(kernels::upper_half(words_[i]));
        lower_[i] = static_cast<std::uint16_t>(words_[i]);
      }
      fetch(part.at(part.slot.model, 2), upper_.get(), part.count * 2);
      fetch(part.at(part.slot.weights, 2), lower_.get(), part.count * 2);
    } else {
      fetch(part.at(part.slot.weights, sizeof(float)), words_.get(), part.count * sizeof(float));
    }
    on_.wait();
  }

  void write_moment(const stretch& part, std::uint32_t index, const byte_sink& to) {
    const std::size_t size = bytes_per_element(of_.storage.moments);
    fetch(words_.get(), part.at(part.slot.states[index], size), part.count * size);
    on_.wait();
    to(words_.get(), part.count * size);
  }

  void read_moment(const stretch& part, std::uint32_t index, element_type saved, const byte_source& from) {
    const std::size_t size = bytes_per_element(of_.storage.moments);
    if (saved == of_.storage.moments) {
      from(words_.get(), part.count * size);
    } else {  // BF16 in the file, FP32 here
      from(upper_.get(), part.count * 2);
      for (std::uint64_t i = 0; i < part.count; ++i) words_[i] = std::uint32_t{upper_[i]} << 16;
    }
    fetch(part.at(part.slot.states[index], size), words_.get(), part.count * size);
    on_.wait();
  }

  /// What the forward pass reads, as FP32; of weights without a copy, the weights.
  void write_copy(const stretch& part, const byte_sink& to) {
    if (!has_copy(part.slot)) return write_weights(part, to);
    const array_view block{on_device_.get(), part.count};
    cast(tensor_list(on_, part.model()), tensor_list(on_, block));
    fetch(words_.get(), block.data(), part.count * sizeof(float));
    on_.wait();
    to(words_.get(), part.count * sizeof(float));
  }

  void read_copy(const stretch& part, const byte_source& from) {
    from(words_.get(), part.count * sizeof(float));
    if (!has_copy(part.slot)) return;
    const array_view block{on_device_.get(), part.count};
    fetch(on_device_.get(), words_.get(), part.count * sizeof(float));
    cast(tensor_list(on_, block), tensor_list(on_, part.model()));
    on_.wait();
  }

 private:
  void fetch(void* to, const void* from, std::uint64_t bytes) const { command_queue(on_).memcpy(to, from, bytes); }

  const optimizer_parts& of_;
  const engine& on_;
  usm_array<std::uint32_t> words_;
  usm_array<std::uint16_t> upper_, lower_;
  usm_array<float> on_device_;
};

std::vector<kernels::tensor_norms> norms_of(const optimizer_parts& parts) {
  std::vector<kernels::tensor_norms> all(parts.parameters.size());
  if (!all.empty()) command_queue(parts.engine).memcpy(all.data(), parts.of_tensors, all.size() * sizeof all[0]);
  parts.engine.wait();
  return all;
}

/// Copies of the weights, rounded to nearest.
void renew_copies(const optimizer_parts& parts) {
  std::vector<tensor> from, to;
  for (std::size_t i = 0; i < parts.parameters.size(); ++i) {
    const stretch whole{parts.slots[i], 0, parts.count(i)};
    if (!has_copy(whole.slot)) continue;
    from.push_back({{whole.at(whole.slot.weights, sizeof(float)), element_type::float32}, whole.count});
    to.push_back({.data = whole.model()});
  }
  if (!from.empty()) cast(tensor_list(parts.engine, from), tensor_list(parts.engine, to));
  parts.engine.wait();
}

void set_groups(const optimizer_parts& parts, const optimizer_record& record) {
  std::vector<kernels::parameter_group> groups;
  for (std::size_t i = 0; i < record.groups.size(); ++i) {
    const group_record& saved = record.groups[i];
    kernels::parameter_group& here = parts.host_groups[i];
    here.hyper = saved.hyper;
    here.schedule = saved.schedule;
    groups.push_back(here);
    groups.back().applied = saved.applied;
  }
  command_queue(parts.engine).memcpy(parts.groups, groups.data(), groups.size() * sizeof groups[0]);
  if (record.is_stochastic) command_queue(parts.engine).memcpy(&parts.memory->seed, &record.seed, sizeof record.seed);
  command_queue(parts.engine).memset(&parts.memory->finished, 0, sizeof parts.memory->finished);
  parts.progress.restore(parts.engine, groups);
}

}  // namespace

void write_state(const optimizer_parts& parts, const optimizer_record& record, const byte_sink& to) {
  transfer move(parts);
  const auto norms = parts.rule.has_tensor_moments ? norms_of(parts) : std::vector<kernels::tensor_norms>{};
  for (std::uint32_t group = 0; group < record.groups.size(); ++group) {
    for_each_stretch(parts, group, [&](const stretch& part) { move.write_weights(part, to); });
    for (std::uint32_t k = 0; k < record.states; ++k)
      for_each_stretch(parts, group, [&](const stretch& part) { move.write_moment(part, k, to); });
    if (record.has_copies) for_each_stretch(parts, group, [&](const stretch& part) { move.write_copy(part, to); });
    for (std::size_t i = 0; i < norms.size(); ++i)
      if (parts.parameters[i].group == group) to(&norms[i].second, sizeof norms[i].second);
  }
}

void read_state(const optimizer_parts& parts, const optimizer_record& record, const byte_source& from) {
  transfer move(parts);
  auto norms = parts.rule.has_tensor_moments ? norms_of(parts) : std::vector<kernels::tensor_norms>{};
  for (std::uint32_t group = 0; group < record.groups.size(); ++group) {
    for_each_stretch(parts, group, [&](const stretch& part) { move.read_weights(part, from); });
    for (std::uint32_t k = 0; k < record.states; ++k)
      for_each_stretch(parts, group, [&](const stretch& part) { move.read_moment(part, k, record.moments, from); });
    if (record.has_copies) for_each_stretch(parts, group, [&](const stretch& part) { move.read_copy(part, from); });
    for (std::size_t i = 0; i < norms.size(); ++i)
      if (parts.parameters[i].group == group) from(&norms[i].second, sizeof norms[i].second);
  }
  if (!norms.empty())
    command_queue(parts.engine).memcpy(parts.of_tensors, norms.data(), norms.size() * sizeof norms[0]);
  if (!record.has_copies) renew_copies(parts);
  set_groups(parts, record);
}

}  // namespace SYCLAMP_NAMESPACE
