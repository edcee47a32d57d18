# SPDX-License-Identifier: Apache-2.0
"""Compiles the ahead-of-time sources without making code: no preset of CI builds them.

   ahead_of_time.py CLANG_TIDY SYCL_INCLUDE ALL_KERNELS_FOLDER

Kernels need a clang, and clang-tidy is one. Every operation is instantiated for every profile, so the test fails if a kernel and
its row in src/launch/operations.def disagree. What is compiled is the host's part of SYCL. tests/gpu/cuda_preset_test.py compiles
the same sources as device code for NVIDIA GPUs. No test compiles them as device code for Intel or AMD GPUs.
"""
import pathlib
import subprocess
import sys

SKIPPED = 77
tool, sycl, all_kernels = sys.argv[1:]
if not pathlib.Path(tool).exists():
    print(f"skipped: {tool} is missing; ./run lint installs it")
    sys.exit(SKIPPED)

options = ["-std=c++20", "-I.", "-Isrc", "-Iinclude", f"-I{all_kernels}", "-isystem", sycl, "-w",
           "-DSYCL_DISABLE_FSYCL_SYCLHPP_WARNING", '-DSYCLAMP_AOT_COMPILER="none"']
sources = sorted(map(str, pathlib.Path("src/launch/aot").glob("*.cpp")))
call = [tool, "--quiet", "--config={}", "--checks=-*,llvm-twine-local", *sources, "--", *options]  # it wants a check: a cheap one
done = subprocess.run(call, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
print(done.stdout or f"{', '.join(sources)} compile")
sys.exit(done.returncode != 0 or not sources)
