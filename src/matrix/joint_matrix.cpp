// SPDX-License-Identifier: Apache-2.0
// Matrix units through DPC++'s joint_matrix: Tensor Cores of NVIDIA GPUs (ahead of time only, as the run-time compiler
// does not reach them) and XMX of Intel GPUs. Not yet run on hardware: all but the instruction itself is tested on CPUs
// (gemm_blocks), and what it becomes on NVIDIA is in docs/gpu-code.md.
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "backends/profiles.hpp"
#include "engine/device_facts.hpp"
#include "launch/build_targets.hpp"
#include "matrix/block_shape.hpp"
#include "matrix/tiles.hpp"
#include "syclamp/error.hpp"

namespace SYCLAMP_NAMESPACE::matrix {
namespace {

/// The kernels for a device, or why there are none.
struct choice {
  const launch::matrix_unit_operation* fp16 = nullptr;
  const launch::matrix_unit_operation* bf16 = nullptr;
  std::string obstacle = {};
};

#if defined(SYCL_EXT_ONEAPI_MATRIX)

namespace units = sycl::ext::oneapi::experimental::matrix;
namespace query = sycl::ext::oneapi::experimental::info::device;

#if defined(SYCLAMP_AOT_TARGETS)
constexpr bool has_nvidia_blocks = launch::has_nvidia_blocks(SYCLAMP_AOT_TARGETS);
#else
constexpr bool has_nvidia_blocks = true;  // the run-time compiler reaches no NVIDIA GPU
#endif

/// The shapes that the device offers for FP16 and BF16 with sums in FP32.
std::vector<offered_shape> offered_shapes(const sycl::device& device) {
  std::vector<offered_shape> offered;
  for (const units::combination& shape : device.get_info<query::matrix_combinations>()) {
    const bool is_fp16 = shape.atype == units::matrix_type::fp16, is_bf16 = shape.atype == units::matrix_type::bf16;
    if ((is_fp16 || is_bf16) && shape.btype == shape.atype && shape.ctype == units::matrix_type::fp32 &&
        shape.dtype == units::matrix_type::fp32)
      offered.push_back({is_fp16 ? element_type::float16 : element_type::bfloat16, shape.msize, shape.nsize,
                         shape.ksize, shape.max_msize, shape.max_nsize, shape.max_ksize});
  }
  return offered;
}

choice choose_kernels(const engine& engine) {
  const sycl::device device = engine.queue().get_device();
  // Intel's CPU driver offers AMX blocks even where its code generator cannot emit them, and then ends the process.
  if (!device.is_gpu()) return {.obstacle = "it is used on GPUs only; on CPUs, oneMKL uses the matrix units"};
  if (facts_of(device).vendor_id == backends::amd_vendor)
    return {.obstacle =
                "it is disabled on AMD GPUs, because DPC++'s blocks give wrong results there; rocBLAS uses the matrix "
                "units"};
  try {
    const std::vector<offered_shape> offered = offered_shapes(device);
    if (offered.empty()) return {.obstacle = "the device has no matrix units for FP16 and BF16 with sums in FP32"};
    const auto sizes = device.get_info<sycl::info::device::sub_group_sizes>();
    const profile& tuning = engine.kernels().tuning();
    const block_shape* shape = choose_block_shape(offered, sizes, tuning);
    if (shape == nullptr)
      return {.obstacle =
                  fmt::format("the device's matrix units offer none of 16 x 16 x 16, 8 x 16 x 16 and 8 x 8 x 16 that "
                              "the profile {} can use: at least {} rows, and four or eight sub-groups of the device's "
                              "smallest size in {} work-items",
                              engine.profile_name(), tuning.blocks.min_block_rows, tuning.blocks.group_size)};
    if (facts_of(device).vendor_id == backends::nvidia_vendor && !has_nvidia_blocks)
      return {.obstacle =
                  "this build's code for NVIDIA GPUs has no blocks of BF16; build for sm_80 or later with "
                  "-DSYCLAMP_SYCL_TARGETS=nvidia_gpu_sm_80"};
    engine.kernels().prepare(*shape->fp16);  // a device's compiler may refuse what the device offers
    engine.kernels().prepare(*shape->bf16);
    return {shape->fp16, shape->bf16};
  } catch (const kernel_build_error& refused) {
    return {.obstacle = fmt::format("the device's compiler refuses its kernels ({})", refused.what())};
  } catch (const sycl::exception& failed) {
    return {.obstacle = fmt::format("the device does not report its matrix units ({})", failed.what())};
  }
}

#else

choice choose_kernels(const engine&) {
  return {.obstacle = "this SYCL has no joint_matrix (it is an extension of DPC++)"};
}

#endif

/// The choice for a device and a profile. It is made once, because it compiles kernels.
const choice& choice_of(const engine& engine) {
  static std::mutex mutex;
  static auto& known = *new std::unordered_map<sycl::device, std::map<std::string_view, choice>>;
  const std::scoped_lock lock(mutex);
  auto& profiles = known[engine.queue().get_device()];
  const auto found = profiles.find(engine.profile_name());
  if (found != profiles.end()) return found->second;
  return profiles.emplace(engine.profile_name(), choose_kernels(engine)).first->second;
}

class joint_matrix final : public path {
 public:
  std::string_view name() const override { return "joint_matrix"; }
  std::string_view note() const override { return "matrix units, FP32 sums; A and B both FP16 or both BF16"; }
  std::string obstacle(const engine& engine) const override { return choice_of(engine).obstacle; }
  std::string refusal(const problem& product) const override {
    if (product.a.type() == product.b.type() && bytes_per_element(product.a.type()) == 2) return {};
    return fmt::format("joint_matrix cannot multiply {} by {}", to_string(product.a.type()),
                       to_string(product.b.type()));
  }
  bool has_epilogue() const override { return true; }
  sycl::event submit(const engine& engine, const problem& product) const override {
    const bool is_half = product.a.type() == element_type::float16;
    const choice& kernels = choice_of(engine);
    return submit_tiles(engine, is_half ? *kernels.fp16 : *kernels.bf16, product);
  }
};

}  // namespace

const path& joint_matrix_path() {
  static const joint_matrix only;
  return only;
}

}  // namespace SYCLAMP_NAMESPACE::matrix
