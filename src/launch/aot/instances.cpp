// SPDX-License-Identifier: Apache-2.0
// Wraps the kernel bodies as function objects, once for each profile.
#include "launch/aot/instances.hpp"

#include <array>
#include <utility>

#include "all_kernels.hpp"  // includes every header of sycl_kernels/; CMake writes it
#include "backends/profiles.hpp"
#include "launch/build_targets.hpp"
#include "launch/operations.hpp"

namespace syclamp::launch::aot {
namespace {

using table = std::map<const operation_base*, instance, operation_order>;
using backends::profiles;

#if defined(SYCL_EXT_ONEAPI_MATRIX) && defined(SYCLAMP_AOT_TARGETS)
static_assert(
    !has_nvidia_blocks(SYCLAMP_AOT_TARGETS) || !kernels::target_is_nvidia ||
        kernels::target_has_blocks<sycl::ext::oneapi::bfloat16, 16, 16>,
    "host code would use matrix units for which there is no device code: this CUDA toolkit is too old for BF16");
#endif

// A compiler that does not know an attribute would ignore it with a warning. Without the size of its work-groups, a
// kernel is compiled for the largest ones, which costs registers. tests/gpu/preset_test.py checks that each has it.
#if __has_cpp_attribute(sycl::reqd_work_group_size)
#define SYCLAMP_WORK_GROUPS(size) [[sycl::reqd_work_group_size(size)]]
#else
#define SYCLAMP_WORK_GROUPS(size)
#endif
#if __has_cpp_attribute(sycl::reqd_sub_group_size)
#define SYCLAMP_SUB_GROUPS(size) [[sycl::reqd_sub_group_size(size)]]
constexpr bool can_ask_for_sub_groups = true;
#else
#define SYCLAMP_SUB_GROUPS(size)
constexpr bool can_ask_for_sub_groups = false;
#endif

template <typename Body, unsigned GroupSize, unsigned SubGroupSize, typename... Args>
sycl::event submit(sycl::queue& queue, std::uint64_t groups, const argument* arguments) {
  // An error here: the parameters of Body::run are not those of its row in operations.def.
  using function =
      decltype(static_cast<void (*)(const kernels::work_item&, typename Body::shared&, Args...)>(&Body::run));
  static_assert(std::is_pointer_v<function>);
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return queue.submit([&](sycl::handler& handler) {
      const auto launch = [&](auto... args) {
        sycl::local_accessor<typename Body::shared, 1> shared(sycl::range<1>(1), handler);
        const sycl::nd_range<1> range(groups * GroupSize, GroupSize);
        if constexpr (SubGroupSize != 0) {
          handler.parallel_for(range, [=](sycl::nd_item<1> item) SYCLAMP_WORK_GROUPS(GroupSize) SYCLAMP_SUB_GROUPS(
                                          SubGroupSize) { Body::run(kernels::work_item(item), shared[0], args...); });
        } else {
          handler.parallel_for(range, [=](sycl::nd_item<1> item) SYCLAMP_WORK_GROUPS(GroupSize) {
            Body::run(kernels::work_item(item), shared[0], args...);
          });
        }
      };
      launch(*static_cast<const Args*>(arguments[I].value)...);
    });
  }(std::index_sequence_for<Args...>{});
}

template <typename Body, unsigned GroupSize, unsigned RequestedSubGroupSize, unsigned SubGroups,
          std::size_t LocalMemory, auto Tuning, typename... Args>
void add(table& all, const operation<Tuning, Args...>& op) {
  static_assert(sizeof(typename Body::shared) <= LocalMemory,
                "a kernel needs more local memory than its profile states: increase local_memory there");
  constexpr unsigned sub_group_size = can_ask_for_sub_groups ? RequestedSubGroupSize : 0;
  if constexpr (SubGroups != 0)
    static_assert(Body::sub_groups == SubGroups, "a kernel has another number of sub-groups in operations.def");
  // With sub-groups of another size, a kernel with a fixed number of them would be wrong: there is none.
  constexpr unsigned size_elsewhere = SubGroups != 0 ? sub_group_size : 0;
  all.emplace(&op, instance{sub_group_size, &submit<Body, GroupSize, sub_group_size, Args...>,
                            &submit<Body, GroupSize, size_elsewhere, Args...>});
}

/// All operations, instantiated for profile number `P`.
template <std::size_t P>
table instances_of_profile() {
  table all;
#define OPERATION(FAMILY, NAME, TUNING, ...)                                                              \
  add<kernels::NAME<profiles[P].TUNING>, profiles[P].TUNING.group_size, NAME.sub_group_size(profiles[P]), \
      NAME.sub_groups, profiles[P].local_memory>(all, NAME);
#if !defined(SYCL_EXT_ONEAPI_MATRIX)
#define MATRIX_UNIT_OPERATION(...)
#endif
#include "launch/operations.def"
  return all;
}

}  // namespace

const table& instances(const profile& tuning) {
  static const auto all = []<std::size_t... P>(std::index_sequence<P...>) {
    return std::array{instances_of_profile<P>()...};
  }(std::make_index_sequence<profiles.size()>{});
  return all.at(static_cast<std::size_t>(&tuning - profiles.data()));
}

}  // namespace syclamp::launch::aot
