#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Registers, stack, spills and access widths of every kernel of the profile nvidia_gpu are those of tests/gpu/nvidia.json.

    nvidia_test.py [--build FOLDER] [--sycl FOLDER]            compares; ends with status 77 if ptxas is not found
    nvidia_test.py [--build FOLDER] [--sycl FOLDER] --write    writes the figures of the ptxas that was found
"""
import argparse
import datetime
import json
import pathlib
import sys

from golden import nvidia_complaints, rows_as_text

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/gpu/nvidia.json"
SKIPPED = 77
sys.path.insert(0, str(ROOT / "tools"))
from ptx import figures  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--sycl", type=pathlib.Path, default=ROOT / ".syclamp/sycl")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    if figures.find_ptxas() is None:
        print("skipped: ptxas is neither in PATH nor in the cache; run tools/ptx/fetch")
        return SKIPPED
    golden, version = json.loads(DATA.read_text()), figures.ptxas_version()
    families = figures.collect(arguments.build, arguments.sycl, golden["architectures"], golden["not_compiled"])
    found = dict(sorted((name, {part: row[part] for part in row if part != "loops"})
                        for kernels in families.values() for name, row in kernels.items()))
    if arguments.write:
        golden.update(assembler=version, date=str(datetime.date.today()), kernels=found)
        DATA.write_text(rows_as_text(golden))
    wrong = list(nvidia_complaints(golden, version, found))
    same = "exact figures" if version == golden["assembler"] else f"spills and accesses only, because the figures are of {golden['assembler']}"
    print("\n".join((*wrong, f"{version}: {len(found)} kernels on {', '.join(golden['architectures'])}, {same}: {len(wrong)} complaints")))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
