# SPDX-License-Identifier: Apache-2.0
"""Checks that each folder includes only what it may. Folders are the rules; docs/architecture.md explains them.

An include is named by what it reaches: the folder of this project that ALLOWED knows it by, `sycl`, `std` (any other <…>
without a dot or of the C library), or `other` (a third party's). The longest prefix of ALLOWED that fits a file decides.
"""
import os
import pathlib
import re
import sys

from sources import cpp_files

INCLUDE = re.compile(r'\s*#\s*include\s*["<]([^">]+)[">]')
SUBJECTS = ("engine", "launch", "tensors", "scaler", "optimizer", "state", "matrix", "nn")
# A subject of src/ includes itself and those to its left; modules are on the right, so the core includes none of them.
BELOW = {f"src/{name}": {f"src/{left}" for left in SUBJECTS[: index + 1]} for index, name in enumerate(SUBJECTS)}
HOST = {"std", "sycl", "include", "backends", "src/support", "sycl_kernels/shared", "other"}
# What `syclamp verify` shares with the tests: the oracle, cases that are described for library and oracle, simulated ranks.
CASES = {"tests/support/formats.hpp", "tests/support/optimizer_cases.hpp", "tests/support/simulated_ranks.hpp"}
ORACLE = {"tests/reference"} | CASES

ALLOWED = {
    "include": {"std", "sycl", "include"},
    "include/syclamp/matrix": {"std", "sycl", "include", "include/syclamp/matrix"},
    "include/syclamp/nn": {"std", "sycl", "include", "include/syclamp/matrix", "include/syclamp/nn"},
    "include/syclamp/syclamp.h": {"include/syclamp/c"},
    "include/syclamp/c": {"std", "include/syclamp/c"},  # C99: no header of C++, none of SYCL
    "bindings/c": {"std", "sycl", "other", "include", "include/syclamp/c", "bindings/c"},
    **{folder: HOST | below for folder, below in BELOW.items()},
    "src/engine": HOST | {"src/engine", "src/launch"},  # an engine has its kernels, and kernels log and end as the engine does
    "src/launch": HOST | {"src/engine", "src/launch", "include/syclamp/matrix"},
    "src/launch/aot": HOST | {"src/launch", "src/launch/aot", "include/syclamp/matrix", "sycl_kernels"},
    "src/matrix": HOST | BELOW["src/matrix"] | {"include/syclamp/matrix"},
    "src/nn": HOST | BELOW["src/nn"] | {"include/syclamp/matrix", "include/syclamp/nn"},
    "src/support": {"std", "include", "src/support", "sycl_kernels/shared", "other"},
    "sycl_kernels": {"std", "sycl", "sycl_kernels", "sycl_kernels/shared", "record"},
    "sycl_kernels/shared": {"std", "sycl_kernels/shared", "record"},
    "backends": {"std", "backends", "sycl_kernels/shared"},
    "apps": {"std", "sycl", "include", "include/syclamp/matrix", "include/syclamp/nn", "src/support", "apps", "apps/training",
             "apps/verify", "bench", "other"},
    "apps/verify": {"std", "sycl", "include", "include/syclamp/matrix", "include/syclamp/nn", "apps", "apps/verify", "bench",
                    "other"} | ORACLE,
    "apps/training": {"std", "sycl", "include", "include/syclamp/matrix", "include/syclamp/nn", "src/support", "apps/training",
                      "other"},
    "bindings": {"std", "sycl", "include", "bindings", "other"},
    "bench": {"std", "sycl", "include", "src/support", "bench", "other"},
    "examples": {"std", "sycl", "include", "include/syclamp/matrix", "include/syclamp/nn"},
    "examples/interop": {"std", "sycl", "include", "other"},
    "examples/c": {"std", "include/syclamp/syclamp.h"},
    "tests": HOST | {f"src/{name}" for name in SUBJECTS} | {"include/syclamp/matrix", "include/syclamp/nn", "apps/training", "apps/verify",
                                                         "tests"} | ORACLE,
    "tests/c": {"std", "sycl", "other", "include/syclamp/syclamp.h", "include/syclamp/c", "tests", "tests/c"},
    "tests/emulator": HOST | {"src/launch", "include/syclamp/matrix", "src/matrix", "tests", "tools/emulator", "tests/emulator"} | ORACLE,
    **{file: {"std", "include", "tests/reference"} for file in CASES},
    "tests/reference": {"std", "tests/reference"},
    "tools": {"std"},
    "tools/emulator": {"std", "other", "tools/emulator"},
    "tools/emulator/kernel_library.cpp": {"std", "sycl", "other", "src/launch", "tools/emulator"},
    "tools/emulator/report.cpp": {"std", "sycl", "other", "include", "include/syclamp/matrix", "include/syclamp/nn", "src/launch", "src/matrix",
                                  "tools/emulator"},
    "tools/kernel_source.cpp": {"std", "backends", "src/launch"},
    "tools/ready_kernels.cpp": {"std", "sycl", "include", "backends", "src/launch", "src/support"},
    "cmake": {"std", "sycl"},
}
# Records are public headers that the device compilers see: sycl_kernels/ includes them, and they include only each other.
RECORD = {"std", "record"}
STANDARD = re.compile(r"^[a-z_0-9]+$|^(std[a-z]+|dirent|dlfcn|fcntl|float|math|pwd|spawn|string|unistd|link)\.h$|^sys/")


def included(path):
    return [(number, match[1]) for number, line in enumerate(path.read_text().splitlines(), 1) if (match := INCLUDE.match(line))]


def folder_of(path):
    """The folder of ALLOWED that the file belongs to."""
    return max((rule for rule in ALLOWED if f"{path}/".startswith(f"{rule}/")), key=len)


def records(root):
    shared = (root / "sycl_kernels/shared").glob("*.hpp")
    macros = {pathlib.Path("include/syclamp/export.hpp")}  # for every public header, and therefore for records
    return macros | {pathlib.Path("include", name) for file in shared for _, name in included(file) if name.startswith("syclamp/")}


def reach(root, path, name, seen_by_devices):
    """What `#include name` in the file `path` reaches; how it is quoted makes no difference."""
    for candidate in (path.parent / name, pathlib.Path(name), pathlib.Path("src") / name, pathlib.Path("include") / name):
        candidate = pathlib.Path(os.path.normpath(candidate))
        if (root / candidate).is_file() and any(f"{candidate}/".startswith(f"{rule}/") for rule in ALLOWED):
            by_device = path.parts[0] == "sycl_kernels" or path in seen_by_devices
            return "record" if by_device and candidate in seen_by_devices else folder_of(candidate)
    if name.startswith("sycl/"):
        return "sycl"
    return "std" if STANDARD.match(name) else "other"


def complaints(root=pathlib.Path()):
    seen_by_devices = records(root)
    for path in cpp_files(root):
        path = path.relative_to(root)
        allowed = RECORD if path in seen_by_devices else ALLOWED[folder_of(path)]
        for number, name in included(root / path):
            reached = reach(root, path, name, seen_by_devices)
            if reached not in allowed:
                yield f"{path}:{number}: may not include {name} ({reached}); allowed: {', '.join(sorted(allowed))}"


if __name__ == "__main__":
    found = list(complaints())
    print("\n".join(found) or "every include is allowed")
    sys.exit(bool(found))
