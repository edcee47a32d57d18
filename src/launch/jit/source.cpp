// SPDX-License-Identifier: Apache-2.0
#include "launch/jit/source.hpp"

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
  SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::work_group_size<group_size>)) \
  __attribute__((always_inline)) void
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
SYCLAMP_ENTRY({group_size}) {symbol}({parameters}) {{
  using body = syclamp::kernels::{name}<{pack_bytes}, {most_lanes}, {group_size}>;
  // An error here: the parameters of {name}::run are not those of its row in src/launch/operations.def.
  using function = decltype(static_cast<void (*)(const syclamp::kernels::work_item&, body::shared&, {types})>(&body::run));
  syclamp::entries::work_group_static<syclamp::entries::memory_block[(sizeof(body::shared) + 31) / 32]> memory;
  body::run(syclamp::kernels::work_item(syclamp::entries::get_nd_item<1>()), reinterpret_cast<body::shared&>(memory), {arguments});
}}
)";

}  // namespace

std::string symbol(const operation_base& op, const profile& tuning) {
  const traversal& walk = tuning.*op.walk;
  return fmt::format("syclamp_{}_{}_{}_{}", op.name, walk.pack_bytes, walk.most_lanes, walk.group_size);
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
    const traversal& walk = tuning.*op->walk;
    text += fmt::format(fmt::runtime(entry), fmt::arg("symbol", symbol(*op, tuning)), fmt::arg("name", op->name),
                        fmt::arg("pack_bytes", walk.pack_bytes), fmt::arg("most_lanes", walk.most_lanes),
                        fmt::arg("group_size", walk.group_size), fmt::arg("types", fmt::join(types, ", ")),
                        fmt::arg("parameters", fmt::join(parameters, ", ")),
                        fmt::arg("arguments", fmt::join(arguments, ", ")));
  }
  return text;
}

}  // namespace syclamp::launch::jit
