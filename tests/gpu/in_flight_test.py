#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The streaming kernels have enough bytes under way on the devices that have a target in tools/in_flight/devices.json.

    in_flight_test.py [--build FOLDER] [--sycl FOLDER]            by the compilers that are found; status 77 if none is
    in_flight_test.py [--build FOLDER] [--sycl FOLDER] --write    writes the figures to tests/gpu/in_flight.json
    in_flight_test.py --planted                                   plants faults in the figures; each must be reported
"""
import argparse
import copy
import datetime
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/gpu/in_flight.json"
SKIPPED = 77
sys.path.insert(0, str(ROOT / "tools"))
from in_flight import collection  # noqa: E402


def as_text(data):
    """JSON with one line per kernel."""
    devices = ",\n".join(f"  {json.dumps(device)}: {{\n" + ",\n".join(f"   {json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
                         + "\n  }" for device, rows in data["devices"].items())
    rest = json.dumps({**data, "devices": "DEVICES"}, indent=1, ensure_ascii=False)
    return rest.replace('"DEVICES"', "{\n" + devices + "\n }") + "\n"


def planted(data):
    """The figures as they are must pass, and faults in them must not."""
    def complaints(device=None, kernel=None, part=None, value=None, shortfalls=None):
        changed = copy.deepcopy(data["devices"])
        if device:
            changed[device][kernel][part] = value
        return list(collection.complaints(changed, data["shortfalls"] if shortfalls is None else shortfalls))

    listed = {"H100": {"adam_step": {"types": ["FP16"]}}}
    short = {"B200": {"sgd_step": {"types": ["BF16"]}}}
    cases = {"figures as they are": (False, complaints()),
             "one pack under way": (True, complaints("H100", "inspect_chunks", "FP16", 8)),
             "half the work-items": (True, complaints("H100", "convert_list", "items", 256)),
             "a loop is not found": (True, complaints("B200", "adam_step", "BF16", None)),
             "a kernel below its target is not listed": (True, complaints("B200", "sgd_step", "BF16", 24)),
             "a kernel below its target is listed": (False, complaints("B200", "sgd_step", "BF16", 24, short)),
             "a listed kernel falls further": (True, complaints("B200", "sgd_step", "BF16", 16, short)),
             "a shortfall without a target": (True, complaints(shortfalls={**data["shortfalls"], "A100": {"sgd_step": {"types": ["FP16"]}}})),
             "a shortfall without need": (True, complaints(shortfalls={**data["shortfalls"], **listed})),
             "less than a device without a target needs": (False, complaints("A100", "sgd_step", "FP16", 1))}
    wrong = [name for name, (is_fault, found) in cases.items() if bool(found) != is_fault]
    print("\n".join((*(f"{name}: {cases[name][1] or 'not reported'}" for name in wrong), f"{len(wrong)} cases are wrong")))
    return bool(wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--sycl", type=pathlib.Path, default=ROOT / ".syclamp/sycl")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--planted", action="store_true")
    arguments = parser.parse_args()
    data = json.loads(DATA.read_text()) if DATA.exists() else {"date": "", "shortfalls": {}, "devices": {}}
    if arguments.planted:
        return planted(data)
    found, reasons = collection.collect(arguments.build, arguments.sycl)
    if arguments.write:
        data.update(date=str(datetime.date.today()), devices={**data["devices"], **found})
        DATA.write_text(as_text(data))
    wrong = list(collection.complaints(found, data["shortfalls"]))
    print("\n".join((*wrong, *(f"left out: {reason}" for reason in reasons), f"{len(found)} devices: {len(wrong)} complaints")))
    return bool(wrong) if found else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
