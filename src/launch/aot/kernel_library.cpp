// SPDX-License-Identifier: Apache-2.0
// Kernels that a SYCL compiler (DPC++ or AdaptiveCpp) built together with the library.
#include "launch/kernel_library.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "backends/profiles.hpp"
#include "launch/aot/instances.hpp"
#include "launch/dpcpp_runtime.hpp"
#include "launch/operations.hpp"
#include "syclamp/error.hpp"

namespace syclamp::launch {
namespace aot {
namespace {

class linked_library final : public kernel_library {
 public:
  linked_library(const sycl::queue& queue, const profile& tuning)
      : kernel_library(queue.get_device(), tuning),
        instances_(instances(tuning)),
        offered_sub_groups_(queue.get_device().get_info<sycl::info::device::sub_group_sizes>()) {}

  void prepare(const operation_base& op) override { find(op); }

 private:
  sycl::event submit_erased(sycl::queue& queue, const operation_base& op, std::uint64_t groups,
                            std::span<const argument> arguments) override {
    return find(op)(queue, groups, arguments.data());
  }

  submitter find(const operation_base& op) const {
    const auto found = instances_.find(&op);
    if (found == instances_.end())
      throw kernel_build_error(fmt::format("the operation {} is not in this build, because its compiler ({}) has no "
                                           "joint_matrix; choose another path of gemm, for example \"portable\"",
                                           op.name, compiler()),
                               "");
    const instance& kernel = found->second;
    return std::ranges::find(offered_sub_groups_, kernel.sub_group_size) != offered_sub_groups_.end() ? kernel.asking
                                                                                                      : kernel.plain;
  }

  const std::map<const operation_base*, instance, operation_order>& instances_;
  std::vector<std::size_t> offered_sub_groups_;
};

}  // namespace
}  // namespace aot

std::unique_ptr<kernel_library> make_kernel_library(const sycl::queue& queue, const profile& tuning) {
  return std::make_unique<aot::linked_library>(queue, tuning);
}

std::string_view mode() { return "aot"; }

std::string compiler() { return SYCLAMP_AOT_COMPILER; }

std::string cache_folder() { return {}; }

#ifdef SYCL_IMPLEMENTATION_ONEAPI
std::string obstacle(const sycl::device& device) { return driver_obstacle(device); }
std::string environment_hint() { return suspicious_environment(); }
#else
std::string obstacle(const sycl::device&) { return {}; }
std::string environment_hint() { return {}; }
#endif

}  // namespace syclamp::launch
