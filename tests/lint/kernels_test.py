# SPDX-License-Identifier: Apache-2.0
"""The check of kernels must object to each of these lines, and to none of those that are right."""
from kernels import complaints
from planted import check

WRONG = (
    "double x;", "if (sycl::isnan(x)) return;", "if (!sycl::isfinite(x)) return;",
    "const float sum = sycl::reduce_over_group(item.item.get_group(), x, sycl::plus<>());", "auto sum = sycl::reduction(p, sycl::plus<>());",
    "x = joint_reduce(group, first, last, sycl::plus<>());", "x = exclusive_scan_over_group(group, x, sycl::plus<>());",
    "if (sycl::any_of_group(group, x)) return;", "x = group_broadcast(group, x);",
    "const sycl::sub_group neighbours;", "const auto neighbours = item.item.get_sub_group();",
    "using namespace sycl;\nconst sub_group neighbours = item.item.get_sub_group();",
    "const auto neighbours = sycl::ext::oneapi::this_work_item::get_sub_group();",
    "const auto neighbours = sycl::ext::oneapi::experimental::this_sub_group();", "#include <sycl/sub_group.hpp>",
    "x = sycl::permute_group_by_xor(neighbours, x, 1);", "x = permute_group_by_xor(neighbours, x, 1);",
    "x = sycl::shift_group_left(neighbours, x, 1);", "x = shift_group_right(neighbours, x, 1);",
    "x = sycl::select_from_group(neighbours, x, 0);", "sycl::half x;", "sycl::vec<float, 4> x;", "x = sycl::sqrt(x);",
    "switch (kind) {", "sycl::atomic_ref<float, order> all(*sum);", "#if defined(__NVPTX__)", "#  elif SYCL_EXT_INTEL_X",
    "/* a comment */ double x;", "// a comment\ndouble x;",
)
RIGHT = (
    "sycl::group_barrier(item.get_group());", "// a double, sycl::half and item.get_sub_group()", "/* permute_group_by_xor\n   double */", "float x;",
    "static constexpr unsigned sub_group_size = 16;", "using group_reduction = sub_group_tree<32>;",
    "const float sum = reduce_over_group<GroupSize>(item, shared, x);", "sycl::atomic_ref<unsigned, order> count(*counter);",
    "#if __has_include(<sycl/feature_test.hpp>)",
)
SHUFFLE = "const auto neighbours = item.item.get_sub_group();\nx = sycl::permute_group_by_xor(neighbours, x, 1);"
JOINT = "joint_matrix<sycl::sub_group, float> sums;\nconst auto members = item.item.get_sub_group();"

check(complaints,
      wrong={**{f"sycl_kernels/walk/wrong_{number}.hpp": line for number, line in enumerate(WRONG)},
             # What one file may use, others of its folder or of its name may not.
             "sycl_kernels/base/work_group.hpp": SHUFFLE, "sycl_kernels/walk/group_reduction.hpp": SHUFFLE,
             "sycl_kernels/matrix/gemm.hpp": JOINT, "sycl_kernels/matrix/gemm_joint_fp16.hpp": JOINT,
             "sycl_kernels/matrix/joint_blocks.hpp": "sycl::half x;", "sycl_kernels/matrix/target_blocks.hpp": "double x;",
             "sycl_kernels/nn/group.hpp": "x = sycl::reduce_over_group(group, x, sycl::plus<>());"},
      right={**{f"sycl_kernels/walk/right_{number}.hpp": line for number, line in enumerate(RIGHT)},
             "sycl_kernels/base/group_reduction.hpp": SHUFFLE, "sycl_kernels/matrix/gemm_joint_fp16_8x8.hpp": "sycl::half x;",
             "src/engine/facts.cpp": "double x;"})
