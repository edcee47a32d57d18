// SPDX-License-Identifier: Apache-2.0
#include "launch/jit/spirv.hpp"

#include <algorithm>
#include <cstring>
#include <set>

namespace syclamp::launch::jit {
namespace {

using word = std::uint32_t;

constexpr word magic = 0x07230203;
constexpr std::size_t header_words = 5;  // magic, version, generator, bound, schema

// Instructions and execution modes, by the numbers of the SPIR-V specification.
enum : word { op_name = 5, op_entry_point = 15, op_execution_mode = 16, op_function = 54 };
enum : word { mode_local_size = 17, mode_vector_type_hint = 30 };

/// 16 lanes of 32-bit float. Any vector type has the same effect.
constexpr word vector_of_floats = 16u << 16 | 5u;
constexpr std::size_t hint_words = 4;
constexpr std::size_t least_name_words = 3;  // instruction, target, one word of text

/// One instruction of a module: where it begins, and its words.
struct instruction {
  std::size_t at;
  std::span<const word> words;

  word code() const { return words[0] & 0xffffu; }
};

std::vector<instruction> instructions_of(std::span<const word> module) {
  std::vector<instruction> all;
  for (std::size_t at = header_words; at < module.size();) {
    const std::size_t length = module[at] >> 16;
    if (length == 0 || length > module.size() - at) break;
    all.push_back({at, module.subspan(at, length)});
    at += length;
  }
  return all;
}

/// A module, and where its bytes begin.
struct found_module {
  std::size_t offset;
  std::vector<word> words;
};

std::vector<found_module> find_modules(std::span<const char> bytes) {
  std::vector<found_module> found;
  std::size_t offset = 0;
  while (offset + header_words * sizeof(word) <= bytes.size()) {
    word first = 0;
    std::memcpy(&first, bytes.data() + offset, sizeof first);
    if (first != magic) {
      ++offset;
      continue;
    }
    std::vector<word> words((bytes.size() - offset) / sizeof(word));
    std::memcpy(words.data(), bytes.data() + offset, words.size() * sizeof(word));
    const auto instructions = instructions_of(words);
    words.resize(instructions.empty() ? header_words : instructions.back().at + instructions.back().words.size());
    const std::size_t length = words.size() * sizeof(word);
    found.push_back({offset, std::move(words)});
    offset += length;
  }
  return found;
}

/// Kernels of one work-item that have no hint yet.
std::vector<word> single_item_kernels(const std::vector<instruction>& instructions) {
  std::vector<word> kernels;
  std::set<word> hinted;
  for (const instruction& current : instructions) {
    if (current.code() != op_execution_mode || current.words.size() < 3) continue;
    if (current.words[2] == mode_vector_type_hint) hinted.insert(current.words[1]);
    if (current.words[2] == mode_local_size && current.words.size() == 6 && current.words[3] == 1 &&
        current.words[4] == 1 && current.words[5] == 1)
      kernels.push_back(current.words[1]);
  }
  std::erase_if(kernels, [&](word kernel) { return hinted.contains(kernel); });
  return kernels;
}

/// Debug names that may be overwritten. Names of functions are kept, because drivers may use them.
std::vector<instruction> spare_names(const std::vector<instruction>& instructions, std::size_t words) {
  std::set<word> named;
  for (const instruction& current : instructions)
    if (current.code() == op_function && current.words.size() > 2) named.insert(current.words[2]);
  std::vector<instruction> spare;
  std::size_t sum = 0;
  for (const instruction& current : instructions) {
    if (sum == words || sum >= words + least_name_words) break;
    if (current.code() != op_name || current.words.size() < least_name_words || named.contains(current.words[1]))
      continue;
    spare.push_back(current);
    sum += current.words.size();
  }
  if (sum != words && sum < words + least_name_words) spare.clear();
  return spare;
}

/// A name of `length` words for `target`, to fill what the hints leave free.
std::vector<word> filler_name(word target, std::size_t length) {
  std::vector<word> words(length, 0x5f5f5f5fu);  // underscores
  words[0] = static_cast<word>(length) << 16 | op_name;
  words[1] = target;
  words.back() &= 0x00ffffffu;  // the zero that ends a text
  return words;
}

}  // namespace

std::vector<std::vector<std::uint32_t>> spirv_modules(std::span<const char> bytes) {
  std::vector<std::vector<word>> modules;
  for (found_module& module : find_modules(bytes)) modules.push_back(std::move(module.words));
  return modules;
}

std::size_t mark_vector_kernels(std::span<char> bytes) {
  std::size_t marked = 0;
  for (const found_module& module : find_modules(bytes)) {
    const auto instructions = instructions_of(module.words);
    const std::vector<word> kernels = single_item_kernels(instructions);
    const auto dropped = spare_names(instructions, kernels.size() * hint_words);
    if (kernels.empty() || dropped.empty()) continue;

    std::size_t room = 0, end_of_modes = 0;
    for (const instruction& current : dropped) room += current.words.size();
    for (const instruction& current : instructions)
      if (current.code() == op_entry_point || current.code() == op_execution_mode)
        end_of_modes = current.at + current.words.size();
    const std::size_t rest = room - kernels.size() * hint_words;

    std::vector<word> words(module.words.begin(), module.words.begin() + static_cast<std::ptrdiff_t>(end_of_modes));
    for (const word kernel : kernels)
      for (const word part :
           {word{hint_words << 16 | op_execution_mode}, kernel, word{mode_vector_type_hint}, vector_of_floats})
        words.push_back(part);
    for (const instruction& current : instructions) {
      if (current.at < end_of_modes) continue;
      const bool is_dropped = std::ranges::any_of(dropped, [&](const auto& name) { return name.at == current.at; });
      if (!is_dropped) {
        words.insert(words.end(), current.words.begin(), current.words.end());
      } else if (current.at == dropped.back().at && rest != 0) {
        const auto name = filler_name(current.words[1], rest);
        words.insert(words.end(), name.begin(), name.end());
      }
    }
    if (words.size() != module.words.size()) continue;  // unexpected layout: names come before the execution modes
    std::memcpy(bytes.data() + module.offset, words.data(), words.size() * sizeof(word));
    marked += kernels.size();
  }
  return marked;
}

}  // namespace syclamp::launch::jit
