# SPDX-License-Identifier: Apache-2.0
"""Checks that each folder includes only what the table of docs/architecture.md lets it include.

An include is named by what it reaches: a folder of this project, `sycl`, `std` (any other <…> without a dot or of the C
library), or `other` (a third party's). The longest prefix of RULES that fits a file decides.
"""
import os
import pathlib
import re
import sys

from sources import cpp_files

INCLUDE = re.compile(r'\s*#\s*include\s*["<]([^">]+)[">]')


def included(path):
    return [(number, match[1]) for number, line in enumerate(path.read_text().splitlines(), 1) if (match := INCLUDE.match(line))]


# Files of sycl_kernels/ that host code includes as well: the records that both sides see, and the rules of the scaler.
SHARED = tuple(
    pathlib.Path("sycl_kernels", name)
    for name in ("layout.hpp", "log2.hpp", "optimizer_layout.hpp", "scale_number.hpp", "scale_rule.hpp", "scaler_layout.hpp")
)


def records(root):
    """Public headers that the device compilers see as well; they may include the standard library and each other."""
    files = [root / path for path in SHARED if (root / path).is_file()]
    return {name for file in files for _, name in included(file) if name.startswith("syclamp/")}


RULES = {
    "include/": {"std", "sycl", "include"},
    "src/": {"std", "sycl", "include", "backends", "src", "support", "layout", "other"},
    "src/launch/aot/": {"std", "sycl", "include", "backends", "src", "support", "layout", "other", "sycl_kernels"},
    "src/support/": {"std", "include", "support", "other"},
    "sycl_kernels/": {"std", "sycl", "sycl_kernels", "layout"},
    **{str(path): {"std", "record", "layout"} for path in SHARED},
    "backends/": {"std", "backends"},
    "apps/": {"std", "sycl", "include", "support", "apps", "bench", "training", "other"},
    "bench/": {"std", "sycl", "include", "bench", "other"},
    "training/": {"std", "sycl", "include", "support", "training", "other"},
    "examples/": {"std", "sycl", "include"},
    "tests/reference/": {"std", "tests/reference"},
    "tests/": {"std", "sycl", "include", "src", "support", "backends", "layout", "training", "tests", "tests/reference", "other"},
    "tools/": {"std"},
    "cmake/": {"std", "sycl"},
}
OURS = ("src", "sycl_kernels", "backends", "apps", "bench", "training", "tests")
STANDARD = re.compile(r"^[a-z_0-9]+$|^(std[a-z]+|dirent|dlfcn|fcntl|pwd|spawn|unistd|link)\.h$|^sys/")


def reach(root, path, name):
    """What `#include name` in the file `path` reaches; how it is quoted makes no difference."""
    for candidate in (path.parent / name, pathlib.Path(name), pathlib.Path("src") / name):
        candidate = pathlib.Path(os.path.normpath(candidate))
        if (root / candidate).is_file() and candidate.parts[0] in OURS:
            if candidate in SHARED:
                return "layout"
            if candidate.parts[:2] == ("tests", "reference"):
                return "tests/reference"
            if candidate.parts[:2] == ("src", "support"):
                return "support"
            return candidate.parts[0]
    if name.startswith("syclamp/"):
        seen_by_devices = path.parts[0] == "sycl_kernels" or str(path).removeprefix("include/") in records(root)
        return "record" if seen_by_devices and name in records(root) else "include"
    if name.startswith("sycl/"):
        return "sycl"
    return "std" if STANDARD.match(name) else "other"


def complaints(root=pathlib.Path()):
    for path in cpp_files(root):
        path = path.relative_to(root)
        allowed = RULES[max((rule for rule in RULES if str(path).startswith(rule)), key=len)]
        if str(path).removeprefix("include/") in records(root):
            allowed = {"std", "record"}
        for number, name in included(root / path):
            reached = reach(root, path, name)
            if reached not in allowed:
                yield f"{path}:{number}: may not include {name} ({reached}); allowed: {', '.join(sorted(allowed))}"


if __name__ == "__main__":
    found = list(complaints())
    print("\n".join(found) or "every include is allowed")
    sys.exit(bool(found))
