// SPDX-License-Identifier: Apache-2.0
#include "launch/jit/source.hpp"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "launch/operations.hpp"

namespace syclamp::launch::jit {
namespace {

constexpr std::string_view prologue = R"(
#include <sycl/ext/oneapi/free_function_queries.hpp>
#include <sycl/ext/oneapi/kernel_properties/properties.hpp>
#include <sycl/ext/oneapi/work_group_static.hpp>
#define SYCLAMP_ENTRY(group_size) \
  extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<1>)) \
  SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::work_group_size<group_size>))
#define SYCLAMP_SUB_GROUPS(size) \
  SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::sub_group_size<size>))
namespace syclamp::entries {
struct alignas(32) memory_block { unsigned long long words[4]; };
using sycl::ext::oneapi::experimental::work_group_static;
using sycl::ext::oneapi::this_work_item::get_nd_item;
}
)";

// Entries get their nd_item and their local memory from extensions that only the run-time compiler has; bodies see the
// portable subset. Local memory is declared as words, because work_group_static wants a trivial type;
// in blocks that are aligned as matrix units want them.
constexpr std::string_view entry = R"(
SYCLAMP_ENTRY({group_size}) {sub_groups} __attribute__((always_inline)) void {symbol}({parameters}) {{
  using body = syclamp::kernels::{name}<{tuning}>;
  // An error here: the parameters of {name}::run are not those of its row in src/launch/operations.def.
  using function = decltype(static_cast<void (*)(const syclamp::kernels::work_item&, body::shared&, {types})>(&body::run));
  using memory_type = syclamp::entries::memory_block[(sizeof(body::shared) + 31) / 32];
{sub_groups_check}  static_assert(sizeof(memory_type) <= {local_memory}, "{name} needs more local memory than the profile {profile} states: increase local_memory there");
  syclamp::entries::work_group_static<memory_type> memory;
  body::run(syclamp::kernels::work_item(syclamp::entries::get_nd_item<1>()), reinterpret_cast<body::shared&>(memory), {arguments});
}}
)";

/// The argument of the kernel's template, with the names of the numbers: a name in the wrong place does not compile.
std::string tuning_argument(const operation_base& op, const profile& tuning) {
  std::vector<std::string> members;
  for (const tuning_number& number : op.tuning_numbers(tuning))
    members.push_back(fmt::format(".{} = {}", number.name, number.value));
  return fmt::format("{}{{{}}}", op.tuning_type(), fmt::join(members, ", "));
}

/// The property by which a kernel asks for a size of sub-groups, or nothing.
std::string sub_groups_property(const operation_base& op, const profile& tuning) {
  const std::uint32_t size = op.sub_group_size(tuning);
  return size == 0 ? "" : fmt::format("SYCLAMP_SUB_GROUPS({})", size);
}

/// The check that a kernel divides its work-group as its row says, or nothing.
std::string sub_groups_check(const operation_base& op) {
  if (op.sub_groups == 0) return {};
  return fmt::format(
      "  static_assert(body::sub_groups == {}, \"{} has another number of sub-groups in "
      "src/launch/operations.def\");\n",
      op.sub_groups, op.name);
}

/// What an `#include` names, without the root of the embedded headers; empty if the line is no such thing.
std::string_view included_name(std::string_view line) {
  constexpr std::string_view directive = "#include ";
  if (!line.starts_with(directive)) return {};
  line.remove_prefix(directive.size() + 1);  // and the quotation mark or bracket
  line = line.substr(0, line.find_first_of("\">"));
  if (line.starts_with(embedded_root)) line.remove_prefix(embedded_root.size());
  return line;
}

}  // namespace

std::string symbol(const operation_base& op, const profile& tuning) {
  std::string text = fmt::format("syclamp_{}", op.name);
  for (const tuning_number& number : op.tuning_numbers(tuning)) text += fmt::format("_{}", number.value);
  return text;
}

std::string family_source(std::string_view family, const profile& tuning) {
  std::string text(prologue);
  text += fmt::format("#include \"{}sycl_kernels/{}.hpp\"\n", embedded_root, family);
  for (const operation_base* op : operations) {
    if (op->family != family) continue;
    const std::vector<std::string> types = op->parameter_types();
    std::vector<std::string> parameters, arguments;
    for (const std::string& type : types) {
      arguments.push_back(fmt::format("a{}", arguments.size()));
      parameters.push_back(type + " " + arguments.back());
    }
    text += fmt::format(
        fmt::runtime(entry), fmt::arg("symbol", symbol(*op, tuning)), fmt::arg("name", op->name),
        fmt::arg("tuning", tuning_argument(*op, tuning)), fmt::arg("group_size", op->group_size(tuning)),
        fmt::arg("sub_groups", sub_groups_property(*op, tuning)), fmt::arg("local_memory", tuning.local_memory),
        fmt::arg("sub_groups_check", sub_groups_check(*op)), fmt::arg("profile", tuning.name),
        fmt::arg("types", fmt::join(types, ", ")), fmt::arg("parameters", fmt::join(parameters, ", ")),
        fmt::arg("arguments", fmt::join(arguments, ", ")));
  }
  return text;
}

std::vector<const embedded_file*> included_files(std::string_view source) {
  std::vector<const embedded_file*> found;
  const auto read = [&](std::string_view text) {
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
      const std::string_view name = included_name(line);
      if (name.empty()) continue;
      for (const embedded_file& file : embedded_files())
        if (file.path == name && std::ranges::find(found, &file) == found.end()) found.push_back(&file);
    }
  };
  read(source);
  for (std::size_t i = 0; i < found.size(); ++i) read(found[i]->text);
  return found;
}

std::string family_text(std::string_view family, const profile& tuning) {
  std::string text = "source: " + family_source(family, tuning);
  for (const embedded_file* file : included_files(text)) text += fmt::format("\nfile: {}\n{}", file->path, file->text);
  return text;
}

}  // namespace syclamp::launch::jit
