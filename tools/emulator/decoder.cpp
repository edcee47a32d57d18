// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "tools/emulator/fault.hpp"
#include "tools/emulator/program.hpp"

namespace emulator {
namespace {

using strings = std::vector<std::string>;

strings split_name(const std::string& name) {
  strings parts;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    parts.push_back(name.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool has(const strings& parts, std::string_view part) { return std::ranges::find(parts, part) != parts.end(); }

std::optional<std::uint64_t> number(const std::string& text) {
  const auto is_digit = [&](std::size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
  if (text.starts_with("0f") || text.starts_with("0F")) return std::stoull(text.substr(2), nullptr, 16);
  if (text.starts_with("0d") || text.starts_with("0D")) return std::stoull(text.substr(2), nullptr, 16);
  if (text.starts_with('-') && is_digit(1)) return static_cast<std::uint64_t>(std::stoll(text));
  if (is_digit(0)) return std::stoull(text, nullptr, 0);
  return {};
}

std::string without_brackets(const std::string& text) { return text.substr(1, text.size() - 2); }

std::uint32_t aligned(std::uint32_t value, std::uint32_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

/// The names that are known inside one copy of a function.
struct scope {
  std::map<std::string, std::uint32_t> registers;
  std::map<std::string, std::uint32_t> shared, local;  // addresses
  std::map<std::string, std::uint32_t> parameters;     // of the kernel: offsets
  std::map<std::string, std::uint32_t> labels;
  std::map<std::string, strings> tables;  // of indexed branches
  std::vector<std::pair<std::size_t, strings>> open_branches;
};

class decoder {
 public:
  decoder(const module& from, const function& entry) : module_(from) {
    result_.name = entry.name;
    scope names;
    for (const variable& parameter : entry.parameters) {
      const std::uint32_t offset = aligned(result_.parameter_bytes, parameter.alignment);
      names.parameters[parameter.name] = offset;
      result_.parameter_offsets.push_back(offset);
      result_.parameter_sizes.push_back(parameter.bytes);
      result_.parameter_bytes = offset + parameter.bytes;
    }
    for (const variable& each : from.shared) module_shared_[each.name] = allocate(result_.shared_bytes, each);
    inline_function(entry, names);
    instruction end;
    end.what = instruction::kind::exit;
    result_.code.push_back(end);
  }

  program take() { return std::move(result_); }

 private:
  [[noreturn]] void stop(const std::string& problem) const {
    throw unsupported(result_.name + ", PTX line " + std::to_string(line_) + ": " + problem);
  }

  static std::uint32_t allocate(std::uint32_t& used, const variable& what) {
    const std::uint32_t address = aligned(used, what.alignment);
    used = address + what.bytes;
    return address;
  }

  void inline_function(const function& what, scope& names) {
    if (!being_inlined_.insert(what.name).second) stop(what.name + " calls itself");
    for (const statement& each : what.body) {
      line_ = each.line;
      switch (each.what) {
        case statement::kind::label: names.labels[each.name] = place(); break;
        case statement::kind::branch_targets: names.tables[each.name] = each.operands; break;
        case statement::kind::registers:  // `%r<9>`: these get a number when they are first named
          if (!each.name.ends_with('>')) names.registers[each.name] = result_.registers++;
          break;
        case statement::kind::parameter:
        case statement::kind::local:
          names.local[each.declared.name] = allocate(result_.local_bytes, each.declared);
          break;
        case statement::kind::shared:
          names.shared[each.declared.name] = allocate(result_.shared_bytes, each.declared);
          break;
        case statement::kind::instruction: decode_instruction(each, names, what.is_entry); break;
      }
    }
    names.labels["(end)"] = place();
    for (const auto& [index, targets] : names.open_branches)
      for (const std::string& target : targets) {
        const auto found = names.labels.find(target);
        if (found == names.labels.end()) stop("there is no label " + target);
        result_.code[index].targets.push_back(found->second);
      }
    being_inlined_.erase(what.name);
  }

  std::uint32_t place() const { return static_cast<std::uint32_t>(result_.code.size()); }

  std::uint32_t constant(std::uint64_t value) {
    const auto [found, is_new] = constants_.try_emplace(value, result_.registers);
    if (is_new) {
      ++result_.registers;
      result_.constants.emplace_back(found->second, value);
    }
    return found->second;
  }

  std::uint32_t special(const std::string& name) {
    static const std::map<std::string, special_register> known{
        {"%tid.x", special_register::local_id},   {"%ntid.x", special_register::group_size},
        {"%ctaid.x", special_register::group_id}, {"%nctaid.x", special_register::groups},
        {"%laneid", special_register::lane},      {"%tid.y", special_register::zero},
        {"%tid.z", special_register::zero},       {"%ctaid.y", special_register::zero},
        {"%ctaid.z", special_register::zero},     {"%ntid.y", special_register::one},
        {"%ntid.z", special_register::one},       {"%nctaid.y", special_register::one},
        {"%nctaid.z", special_register::one}};
    const auto which = known.find(name);
    if (which == known.end()) return 0;
    const auto [found, is_new] = specials_.try_emplace(which->second, result_.registers);
    if (is_new) {
      ++result_.registers;
      result_.specials.emplace_back(found->second, which->second);
    }
    return found->second;
  }

  std::optional<std::uint32_t> address_of(const std::string& name, const scope& names) const {
    if (const auto found = names.shared.find(name); found != names.shared.end()) return found->second;
    if (const auto found = names.local.find(name); found != names.local.end()) return found->second;
    if (const auto found = module_shared_.find(name); found != module_shared_.end()) return found->second;
    return {};
  }

  /// The register of an operand: a register, a number, or the address of a variable.
  std::uint32_t operand(const std::string& text, scope& names) {
    if (const auto value = number(text)) return constant(*value);
    if (text == "_") return result_.registers++;  // a result that nobody wants
    if (text.starts_with('%') || names.registers.contains(text)) {
      if (const std::uint32_t found = special(text)) return found;
      const auto [found, is_new] = names.registers.try_emplace(text, result_.registers);
      if (is_new) ++result_.registers;
      return found->second;
    }
    std::int64_t offset = 0;
    std::string name = text;
    if (const auto plus = text.find('+'); plus != text.npos) {
      offset = std::stoll(text.substr(plus + 1));
      name = text.substr(0, plus);
    }
    const auto address = address_of(name, names);
    if (!address) stop("there is no operand " + text);
    return constant(*address + static_cast<std::uint64_t>(offset));
  }

  std::vector<std::uint32_t> operands(const std::string& text, scope& names) {
    std::vector<std::uint32_t> result;
    if (!text.starts_with('{')) return {operand(text, names)};
    for (const std::string& part : split_list(without_brackets(text))) result.push_back(operand(part, names));
    return result;
  }

  /// `[base+offset]`: the base becomes the first register that is read.
  std::string set_address(instruction& made, const std::string& text, scope& names) {
    std::string base = without_brackets(text);
    if (const auto plus = base.find('+'); plus != base.npos) {
      made.offset = std::stoll(base.substr(plus + 1));
      base.erase(plus);
    }
    if (!names.parameters.contains(base)) made.reads.insert(made.reads.begin(), operand(base, names));
    return base;
  }

  void decode_instruction(const statement& from, scope& names, bool is_entry) {
    instruction made;
    made.line = from.line;
    if (!from.guard.empty()) {
      made.guard = operand(from.guard, names);
      made.is_guard_negated = from.is_guard_negated;
    }
    const strings parts = split_name(from.name);
    const std::string& op = parts.front();
    if (op == "bra") {
      made.what = instruction::kind::branch;
      names.open_branches.emplace_back(place(), strings{from.operands[0]});
    } else if (op == "brx") {
      made.what = instruction::kind::indexed_branch;
      made.reads = {operand(from.operands[0], names)};
      names.open_branches.emplace_back(place(), names.tables.at(from.operands[1]));
    } else if (op == "exit" || (op == "ret" && is_entry)) {
      made.what = instruction::kind::exit;
    } else if (op == "ret") {
      made.what = instruction::kind::branch;
      names.open_branches.emplace_back(place(), strings{"(end)"});
    } else if (from.name == "bar.sync" || from.name == "barrier.sync" || from.name == "barrier.sync.aligned") {
      if (from.operands != strings{"0"}) stop("only the barrier 0 of all work-items is known");
      made.what = instruction::kind::barrier;
    } else if (op == "call") {
      decode_call(from, names);
      return;
    } else if (op == "ld" || op == "st" || op == "atom" || op == "red" || op == "fence" || op == "membar") {
      decode_access(made, from, parts, names);
    } else if (op == "wmma") {
      decode_matrix(made, from, parts, names);
    } else if (op == "shfl") {
      made.what = instruction::kind::shuffle;
      made.run = find_shuffle(from.name);
      if (made.run == nullptr) stop("the instruction " + from.name + " is not known");
      made.writes = {operand(from.operands[0], names)};
      for (std::size_t i = 1; i < 5; ++i) made.reads.push_back(operand(from.operands.at(i), names));
    } else if (op == "mov" && (from.operands[0].starts_with('{') || from.operands[1].starts_with('{'))) {
      decode_packing(made, from, parts, names);
    } else {
      made.run = find_arithmetic(from.name);
      if (made.run == nullptr) stop("the instruction " + from.name + " is not known");
      if (op == "mov") made.unset = instruction::unset_flow::copied;
      if (op == "selp") made.unset = instruction::unset_flow::selected;
      made.writes = {operand(from.operands[0], names)};
      for (std::size_t i = 1; i < from.operands.size(); ++i) made.reads.push_back(operand(from.operands[i], names));
    }
    result_.code.push_back(std::move(made));
  }

  void decode_call(const statement& from, scope& names) {
    if (!from.guard.empty()) stop("a call with a guard");
    const bool has_result = from.operands[0].starts_with('(');
    const std::string& callee = from.operands[has_result ? 1 : 0];
    const auto found = module_.functions.find(callee);
    if (found == module_.functions.end()) stop("there is no function " + callee);
    const strings given = split_list(without_brackets(from.operands.back()));
    const strings results = has_result ? split_list(without_brackets(from.operands[0])) : strings{};
    if (given.size() != found->second.parameters.size() || results.size() != found->second.results.size())
      stop("a call of " + callee + " with another number of arguments");
    scope inner;
    for (std::size_t i = 0; i < given.size(); ++i)
      inner.local[found->second.parameters[i].name] = names.local.at(given[i]);
    for (std::size_t i = 0; i < results.size(); ++i)
      inner.local[found->second.results[i].name] = names.local.at(results[i]);
    inline_function(found->second, inner);
  }

  /// mov.b32 %r, {%a, %b} and mov.b32 {%a, %b}, %r
  void decode_packing(instruction& made, const statement& from, const strings& parts, scope& names) {
    made.writes = operands(from.operands[0], names);
    made.reads = operands(from.operands[1], names);
    const bool is_packing = made.writes.size() == 1;
    made.run = is_packing ? pack : unpack;
    made.bytes =
        static_cast<std::uint8_t>(bytes_of_type(parts.back()) / (is_packing ? made.reads : made.writes).size());
    if (made.bytes >= 2) made.unset = is_packing ? instruction::unset_flow::packed : instruction::unset_flow::unpacked;
  }

  void decode_access(instruction& made, const statement& from, const strings& parts, scope& names) {
    const std::string& op = parts.front();
    static const std::set<std::string> known{
        "ld",   "st",  "atom", "red", "fence",   "membar",  "global",  "shared",  "local", "param", "v2",
        "v4",   "gpu", "sys",  "cta", "relaxed", "acquire", "release", "acq_rel", "sc",    "gl",    "volatile",
        "weak", "add", "or",   "and", "xor",     "max",     "min",     "exch",    "cas",   "nc"};
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (!known.contains(parts[i]) && (i + 1 != parts.size())) stop("the modifier " + parts[i] + " of " + from.name);
    made.space = has(parts, "global")                         ? memory_space::global
                 : has(parts, "shared")                       ? memory_space::shared
                 : has(parts, "local") || has(parts, "param") ? memory_space::local
                                                              : memory_space::generic;
    made.order = has(parts, "relaxed") || has(parts, "volatile") ? memory_order::relaxed
                 : has(parts, "acquire")                         ? memory_order::acquire
                 : has(parts, "release")                         ? memory_order::release
                 : has(parts, "acq_rel") || has(parts, "sc")     ? memory_order::acq_rel
                                                                 : memory_order::plain;
    made.is_group_scope = has(parts, "cta");
    if (op == "fence" || op == "membar") {
      made.run = fence;
      made.order = memory_order::acq_rel;
      return;
    }
    made.bytes = static_cast<std::uint8_t>(bytes_of_type(parts.back()));
    made.is_sign_extended = parts.back()[0] == 's';
    if (op == "ld" || op == "st") {
      const auto values = operands(from.operands[op == "ld" ? 0 : 1], names);
      made.count = static_cast<std::uint8_t>(values.size());
      (op == "ld" ? made.writes : made.reads) = values;
      const std::string base = set_address(made, from.operands[op == "ld" ? 1 : 0], names);
      made.run = op == "ld" ? load : store;
      if (const auto parameter = names.parameters.find(base); parameter != names.parameters.end()) {
        made.space = memory_space::kernel_parameter;
        made.offset += parameter->second;
        made.run = load_parameter;
      }
      return;
    }
    if (made.order == memory_order::plain) made.order = memory_order::relaxed;
    made.count = 1;
    const bool is_reduction = op == "red";
    made.writes = {is_reduction ? result_.registers++ : operand(from.operands[0], names)};
    for (std::size_t i = is_reduction ? 1 : 2; i < from.operands.size(); ++i)
      made.reads.push_back(operand(from.operands[i], names));
    set_address(made, from.operands[is_reduction ? 0 : 1], names);
    made.run = find_atomic(parts[parts.size() - 2], parts.back());
    if (made.run == nullptr) stop("the instruction " + from.name + " is not known");
  }

  void decode_matrix(instruction& made, const statement& from, const strings& parts, scope& names) {
    made.run = find_matrix(from.name);
    if (made.run == nullptr) stop("the instruction " + from.name + " is not known");
    made.bytes = static_cast<std::uint8_t>(bytes_of_type(parts.back()));
    made.layout = has(parts, "col") ? matrix_layout::column : matrix_layout::row;
    if (has(parts, "mma")) {
      made.writes = operands(from.operands[0], names);
      for (std::size_t i = 1; i < 4; ++i)
        for (const std::uint32_t each : operands(from.operands[i], names)) made.reads.push_back(each);
      return;
    }
    made.space = has(parts, "shared")   ? memory_space::shared
                 : has(parts, "global") ? memory_space::global
                                        : memory_space::generic;
    const bool is_load = has(parts, "load");
    const auto values = operands(from.operands[is_load ? 0 : 1], names);
    made.reads = {operand(from.operands[2], names)};  // the stride
    (is_load ? made.writes : made.reads)
        .insert((is_load ? made.writes : made.reads).end(), values.begin(), values.end());
    set_address(made, from.operands[is_load ? 1 : 0], names);
  }

  const module& module_;
  program result_;
  int line_ = 0;
  std::map<std::uint64_t, std::uint32_t> constants_;
  std::map<special_register, std::uint32_t> specials_;
  std::map<std::string, std::uint32_t> module_shared_;
  std::set<std::string> being_inlined_;
};

}  // namespace

program decode(const module& from, std::string_view entry) {
  const auto found = from.functions.find(entry);
  if (found == from.functions.end() || !found->second.is_entry)
    throw unsupported("there is no kernel " + std::string(entry));
  return decoder(from, found->second).take();
}

}  // namespace emulator
