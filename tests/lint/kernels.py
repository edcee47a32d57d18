# SPDX-License-Identifier: Apache-2.0
"""Device code: no fp64, no float tests for Inf and NaN, no reductions or group algorithms, no vendor's #if."""
import pathlib
import re
import sys

FORBIDDEN = {
    r"\bdouble\b": "double needs an fp64 device (law 3)",
    r"\bsycl::(isnan|isinf|isfinite)\b": "Inf and NaN are tested on bits (law 1)",
    r"\bsycl::(reduction|reduce_over_group|joint_reduce|sub_group)\b": "not in the portable subset",
    r"\bsycl::(half|vec|sqrt|fma)\b": "slow or wrong on one of the compilers: use packs and builtins",
    r"\bswitch\b": "AdaptiveCpp's generic target crashes on jump tables in kernels with barriers",
    r"\batomic_ref\s*<\s*float\b": "no float atomics (law 3)",
    r"#\s*(el)?if.*(NVIDIA|CUDA|AMD|INTEL|HIP|NVPTX|AMDGCN|SPIR)": "no vendor's #if",
}


# joint_matrix belongs to sub-groups and has number types of its own; these are compiled for devices that have it only.
# target_blocks.hpp says which blocks of joint_matrix the compiler's target has, because compilers refuse the others. Feature tests
# show what NVIDIA's targets have. Nothing but the target's name shows SPIR-V, where the driver decides.
# group_reduction.hpp tests whether the compiler has shuffles.
ALLOWED = {("target_blocks.hpp", "no vendor's #if"), ("joint_blocks.hpp", "not in the portable subset"), ("group_reduction.hpp", "not in the portable subset"),
           *((f"gemm_joint_fp16{shape}.hpp", "slow or wrong on one of the compilers: use packs and builtins")
             for shape in ("", "_8x16", "_8x8")),
           ("target_blocks.hpp", "slow or wrong on one of the compilers: use packs and builtins")}


def code_of(text):
    """The text without comments, lines kept."""
    text = re.sub(r"/\*.*?\*/", lambda comment: "\n" * comment[0].count("\n"), text, flags=re.S)
    return re.sub(r"//[^\n]*", "", text)


found = [
    f"{path}:{number}: {line.strip()}: {why}"
    for path in sorted(pathlib.Path("sycl_kernels").rglob("*.hpp"))
    for number, line in enumerate(code_of(path.read_text()).splitlines(), 1)
    for pattern, why in FORBIDDEN.items()
    if (path.name, why) not in ALLOWED and re.search(pattern, line)
]
print("\n".join(found) or "kernels keep to the portable subset")
sys.exit(bool(found))
