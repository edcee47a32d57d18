# SPDX-License-Identifier: Apache-2.0
"""The C++ files of the checkout."""
import pathlib

FOLDERS = ("include", "src", "sycl_kernels", "backends", "apps", "bindings", "bench", "examples", "tests", "tools", "cmake")


def cpp_files(root=pathlib.Path()):
    return sorted(
        path for folder in FOLDERS for path in (root / folder).rglob("*") if path.suffix in (".hpp", ".cpp")
    )
