#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The streaming kernels have enough bytes under way on the devices that have a target in tools/in_flight/devices.json.

Where a vendor's compiler has the version that tests/gpu/in_flight.json names, its rows must be those of the file, too.

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
from golden import differences, without_reason  # noqa: E402
from in_flight import collection  # noqa: E402


def as_text(data):
    """JSON with one line per kernel."""
    devices = ",\n".join(f"  {json.dumps(device)}: {{\n" + ",\n".join(f"   {json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
                         + "\n  }" for device, rows in data["devices"].items())
    rest = json.dumps({**data, "devices": "DEVICES"}, indent=1, ensure_ascii=False)
    return rest.replace('"DEVICES"', "{\n" + devices + "\n }") + "\n"


def row_complaints(golden, found, versions):
    """Where a compiler has the version of the file, but its rows are not those of the file."""
    for vendor, version in versions.items():
        if version == golden["compilers"].get(vendor, {}).get("version"):
            tables = [{f"{name} on {device}": row for device, rows in devices.items() if collection.vendor_of(device) == vendor
                       for name, row in rows.items()} for devices in (golden["devices"], found)]
            yield from differences(*tables, "run tests/gpu/in_flight_test.py --write")


def reason_complaints(golden):
    for device, kernels in golden["shortfalls"].items():
        for complaint in without_reason({"shortfalls": kernels}, "shortfalls", "tests/gpu/in_flight.json"):
            yield f"{device}: {complaint}"


def planted(data):
    """The figures as they are must pass, and faults in them must not."""
    def rows(device=None, kernel=None, part=None, value=None, version=None):
        """What is said about one changed row, or about figures without a kernel or a device."""
        found, versions = copy.deepcopy(data["devices"]), {vendor: version or made["version"] for vendor, made in data["compilers"].items()}
        if part:
            found[device][kernel][part] = value
        elif kernel:
            del found[device][kernel]
        elif device:
            del found[device]
        return list(row_complaints(data, found, versions))

    def reasons(*entry):
        return list(reason_complaints({"shortfalls": {"B200": {"sgd_step": dict(zip(("types", "reason"), (["BF16"], *entry)))}}}))

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
             "a pack is not found": (True, complaints("H100", "layer_norm_rows", "FP16", None)),
             "a kernel below its target is not listed": (True, complaints("B200", "sgd_step", "BF16", 24)),
             "a kernel below its target is listed": (False, complaints("B200", "sgd_step", "BF16", 24, short)),
             "a listed kernel falls further": (True, complaints("B200", "sgd_step", "BF16", 16, short)),
             "a shortfall without a target": (True, complaints(shortfalls={**data["shortfalls"], "A100": {"sgd_step": {"types": ["FP16"]}}})),
             "a shortfall without need": (True, complaints(shortfalls={**data["shortfalls"], **listed})),
             "rows as they are": (False, rows()),
             "another number of bytes": (True, rows("A100", "sgd_step", "FP16", 1)),
             "another number of bytes, another version": (False, rows("A100", "sgd_step", "FP16", 1, "another version")),
             "another number of work-items": (True, rows("B580", "sgd_step", "items", 1)),
             "a kernel is missing": (True, rows("MI300X", "sgd_step")),
             "a device is missing": (True, rows("A770")),
             "no compiler was found": (False, list(row_complaints(data, {}, {}))),
             "a new kernel": (True, list(row_complaints({**data, "devices": {}}, data["devices"], {"AMD": data["compilers"]["AMD"]["version"]}))),
             "a shortfall with a reason": (False, reasons("Why.")),
             "a shortfall with an empty reason": (True, reasons("")),
             "a shortfall without a reason": (True, reasons()),
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
    data = json.loads(DATA.read_text()) if DATA.exists() else {"compilers": {}, "shortfalls": {}, "devices": {}}
    if arguments.planted:
        return planted(data)
    found, versions, reasons = collection.collect(arguments.build, arguments.sycl)
    if arguments.write:
        made = {vendor: {"version": version, "date": str(datetime.date.today())} for vendor, version in versions.items()}
        data.update(compilers={**data["compilers"], **made}, devices={**data["devices"], **found})
        DATA.write_text(as_text(data))
    wrong = [*collection.complaints(found, data["shortfalls"]), *row_complaints(data, found, versions), *reason_complaints(data)]
    notes = [f"skipped for {reason}" for reason in reasons]
    for vendor, version in versions.items():
        kept = data["compilers"].get(vendor, {}).get("version")
        notes.append(f"{vendor}: {version}, " + ("exact figures" if version == kept else f"targets only, because the figures are of {kept}"))
    print("\n".join((*wrong, *notes, f"{len(found)} devices: {len(wrong)} complaints")))
    return bool(wrong) if found else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
