#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The device pass of the presets for GPUs: src/launch/aot/instances.cpp compiles for the GPUs that a preset is for.

    preset_test.py --preset cuda|hip|level_zero --all-kernels FOLDER [--build FOLDER] [--sycl FOLDER] [--targets VALUE]

Every kernel of every profile goes through the front end of DPC++'s in-process compiler, without optimisations. SPIR-V is made as well, and
every kernel in it must state the size of its work-groups. PTX and amdgcn code are not made: nvidia_test.py and amd_test.py do so for the
profiles of these GPUs. --targets takes the place of the preset's SYCLAMP_SYCL_TARGETS.

The test must also report faults: a kernel with an exception for each target, in SPIR-V a kernel without a size of its work-groups, and
for NVIDIA GPUs a build for sm_75 that claims to be one for the preset's target. Results are kept in the cache until a source changes. Ends
with status 77 where the compiler or a C++ compiler for the driving program is missing.
"""
import argparse
import array
import inspect
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
import gpu_cache  # noqa: E402
from ptx import figures  # noqa: E402

INSTANCES = ROOT / "src/launch/aot/instances.cpp"
# Besides the preset's own target: what docs/devices.md says that it can be built for.
OTHER_TARGETS = {"cuda": [], "hip": ["amd_gpu_gfx942", "amd_gpu_gfx1100"], "level_zero": []}
FAULTY_KERNEL = """#include <sycl/sycl.hpp>
void submit(sycl::queue& queue, int* numbers) {
  queue.parallel_for(sycl::range<1>(4), [=](sycl::id<1> i) {
    if (numbers[i] == 0) throw 1;
  });
}
"""
KERNEL_WITHOUT_SIZE = """#include <sycl/sycl.hpp>
void submit(sycl::queue& queue, int* numbers) {
  queue.parallel_for(sycl::nd_range<1>(4, 2), [=](sycl::nd_item<1> item) { numbers[item.get_global_id(0)] = 0; });
}
"""
WITHOUT_SIZE_ERROR = "does not state the size of its work-groups"
FAULTY_KERNEL_ERROR = "SYCL kernel cannot use exceptions"
WRONG_TARGET_ERROR = "host code would use matrix units for which there is no device code"


def target_of(name):
    presets = json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]
    return next(preset for preset in presets if preset["name"] == name)["cacheVariables"]["SYCLAMP_SYCL_TARGETS"]


def kernels_without_size(spirv):
    """The kernels of a file of SPIR-V that do not state the size of their work-groups."""
    magic, entry_point, execution_mode, local_size = 0x07230203, 15, 16, 17
    words, at, names, sized, module = array.array("I", spirv), 0, {}, set(), 0
    while at < len(words):
        length, operation = words[at] >> 16, words[at] & 0xFFFF
        if words[at] == magic:  # modules follow each other, and each has its own numbers
            module, length = module + 1, 5
        elif operation == entry_point:
            names[module, words[at + 2]] = words[at + 3:at + length].tobytes().split(b"\0")[0].decode()
        elif operation == execution_mode and words[at + 2] == local_size:
            sized.add((module, words[at + 1]))
        at += length
    if not names:
        sys.exit("the compiler's SPIR-V has no kernels; read its new form in tests/gpu/preset_test.py")
    return [name for kernel, name in names.items() if kernel not in sized]


class front_end:
    def __init__(self, build, sycl, all_kernels):
        self.folder = build / "ptx"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.program = figures.load_ptx_tool().compiler(self.folder)
        self.library = sycl / "lib"
        self.options = [*(f"-I{ROOT / part}" for part in ("", "src", "include")), f"-I{all_kernels}", "-std=c++20", "-ffp-contract=off",
                        "-Xclang", "-disable-llvm-passes"]
        headers = [file for part in ("src", "include", "backends", "sycl_kernels") for file in sorted((ROOT / part).rglob("*"))
                   if file.suffix in (".hpp", ".inc", ".def")]
        jit = (self.library / "libsycl-jit.so").stat()
        self.depends = (jit.st_size, jit.st_mtime_ns, (ROOT / "tools/ptx/compile_ptx.cpp").read_text(),
                        inspect.getsource(kernels_without_size),
                        *(text for file in (*headers, all_kernels / "all_kernels.hpp") for text in (file.name, file.read_text())))

    def compile(self, source, target, claimed, expected_error=None):
        """(exit status, output) of a source for `target`. The build claims to be for the target `claimed`. Unexpected errors are not cached."""
        named = re.fullmatch(r"(?:nvidia|amd)_gpu_(\w+)", target)
        goal = [self.folder / f"{source.stem}.spv"] if target == "spir64" else ["--check", *([f"--arch={named[1]}"] if named else [])]
        command = [*goal, *self.options, f'-DSYCLAMP_AOT_TARGETS="{claimed}"']

        def run():
            library = os.pathsep.join(filter(None, (str(self.library), os.environ.get("LD_LIBRARY_PATH"))))
            done = subprocess.run([self.program, source, *command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  env={**os.environ, "LD_LIBRARY_PATH": library})
            if done.returncode < 0:
                sys.exit(f"{done.stdout}the compiler was ended by signal {-done.returncode}; it may need more memory")
            unsized = kernels_without_size(goal[0].read_bytes()) if target == "spir64" and done.returncode == 0 else []
            return [done.returncode or len(unsized), done.stdout + "".join(f"{name} {WITHOUT_SIZE_ERROR}\n" for name in unsized)]

        return gpu_cache.remembered("presets", (*self.depends, source.read_text(), *command), run,
                                    is_kept=lambda result: result[0] == 0 or (expected_error and expected_error in result[1]))


def complaints(compiler, preset, targets):
    """What is wrong with a preset, and with the test itself."""
    faulty, unsized = compiler.folder / "faulty_kernel.cpp", compiler.folder / "kernel_without_size.cpp"
    faulty.write_text(FAULTY_KERNEL)
    unsized.write_text(KERNEL_WITHOUT_SIZE)
    for target in targets:
        status, output = compiler.compile(INSTANCES, target, target)
        if status != 0:
            yield (f"{output}{target}: the sources of the preset {preset} do not compile, or src/launch/aot/instances.cpp lacks "
                   f"SYCLAMP_WORK_GROUPS: status {status}")
        status, output = compiler.compile(faulty, target, target, FAULTY_KERNEL_ERROR)
        if status == 0 or FAULTY_KERNEL_ERROR not in output:
            yield f"{output}{target}: a kernel with an exception was not refused; see open_device_library in tools/ptx/compile_ptx.cpp"
        if target == "spir64":
            status, output = compiler.compile(unsized, target, target, WITHOUT_SIZE_ERROR)
            if status == 0 or WITHOUT_SIZE_ERROR not in output:
                yield (f"{output}{target}: a kernel without a size of its work-groups was not found; see kernels_without_size in "
                       "tests/gpu/preset_test.py")
    if preset == "cuda":
        status, output = compiler.compile(INSTANCES, "nvidia_gpu_sm_75", target_of(preset), WRONG_TARGET_ERROR)
        if status == 0 or WRONG_TARGET_ERROR not in output:
            yield f"{output}code for sm_75 in a build for {target_of(preset)} was not refused; see src/launch/aot/instances.cpp"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--sycl", type=pathlib.Path, default=ROOT / ".syclamp/sycl")
    parser.add_argument("--all-kernels", type=pathlib.Path, required=True, help="folder of all_kernels.hpp, which CMake writes")
    parser.add_argument("--preset", choices=tuple(OTHER_TARGETS), required=True)
    parser.add_argument("--targets")
    arguments = parser.parse_args()
    targets = [arguments.targets] if arguments.targets else [target_of(arguments.preset), *OTHER_TARGETS[arguments.preset]]
    if not (arguments.sycl / "lib/libsycl-jit.so").exists():
        print(f"skipped: the in-process compiler {arguments.sycl}/lib/libsycl-jit.so is missing; run ./run setup")
        return SKIPPED
    cxx = shlex.split(os.environ.get("CXX", "c++"))[0]
    if shutil.which(cxx) is None:
        print(f"skipped: the C++ compiler {cxx} is missing")
        return SKIPPED
    wrong = list(complaints(front_end(arguments.build, arguments.sycl, arguments.all_kernels), arguments.preset, targets))
    print("\n".join((*wrong, f"{', '.join(targets)}: {len(wrong)} complaints")))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
