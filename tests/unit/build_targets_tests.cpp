// SPDX-License-Identifier: Apache-2.0
#include "launch/build_targets.hpp"

#include <catch2/catch_test_macros.hpp>

using syclamp::launch::has_nvidia_blocks;

TEST_CASE("a build has blocks of NVIDIA's matrix units if all its code for NVIDIA GPUs is for sm_80 or later") {
  CHECK(has_nvidia_blocks("nvidia_gpu_sm_80"));
  CHECK(has_nvidia_blocks("nvidia_gpu_sm_90a"));
  CHECK(has_nvidia_blocks("spir64,nvidia_gpu_sm_100"));
  CHECK(has_nvidia_blocks("nvidia_gpu_sm_80,nvidia_gpu_sm_90"));
  CHECK_FALSE(has_nvidia_blocks("nvidia_gpu_sm_75"));
  CHECK_FALSE(has_nvidia_blocks("nvidia_gpu_sm_90,nvidia_gpu_sm_75"));
  CHECK_FALSE(has_nvidia_blocks("nvptx64-nvidia-cuda"));
  CHECK_FALSE(has_nvidia_blocks("nvidia_gpu_sm_80,nvptx64-nvidia-cuda"));
  CHECK_FALSE(has_nvidia_blocks("amd_gpu_gfx90a"));
  CHECK_FALSE(has_nvidia_blocks(""));
}
