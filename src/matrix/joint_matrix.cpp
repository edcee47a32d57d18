// SPDX-License-Identifier: Apache-2.0
// Matrix units through DPC++'s joint_matrix: Tensor Cores of NVIDIA GPUs (ahead of time only, as the run-time compiler
// does not reach them) and XMX of Intel GPUs. Not yet run on hardware: all but the instruction itself is tested on CPUs
// (gemm_blocks), and what it becomes on NVIDIA is in docs/gpu-code.md.
#include <algorithm>

#include <fmt/format.h>

#include "backends/profiles.hpp"
#include "engine/device_facts.hpp"
#include "matrix/tiles.hpp"

namespace SYCLAMP_NAMESPACE::matrix {
namespace {

#if defined(SYCL_EXT_ONEAPI_MATRIX)

namespace units = sycl::ext::oneapi::experimental::matrix;
namespace query = sycl::ext::oneapi::experimental::info::device;

/// True if the device multiplies blocks of 16 × 16 × 16 of this type with sums in FP32.
bool multiplies(const sycl::device& device, units::matrix_type type) {
  const auto has = [](std::size_t exact, std::size_t most) { return exact == 16 || (exact == 0 && most >= 16); };
  return std::ranges::any_of(device.get_info<query::matrix_combinations>(), [&](const units::combination& shape) {
    return shape.atype == type && shape.btype == type && shape.ctype == units::matrix_type::fp32 &&
           shape.dtype == units::matrix_type::fp32 && has(shape.msize, shape.max_msize) &&
           has(shape.nsize, shape.max_nsize) && has(shape.ksize, shape.max_ksize);
  });
}

std::string obstacle_of(const engine& engine) {
  const sycl::device device = engine.queue().get_device();
  if (facts_of(device).vendor_id == backends::amd_vendor && device.is_gpu())
    return "it is disabled on AMD GPUs until it has been verified on one";
  try {
    if (!multiplies(device, units::matrix_type::fp16) || !multiplies(device, units::matrix_type::bf16))
      return "the device has no matrix units for FP16 and BF16 in blocks of 16 x 16 x 16";
    const std::size_t members = engine.kernels().tuning().blocks.group_size / 4;
    const auto sizes = device.get_info<sycl::info::device::sub_group_sizes>();
    if (std::ranges::find(sizes, members) == sizes.end())
      return fmt::format("the profile {} needs sub-groups of {} work-items, which the device does not have",
                         engine.profile_name(), members);
  } catch (const sycl::exception& failed) {
    return fmt::format("the device does not report its matrix units ({})", failed.what());
  }
  return {};
}

#else

std::string obstacle_of(const engine&) { return "this SYCL has no joint_matrix (it is an extension of DPC++)"; }

#endif

class joint_matrix final : public path {
 public:
  std::string_view name() const override { return "joint_matrix"; }
  std::string_view note() const override { return "matrix units, FP32 sums; A and B both FP16 or both BF16"; }
  std::string obstacle(const engine& engine) const override { return obstacle_of(engine); }
  std::string refusal(const problem& product) const override {
    if (product.a.type() == product.b.type() && bytes_per_element(product.a.type()) == 2) return {};
    return fmt::format("joint_matrix cannot multiply {} by {}", to_string(product.a.type()),
                       to_string(product.b.type()));
  }
  bool has_epilogue() const override { return true; }
  sycl::event submit(const engine& engine, const problem& product) const override {
    const bool is_half = product.a.type() == element_type::float16;
    return submit_tiles(engine, is_half ? launch::gemm_joint_fp16 : launch::gemm_joint_bf16, product);
  }
};

}  // namespace

const path& joint_matrix_path() {
  static const joint_matrix only;
  return only;
}

}  // namespace SYCLAMP_NAMESPACE::matrix
