#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every kernel compiles with Intel's GPU compiler for the profile of each device, within the figures of tests/gpu/intel.json.

    intel_test.py [--build FOLDER] [--sycl FOLDER]            compares; ends with status 77 if the compiler is not in the cache
    intel_test.py [--build FOLDER] [--sycl FOLDER] --write    writes the figures of the compiler in the cache
"""
import argparse
import datetime
import json
import pathlib
import sys

from golden import by_kernel, intel_complaints, load_report, rows_as_text

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/gpu/intel.json"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--sycl", type=pathlib.Path, default=ROOT / ".syclamp/sycl")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    golden = json.loads(DATA.read_text())
    report = load_report("intel")
    profiles = {device: report.PROFILES[device] for device in golden["devices"]}
    profiles.update((device, entry["profile"]) for device, entry in golden["checked_devices"].items())
    program, found = report.collect(arguments.build, arguments.sycl, profiles)
    if arguments.write:
        golden.update(compiler=program.version, date=str(datetime.date.today()), kernels=by_kernel({device: found[device] for device in golden["devices"]}))
        DATA.write_text(rows_as_text(golden))
    wrong = list(intel_complaints(golden, program.version, found, program.versions_by_name()))
    same = "exact figures"
    if program.version != golden["compiler"]:
        same = f"only errors, FP64, new spills and sub-groups of matrix units, because the figures are of {golden['compiler']}"
    print("\n".join((*wrong, f"{program.version}: {len(by_kernel(found))} kernels on {', '.join(found)}, {same}: {len(wrong)} complaints")))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
