# SPDX-License-Identifier: Apache-2.0
"""Plants faults in the figures of the repository. Each must be reported, and the figures as they are must not."""
import copy
import json
import pathlib
import sys

from golden import intel_complaints, nvidia_complaints

HERE = pathlib.Path(__file__).parent
OTHER = "another version"
INTEL, NVIDIA = (json.loads((HERE / name).read_text()) for name in ("intel.json", "nvidia.json"))


def intel_found():
    """What the compiler would have to return for the figures to be right."""
    found = {device: {name: {"kernels": {name: row[device]}} for name, row in INTEL["kernels"].items() if device in row}
             for device in INTEL["devices"]}
    for family, entry in INTEL["refused"].items():
        for device in entry["devices"]:
            found[device][family] = {"error": "refused"}
    return found


def plant(data, path, value):
    """A copy with one value changed, or removed if the value is None."""
    changed = copy.deepcopy(data)
    *outer, last = path
    place = changed
    for part in outer:
        place = place[part]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return changed


def intel_cases():
    version, found = INTEL["compiler"], intel_found()
    kernel = next(name for name, row in INTEL["kernels"].items() if "dg2" in row and name not in INTEL["spills"])
    spilling = next(iter(INTEL["spills"]))
    figures = ("dg2", kernel, "kernels", kernel)
    more = plant(found, (*figures, "registers"), 256)
    spill = plant(found, (*figures, "spill"), 64)
    yield "figures as they are", False, (INTEL, version, found)
    yield "figures as they are, another version", False, (INTEL, OTHER, found)
    yield "a golden number was changed", True, (plant(INTEL, ("kernels", kernel, "dg2", "simd"), 1), version, found)
    yield "a kernel needs more registers", True, (INTEL, version, more)
    yield "a kernel needs more registers, another version", False, (INTEL, OTHER, more)
    yield "a kernel spills", True, (INTEL, version, spill)
    yield "a kernel spills, another version", True, (INTEL, OTHER, spill)
    yield "the list of spills is empty", True, (plant(INTEL, ("spills",), {}), version, found)
    yield "the list of spills is empty, another version", True, (plant(INTEL, ("spills",), {}), OTHER, found)
    yield "a listed kernel no longer spills", True, (plant(INTEL, ("spills", kernel), {"devices": ["dg2"]}), version, found)
    yield "FP64 on a device without it", True, (INTEL, OTHER, plant(found, (*figures, "fp64"), 1))
    yield "the compiler fails", True, (INTEL, OTHER, plant(found, ("pvc", kernel), {"error": "internal compiler error"}))
    yield "a kernel is missing", True, (plant(INTEL, ("kernels", spilling), None), version, found)


def nvidia_cases():
    version, found, kernel = NVIDIA["assembler"], NVIDIA["kernels"], "inspect_chunks"
    more = plant(found, (kernel, "registers", "sm_90"), 99)
    generic = plant(found, (kernel, "accesses", "ld.v4.b32"), 1)
    yield "figures as they are", False, (NVIDIA, version, found)
    yield "figures as they are, another version", False, (NVIDIA, OTHER, found)
    yield "a golden number was changed", True, (plant(NVIDIA, ("kernels", kernel, "registers", "sm_75"), 1), version, found)
    yield "a kernel needs more registers", True, (NVIDIA, version, more)
    yield "a kernel needs more registers, another version", False, (NVIDIA, OTHER, more)
    yield "a kernel spills", True, (NVIDIA, OTHER, plant(found, (kernel, "spilled", "sm_80"), 8))
    yield "a kernel has a stack", True, (NVIDIA, OTHER, plant(found, (kernel, "stack", "sm_80"), 8))
    yield "a generic load", True, (NVIDIA, OTHER, generic)
    yield "another width", True, (NVIDIA, OTHER, plant(found, (kernel, "accesses", "ld.global.v4.b32"), None))
    yield "a kernel is missing", True, (NVIDIA, version, plant(found, (kernel,), None))


wrong = 0
for vendor, check, cases in (("intel", intel_complaints, intel_cases()), ("nvidia", nvidia_complaints, nvidia_cases())):
    for name, is_fault, arguments in cases:
        complaints = list(check(*arguments))
        if bool(complaints) != is_fault:
            wrong += 1
            print(f"{vendor}: {name}: {complaints or 'not reported'}")
print(f"{wrong} cases are wrong")
sys.exit(bool(wrong))
