// SPDX-License-Identifier: Apache-2.0
// Wraps the kernel bodies as function objects, once for each profile.
#include "launch/aot/instances.hpp"

#include <array>
#include <utility>

#include "all_kernels.hpp"  // includes every header of sycl_kernels/; CMake writes it
#include "backends/profiles.hpp"
#include "launch/operations.hpp"

namespace syclamp::launch::aot {
namespace {

using table = std::map<const operation_base*, submitter, operation_order>;
using backends::profiles;

template <typename Body, unsigned GroupSize, typename... Args>
sycl::event submit(sycl::queue& queue, std::uint64_t groups, const argument* arguments) {
  // An error here: the parameters of Body::run are not those of its row in operations.def.
  using function =
      decltype(static_cast<void (*)(const kernels::work_item&, typename Body::shared&, Args...)>(&Body::run));
  static_assert(std::is_pointer_v<function>);
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return queue.submit([&](sycl::handler& handler) {
      const auto launch = [&](auto... args) {
        sycl::local_accessor<typename Body::shared, 1> shared(sycl::range<1>(1), handler);
        handler.parallel_for(sycl::nd_range<1>(groups * GroupSize, GroupSize),
                             [=](sycl::nd_item<1> item) { Body::run(kernels::work_item(item), shared[0], args...); });
      };
      launch(*static_cast<const Args*>(arguments[I].value)...);
    });
  }(std::index_sequence_for<Args...>{});
}

template <typename Body, unsigned GroupSize, std::size_t LocalMemory, auto Tuning, typename... Args>
void add(table& all, const operation<Tuning, Args...>& op) {
  static_assert(sizeof(typename Body::shared) <= LocalMemory,
                "a kernel needs more local memory than its profile states: increase local_memory there");
  all.emplace(&op, &submit<Body, GroupSize, Args...>);
}

/// All operations, instantiated for profile number `P`.
template <std::size_t P>
table instances_of_profile() {
  table all;
#define OPERATION(FAMILY, NAME, TUNING, ...) \
  add<kernels::NAME<profiles[P].TUNING>, profiles[P].TUNING.group_size, profiles[P].local_memory>(all, NAME);
#if !defined(SYCL_EXT_ONEAPI_MATRIX)
#define MATRIX_UNIT_OPERATION(...)
#endif
#include "launch/operations.def"
  return all;
}

}  // namespace

const std::map<const operation_base*, submitter, operation_order>& instances(const profile& tuning) {
  static const auto all = []<std::size_t... P>(std::index_sequence<P...>) {
    return std::array{instances_of_profile<P>()...};
  }(std::make_index_sequence<profiles.size()>{});
  return all.at(static_cast<std::size_t>(&tuning - profiles.data()));
}

}  // namespace syclamp::launch::aot
