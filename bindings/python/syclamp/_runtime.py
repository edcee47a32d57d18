# SPDX-License-Identifier: Apache-2.0
"""Checks, before the library is loaded, that the process has no other SYCL runtime."""

import re

from ._build import SYCL_LIBRARY

_LIBSYCL = re.compile(r"/libsycl\.so\.(\d+)")


def check_runtime(maps: str = "/proc/self/maps") -> None:
    """Raises ImportError if another version of libsycl is already in the process.

    Two versions in one process would share symbols and crash later.
    """
    try:
        with open(maps, encoding="utf-8", errors="replace") as lines:
            loaded = sorted({line.split(None, 5)[5].strip() for line in lines if "/libsycl.so." in line})
    except OSError:  # no /proc
        return
    for file in loaded:
        match = _LIBSYCL.search(file)
        if match and f"libsycl.so.{match[1]}" != SYCL_LIBRARY:
            raise ImportError(
                f"syclamp needs {SYCL_LIBRARY}, but the process has already loaded libsycl.so.{match[1]} ({file}). "
                "Two SYCL runtimes do not work in one process: install versions of both packages that use the same "
                "runtime, or use them in separate processes."
            )
