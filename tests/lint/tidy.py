# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy over the library, the program, what it trains and the benchmarks.   tidy.py CLANG_TIDY BUILD_FOLDER"""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

tool, build = sys.argv[1], pathlib.Path(sys.argv[2])
commands = json.loads((build / "compile_commands.json").read_text())
root = pathlib.Path().resolve()
files = [c["file"] for c in commands if pathlib.Path(c["file"]).is_relative_to(root) and build not in pathlib.Path(c["file"]).parents]
files = [f for f in files if pathlib.Path(f).relative_to(root).parts[0] in ("src", "apps", "bench", "training")]


def tidy(file):
    call = [tool, "--quiet", "-p", str(build), "--extra-arg=-Wno-unknown-warning-option", file]
    return subprocess.run(call, capture_output=True, text=True)


with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    runs = list(pool.map(tidy, files))
for run in runs:
    if run.returncode:
        print(run.stdout, run.stderr)
print(f"{len(files)} files read")
sys.exit(not files or any(run.returncode for run in runs))
