#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The device pass of the preset `cuda`: src/launch/aot/instances.cpp compiles for the GPUs that the preset names.

    cuda_preset_test.py --all-kernels FOLDER [--build FOLDER] [--sycl FOLDER] [--targets VALUE]

Every kernel of every profile goes through the front end of DPC++'s in-process compiler, without optimisations. Code for the
device is not made: tests/gpu/nvidia_test.py does so for the profile nvidia_gpu. --targets takes the place of the preset's
SYCLAMP_SYCL_TARGETS. Ends with status 77 where the compiler or a C++ compiler for the driving program is missing.
"""
import argparse
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
sys.path.insert(0, str(ROOT / "tools"))
from ptx import figures  # noqa: E402


def preset_targets():
    presets = json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]
    return next(preset for preset in presets if preset["name"] == "cuda")["cacheVariables"]["SYCLAMP_SYCL_TARGETS"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--sycl", type=pathlib.Path, default=ROOT / ".syclamp/sycl")
    parser.add_argument("--all-kernels", type=pathlib.Path, required=True, help="folder of all_kernels.hpp, which CMake writes")
    parser.add_argument("--targets", default=preset_targets())
    arguments = parser.parse_args()
    if not (arguments.sycl / "lib/libsycl-jit.so").exists():
        print(f"skipped: the in-process compiler {arguments.sycl}/lib/libsycl-jit.so is missing; run ./run setup")
        return SKIPPED
    cxx = shlex.split(os.environ.get("CXX", "c++"))[0]
    if shutil.which(cxx) is None:
        print(f"skipped: the C++ compiler {cxx} is missing")
        return SKIPPED

    folder = arguments.build / "ptx"
    folder.mkdir(parents=True, exist_ok=True)
    program = figures.load_ptx_tool().compiler(folder)
    named = re.fullmatch(r"nvidia_gpu_(sm_\w+)", arguments.targets)
    options = [*([f"--arch={named[1]}"] if named else []), *(f"-I{ROOT / part}" for part in ("", "src", "include")),
               f"-I{arguments.all_kernels}", "-std=c++20", "-ffp-contract=off", "-Xclang", "-disable-llvm-passes",
               f'-DSYCLAMP_AOT_TARGETS="{arguments.targets}"']
    library = os.pathsep.join(filter(None, (str(arguments.sycl / "lib"), os.environ.get("LD_LIBRARY_PATH"))))
    done = subprocess.run([program, ROOT / "src/launch/aot/instances.cpp", "--check", *options], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, "LD_LIBRARY_PATH": library})
    print(done.stdout + f"{arguments.targets}: " + ("no errors" if done.returncode == 0 else f"status {done.returncode}"))
    return done.returncode != 0


if __name__ == "__main__":
    sys.exit(main())
