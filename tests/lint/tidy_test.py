# SPDX-License-Identifier: Apache-2.0
"""tidy.py with a stand-in for clang-tidy: which files it reads, and that a warning is neither lost nor remembered as clean."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

TIDY = pathlib.Path(__file__).with_name("tidy.py")
TOOL = """#!/bin/sh
if [ "$1" = --version ]; then cat version; exit; fi
for file; do :; done
echo "${file##*/}" >> read
! grep -q WRONG "$file"
"""
PRECOMPILED = "-Winvalid-pch -include x/cmake_pch.hxx"


def expect(names, why, *options, status=0):
    """Runs tidy.py; it must read these files and end with this status."""
    pathlib.Path("read").write_text("")
    done = subprocess.run([sys.executable, TIDY, *options, "./tool", "build"], capture_output=True, text=True,
                          env={**os.environ, "SYCLAMP_LINT_CACHE": "cache"})
    found = sorted(pathlib.Path("read").read_text().split())
    if found != sorted(names) or done.returncode != status:
        sys.exit(f"{why}: {found} were read instead of {sorted(names)}, status {done.returncode}\n{done.stdout}{done.stderr}")


def write(path, text):
    pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
    pathlib.Path(path).write_text(text)


def write_commands(options=""):
    here = os.getcwd()
    write("build/compile_commands.json", json.dumps([
        {"directory": f"{here}/build", "file": f"{here}/{name}",
         "command": f"c++ -I{here}/include {options} {PRECOMPILED} -c {here}/{name}"}
        for name in ("src/engine/a.cpp", "src/engine/b.cpp", "build/made.cpp")]))


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    os.environ.pop("XDG_CACHE_HOME", None)
    write("tool", TOOL)
    os.chmod("tool", 0o755)
    write("version", "1")
    write(".clang-tidy", "Checks: a")
    write("setup/tidy.lock", "1")
    write("sycl_kernels/.clang-tidy", "Checks: b")
    write("sycl_kernels/add.hpp", "")
    write("include/deep.hpp", "int deep;")
    write("include/direct.hpp", '#  include "deep.hpp"')
    write("src/engine/a.cpp", "#include <direct.hpp>\n")
    write("src/engine/b.cpp", "#include <vector>\n")
    write("build/made.cpp", "")
    write_commands()
    everything = ["a.cpp", "b.cpp", "kernels.cpp"]

    expect(everything, "the first run")
    if "pch" in pathlib.Path("build/lint/compile_commands.json").read_text():
        sys.exit("clang-tidy is told of a precompiled header")
    expect([], "nothing has changed")
    expect(everything, "--all", "--all")
    write("include/deep.hpp", "long deep;")
    expect(["a.cpp"], "a header that is included by a header")
    write("sycl_kernels/add.hpp", "int add;")
    expect(["kernels.cpp"], "a kernel")
    write("sycl_kernels/.clang-tidy", "Checks: c")
    expect(["kernels.cpp"], "the configuration of the kernels")
    write(".clang-tidy", "Checks: d")
    expect(everything, "the configuration")
    write("version", "2")
    expect(everything, "another release of clang-tidy")
    write_commands("-DX")
    expect(everything, "the compiler's options")
    write("src/engine/b.cpp", "WRONG")
    expect(["b.cpp"], "a warning", status=1)
    expect(["b.cpp"], "a warning that is still there", status=1)
    write("src/engine/b.cpp", "#include <vector>\n")
    expect([], "the warning is gone, as it was before")
print("clang-tidy reads what has changed")
