// SPDX-License-Identifier: Apache-2.0
#include "matrix/block_shape.hpp"

#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "backends/profiles.hpp"

using namespace syclamp;
using namespace syclamp::matrix;

namespace {

/// The same shapes for FP16 and BF16.
std::vector<offered_shape> both(std::vector<offered_shape> shapes) {
  const std::size_t count = shapes.size();
  for (std::size_t i = 0; i < count; ++i) {
    shapes.push_back(shapes[i]);
    shapes.back().type = element_type::bfloat16;
  }
  return shapes;
}

// Sizes are exact, or 0 with a maximum: rows, columns, depth; maximum of each.
constexpr auto fp16 = element_type::float16;
const std::vector<offered_shape> arc_a = both({{fp16, 0, 8, 16, 8, 0, 0}, {fp16, 32, 32, 16, 0, 0, 0}});
const std::vector<offered_shape> xe_hpc = both({{fp16, 0, 16, 16, 8, 0, 0}, {fp16, 16, 16, 16, 0, 0, 0}});
const std::vector<offered_shape> eight_rows = both({{fp16, 0, 16, 16, 8, 0, 0}});
const std::vector<offered_shape> tensor_cores =
    both({{fp16, 16, 16, 16, 0, 0, 0}, {fp16, 8, 32, 16, 0, 0, 0}, {fp16, 32, 8, 16, 0, 0, 0}});
const std::vector<std::size_t> of_arc_a{8, 16, 32}, of_xe_hpc{16, 32}, of_nvidia{32};

/// A profile with work-groups of this size for matrix units, and with no blocks of fewer rows.
profile with_blocks(std::uint32_t group_size, std::uint32_t min_rows) {
  profile tuned = *backends::find("generic");
  tuned.blocks.group_size = group_size;
  tuned.blocks.min_block_rows = min_rows;
  return tuned;
}

}  // namespace

TEST_CASE("gemm with matrix units uses the largest block that the device offers") {
  CHECK(choose_block_shape(tensor_cores, of_nvidia, with_blocks(128, 16)) == &block_shapes[0]);
  CHECK(choose_block_shape(xe_hpc, of_xe_hpc, with_blocks(64, 8)) == &block_shapes[0]);
  CHECK(choose_block_shape(eight_rows, of_xe_hpc, with_blocks(64, 8)) == &block_shapes[1]);
  CHECK(choose_block_shape(arc_a, of_arc_a, with_blocks(64, 8)) == &block_shapes[2]);
}

TEST_CASE("gemm with matrix units is not used where the device has no fitting blocks or sub-groups") {
  CHECK(choose_block_shape({}, of_xe_hpc, with_blocks(64, 8)) == nullptr);
  CHECK(choose_block_shape(arc_a, of_xe_hpc, with_blocks(64, 8)) == nullptr);  // blocks of 8 × 8 need sub-groups of 8
  CHECK(choose_block_shape(xe_hpc, of_nvidia, with_blocks(64, 8)) == nullptr);
  CHECK(choose_block_shape(xe_hpc, of_xe_hpc, with_blocks(128, 8)) == nullptr);  // four sub-groups of 32
  CHECK(choose_block_shape(arc_a, of_arc_a, with_blocks(128, 8)) == nullptr);    // eight of 16
  CHECK(choose_block_shape(xe_hpc, {}, with_blocks(64, 8)) == nullptr);
  const std::vector<offered_shape> other_depth = both({{fp16, 16, 16, 8, 0, 0, 0}});
  CHECK(choose_block_shape(other_depth, of_xe_hpc, with_blocks(64, 8)) == nullptr);
  const std::vector<offered_shape> only_fp16{{fp16, 16, 16, 16, 0, 0, 0}};
  CHECK(choose_block_shape(only_fp16, of_xe_hpc, with_blocks(64, 8)) == nullptr);
}

TEST_CASE("gemm with matrix units never chooses blocks with fewer rows than the profile has kernels for") {
  CHECK(choose_block_shape(eight_rows, of_xe_hpc, with_blocks(64, 8)) == &block_shapes[1]);
  CHECK(choose_block_shape(eight_rows, of_xe_hpc, with_blocks(64, 16)) == nullptr);
  CHECK(choose_block_shape(xe_hpc, of_xe_hpc, with_blocks(64, 16)) == &block_shapes[0]);
}
