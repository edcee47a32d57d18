# SPDX-License-Identifier: Apache-2.0
"""Device code: no fp64, no float tests for Inf and NaN, no reductions or group algorithms, sub-groups in two files only, no vendor's #if."""
import pathlib
import re
import sys

NUMBERS = "slow or wrong on one of the compilers: use packs and builtins"
SUB_GROUPS = "not every compiler has sub-groups: use base/group_reduction.hpp or matrix/joint_blocks.hpp"
VENDORS = "no vendor's #if"
FORBIDDEN = {
    r"\bdouble\b": "double needs an fp64 device (law 3)",
    r"\bsycl::(isnan|isinf|isfinite)\b": "Inf and NaN are tested on bits (law 1)",
    r"\bsycl::(reduction|reduce_over_group)\b|\bjoint_(reduce|any_of|all_of|none_of|(in|ex)clusive_scan)\b": "not in the portable subset",
    r"\b(in|ex)clusive_scan_over_group\b|\b(any|all|none)_of_group\b|\bgroup_broadcast\b": "not in the portable subset",
    r"\b((get|this)_)?sub_group\b": SUB_GROUPS,
    r"\b(permute_group_by_xor|shift_group_(left|right)|select_from_group)\b": SUB_GROUPS,
    r"\bsycl::(half|vec|sqrt|fma)\b": NUMBERS,
    r"\bswitch\b": "AdaptiveCpp's generic target crashes on jump tables in kernels with barriers",
    r"\batomic_ref\s*<\s*float\b": "no float atomics (law 3)",
    r"#\s*(el)?if.*(NVIDIA|CUDA|AMD|INTEL|HIP|NVPTX|AMDGCN|SPIR)": VENDORS,
}

# joint_matrix belongs to sub-groups and has number types of its own; these are compiled for devices that have it only.
# target_blocks.hpp says which blocks of joint_matrix the compiler's target has, because compilers refuse the others. Feature tests
# show what NVIDIA's targets have. Nothing but the target's name shows SPIR-V, where the driver decides.
# group_reduction.hpp tests whether the compiler has shuffles.
ALLOWED = {("base/group_reduction.hpp", SUB_GROUPS), ("matrix/joint_blocks.hpp", SUB_GROUPS), ("matrix/target_blocks.hpp", VENDORS),
           *((f"matrix/{name}.hpp", NUMBERS)
             for name in ("gemm_joint_fp16", "gemm_joint_fp16_8x16", "gemm_joint_fp16_8x8", "target_blocks"))}


def code_of(text):
    """The text without comments, lines kept."""
    text = re.sub(r"/\*.*?\*/", lambda comment: "\n" * comment[0].count("\n"), text, flags=re.S)
    return re.sub(r"//[^\n]*", "", text)


def complaints(root=pathlib.Path()):
    kernels = root / "sycl_kernels"
    for path in sorted(kernels.rglob("*.hpp")):
        for number, line in enumerate(code_of(path.read_text()).splitlines(), 1):
            for pattern, why in FORBIDDEN.items():
                if (path.relative_to(kernels).as_posix(), why) not in ALLOWED and re.search(pattern, line):
                    yield f"{path.relative_to(root)}:{number}: {line.strip()}: {why}"


if __name__ == "__main__":
    found = list(complaints())
    print("\n".join(found) or "kernels keep to the portable subset")
    sys.exit(bool(found))
