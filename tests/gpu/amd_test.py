#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every kernel compiles with LLVM for AMD GPUs, with the profile that each has, within the figures of tests/gpu/amd.json.

    amd_test.py [--build FOLDER]            compares; ends with status 77 if the compiler is not in the cache
    amd_test.py [--build FOLDER] --write    writes the figures of the compiler in the cache
"""
import argparse
import datetime
import json
import pathlib
import sys

from golden import by_kernel, amd_complaints, load_report, rows_as_text

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/gpu/amd.json"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    golden = json.loads(DATA.read_text())
    program, found = load_report("amd").collect(arguments.build, list(golden["devices"]))
    if arguments.write:
        golden.update(compiler=program.version, date=str(datetime.date.today()), kernels=by_kernel(found))
        DATA.write_text(rows_as_text(golden))
    wrong = list(amd_complaints(golden, program.version, found))
    same = "exact figures" if program.version == golden["compiler"] else f"errors, flat accesses and new spills only, because the figures are of {golden['compiler']}"
    print("\n".join((*wrong, f"{program.version}: {len(by_kernel(found))} kernels on {', '.join(found)}, {same}: {len(wrong)} complaints")))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
