#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants faults in kernels and shows that the emulated tests find each of them.

    planted_faults.py BUILD_FOLDER SYCL_FOLDER [NAME…]

A fault is a change of a kernel's source, which is compiled to PTX again, or of the PTX itself. Then one test case runs, which
passes without the fault. It must end with the fault of the emulator that is named in the table, or with a failed check.
"""
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
AFTER_FAULT = 99  # exit status of a test program: tools/emulator/exit_status.hpp
CHECK = "a failed check"


@dataclasses.dataclass
class Fault:
    name: str
    family: str
    file: str  # a kernel header, or "" for the PTX of the family
    pattern: str  # regular expression; every match is replaced
    replacement: str
    case: str  # a test case of Catch2
    expected: str  # a kind of fault, or CHECK
    program: str = "emulated_device_tests"
    count: int = 0  # of replacements; 0: all


FAULTS = [
    Fault("barrier removed from a reduction", "tensors/inspect", "sycl_kernels/base/work_group.hpp",
          r"item\.barrier\(\);\s*// `shared` may be used again at once", ";",
          "inspect finds a bad element wherever it is - float16", "race in local memory"),
    Fault("barrier removed before the tree of a reduction", "tensors/inspect", "sycl_kernels/base/work_group.hpp",
          r"item\.barrier\(\);", ";", "inspect finds a bad element wherever it is - float16", "uninitialised memory"),
    Fault("barrier that one work-item skips", "tensors/inspect", "sycl_kernels/base/work_group.hpp",
          r"item\.barrier\(\);\s*// `shared` may be used again at once", "if (item.id != 7) item.barrier();",
          "inspect finds a bad element wherever it is - float16", "missed barrier"),
    Fault("lane mask of half a warp", "nn/losses", "", r"(shfl\.sync\.bfly\.b32 .*), -1;", r"\1, 65535;",
          "softmax cross-entropy and its gradient, times the loss scale - float16", "shuffle without all its lanes"),
    Fault("barrier removed between sub-groups", "nn/losses", "sycl_kernels/base/group_reduction.hpp", r"item\.barrier\(\);", ";",
          "softmax cross-entropy and its gradient, times the loss scale - float16", "uninitialised memory"),
    Fault("barrier removed after the sum of sub-groups", "nn/layer_norm", "sycl_kernels/base/group_reduction.hpp",
          r"item\.barrier\(\);\s*// `shared` may be used again at once", ";",
          "layer norm and its gradients - float16", "race in local memory"),
    Fault("distance of a shuffle too small", "nn/losses", "", r"(shfl\.sync\.bfly\.b32 .*), 16, 31", r"\1, 8, 31",
          "softmax cross-entropy and its gradient, times the loss scale - float16", CHECK),
    Fault("alignment test removed", "tensors/inspect", "sycl_kernels/walk/segment.hpp",
          r"return table_\.addresses\[tensor_\] % bytes == 0;", "return bytes != 0;",
          "inspect gives the same bits at every alignment - float16", "misaligned access"),
    Fault("aligned packs of a matrix loaded from another place", "matrix/gemm_joint_fp16", "sycl_kernels/walk/tile.hpp",
          r"load_pack<Lanes, \(GroupSize > 1\)>\(from, 0\)", "load_pack<Lanes, (GroupSize > 1)>(start_, 0)",
          "the kernels for matrix units multiply FP16 and BF16 matrices with wmma", CHECK),
    Fault("aligned packs of a product doubled", "matrix/gemm_joint_fp16", "sycl_kernels/walk/tile.hpp",
          r"whole_pack<Lanes, true>\{first\}, sum,", "whole_pack<Lanes, true>{first}, sum + sum,",
          "the kernels for matrix units multiply FP16 and BF16 matrices with wmma", CHECK),
    Fault("bounds test removed", "tensors/clip", "sycl_kernels/tensors/clip.hpp", r"if \(i >= count\) return;", "",
          "each group is clipped by its own norm, of any kind", "out of bounds"),
    Fault("operands swapped", "optimizer/rules/adam", "", r"sub\.rn\.f32 \t(%r\d+), (%r\d+), (%r\d+);",
          r"sub.rn.f32 \t\1, \3, \2;", "a step of each optimizer is what its definition says - float16", CHECK,
          "emulated_optimizer_tests"),
    Fault("minimum for maximum", "tensors/inspect", "sycl_kernels/tensors/statistics.hpp", r"__builtin_elementwise_max\(worst",
          "__builtin_elementwise_min(worst", "inspect agrees with the oracle at every size - float32", CHECK),
    Fault("minimum for maximum in words of two elements", "tensors/inspect", "sycl_kernels/tensors/statistics.hpp",
          r"__builtin_elementwise_max\((lower|upper)_worst", r"__builtin_elementwise_min(\1_worst",
          "inspect agrees with the oracle at every size - float16", CHECK),
    Fault("compensation of chunks inverted", "tensors/inspect", "sycl_kernels/base/wide_sum.hpp", r"sum \+ lost : infinite",
          "sum - lost : infinite", "chunks add up exactly, in sums, counts and places beyond 2^32", CHECK),
    Fault("compensation of a second reading inverted", "tensors/inspect", "sycl_kernels/tensors/inspect.hpp",
          r"\(squares \+ lost\)", "(squares - lost)",
          "small elements count beside large ones, also in units of their own", CHECK),
    Fault("ticket order relaxed", "scaler/inspect_step", "sycl_kernels/base/counter.hpp", "__ATOMIC_ACQ_REL", "__ATOMIC_RELAXED",
          "what a step sees of many chunks is what the oracle sees, whichever of them is bad", "race in global memory"),
    Fault("ticket of too small a scope", "scaler/inspect_step", "",
          r"atom\.acq_rel\.gpu\.global\.add\.u32", "atom.acq_rel.cta.global.add.u32",
          "what a step sees of many chunks is what the oracle sees, whichever of them is bad", "race in global memory"),
    Fault("local memory that nobody has written", "tensors/inspect", "", r"(?m)^\s*st\.shared\.b64 .*$", "",
          "inspect finds a bad element wherever it is - float16", "uninitialised memory"),
    Fault("counters that are atomic for one group only", "tensors/exponents", "",
          r"atom\.relaxed\.gpu\.global\.add", "atom.relaxed.cta.global.add", "the histogram counts exponents, and no zeros - float16",
          "race in global memory"),
    Fault("counters in local memory that nobody has cleared", "tensors/exponents", "sycl_kernels/tensors/exponents.hpp",
          r"bins\[i\] = 0;", ";", "the histogram counts exponents, and no zeros - float16", "uninitialised memory"),
]


def changed(text, fault):
    result, count = re.subn(fault.pattern, fault.replacement, text, count=fault.count)
    if count == 0:
        raise SystemExit(f"planted_faults: \"{fault.name}\": {fault.file or fault.family} has no match for {fault.pattern}")
    return result


def plant(fault, build, sycl, folder):
    """Writes the PTX of the family with the fault into a folder."""
    if not fault.file:
        name = fault.family.replace("/", "-") + ".ptx"
        (folder / name).write_text(changed((build / "tests/emulator/ptx" / name).read_text(), fault))
        return
    kernels = folder / "kernels"
    shutil.copytree(ROOT / "sycl_kernels", kernels / "sycl_kernels")
    header = kernels / fault.file
    header.write_text(changed(header.read_text(), fault))
    subprocess.run([sys.executable, ROOT / "tools/ptx/ptx", fault.family, "--output", folder, "--kernels", kernels, "--build", build,
                    "--sycl", sycl], check=True)


def outcome(fault, build, folder):
    """What the test case ends with: a kind of fault, CHECK, or what was unexpected."""
    environment = {**os.environ, "SYCLAMP_PROFILE": "nvidia_gpu", "SYCLAMP_EMULATOR_PTX": str(folder)}
    case = re.sub(r"([,\[\]*\\])", r"\\\1", fault.case)
    done = subprocess.run([build / "bin" / fault.program, case], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=environment)
    if done.returncode == AFTER_FAULT:
        found = re.search(r"^emulator: ([a-z -]+):", done.stdout, flags=re.M)
        return found[1] if found else done.stdout
    if done.returncode == 0 or "assertion" not in done.stdout:
        return "nothing: the test case passed" if done.returncode == 0 else done.stdout
    return CHECK


def main():
    build, sycl, names = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]), sys.argv[3:]
    faults = [fault for fault in FAULTS if not names or fault.name in names]
    missed = []

    def try_one(fault):
        with tempfile.TemporaryDirectory() as folder:
            plant(fault, build, sycl, pathlib.Path(folder))
            return fault, outcome(fault, build, folder)

    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        for fault, found in pool.map(try_one, faults):
            is_found = found == fault.expected
            print(f"{'found ' if is_found else 'MISSED'}  {fault.name}: {found}" + ("" if is_found else f" (expected: {fault.expected})"),
                  flush=True)
            if not is_found:
                missed.append(fault.name)
    if missed or not faults:
        raise SystemExit(f"planted_faults: {len(missed)} of {len(faults)} faults were not found as expected")


if __name__ == "__main__":
    main()
