# SPDX-License-Identifier: Apache-2.0
"""Bytes in flight of the streaming kernels on every device of devices.json, from what the vendors' compilers make of the kernels."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import gpu_spirv
from amd import compiler as amd_compiler
from in_flight import kernels, residency
from intel import compiler as intel_compiler
from ptx import figures

DATA = json.loads((pathlib.Path(__file__).parent / "devices.json").read_text())
DEVICES, TARGETS = DATA["devices"], DATA["targets"]
CLASSES = ("inspect", "convert", "apply", "other streams", "rows")


def codes(profile):
    return [device["code"] for device in DEVICES.values() if device["profile"] == profile]


def profiles(vendor):
    """The profiles of a vendor's devices."""
    return list(dict.fromkeys(device["profile"] for device in DEVICES.values() if device["profile"].startswith(f"{vendor}_")))


def row(kernel, profile, items, loops):
    """The work-items of a kernel on a compute unit and the bytes that each of them has under way, by type."""
    by_type = {name: kernels.bytes_per_item(kernel, profile, name, loops) for name in kernels.types(kernel)}
    return {"items": items, **by_type}


def nvidia_rows(build, sycl):
    if figures.find_ptxas() is None or figures.find_nvdisasm() is None:
        raise gpu_spirv.missing("ptxas or nvdisasm is neither in PATH nor in the cache; run tools/ptx/fetch")
    others = [family for family in figures.families() if family not in kernels.families()]
    found = figures.collect(build, sycl, ["sm_75", *codes("nvidia_gpu")], others)
    rows = {name: figure for family in found.values() for name, figure in family.items()}
    for device, facts in DEVICES.items():
        if facts["profile"] == "nvidia_gpu":
            yield device, {name: row(name, "nvidia_gpu", residency.nvidia(
                facts, group_size(name, "nvidia_gpu"), figure["registers"][facts["code"]], figure["local memory"]),
                figure["loops"][facts["code"]]) for name, figure in rows.items() if kernels.operation_class(name)}


def group_size(kernel, profile):
    return kernels.numbers(profile, kernels.operation_class(kernel)[1])["group_size"]


def from_spirv(build, vendor, program, items):
    """`items(facts, group, figures, local)` are the work-items on a compute unit."""
    if program is None:
        raise gpu_spirv.missing(f"the compiler is not in the cache; run tools/{vendor}/fetch")
    names = {family.replace("/", "-") for family in kernels.families()}
    for profile in profiles(vendor):
        ready = {name: data for name, data in gpu_spirv.ready_kernels(build, profile).items() if name in names}
        found = gpu_spirv.compile_all(program, ready, codes(profile))
        for device, facts in DEVICES.items():
            if facts["profile"] == profile:
                yield device, {name: row(name, profile, items(facts, group_size(name, profile), figure, result["loops"][name]),
                                         result["loops"][name]["loops"])
                               for result in found[facts["code"]].values() for name, figure in result.get("kernels", {}).items()
                               if kernels.operation_class(name)}


def amd_rows(build, _):
    return from_spirv(build, "amd", amd_compiler.find(), lambda facts, group, figure, _: residency.amd(
        facts, group, figure["vgprs"], figure["local memory"]))


def intel_rows(build, _):
    return from_spirv(build, "intel", intel_compiler.find(), lambda facts, group, figure, code: residency.intel(
        facts, group, figure["simd"], figure["registers"], code["local memory"]))


def nvidia_version():
    return f"{figures.ptxas_version()}, {figures.tool_version(figures.find_nvdisasm())}"


# {vendor: (what its rows are made with, the version of its compiler)}
VENDORS = {"NVIDIA": (nvidia_rows, nvidia_version), "AMD": (amd_rows, lambda: amd_compiler.find().version),
           "Intel": (intel_rows, lambda: intel_compiler.find().version)}


def vendor_of(device):
    return next(vendor for vendor in VENDORS if DEVICES[device]["profile"].startswith(f"{vendor.lower()}_"))


def collect(build, sycl):
    """({device: {kernel: row}}, {vendor: version of its compiler}, [why a vendor was left out])"""
    found, versions, reasons = {}, {}, []
    for vendor, (vendor_rows, version) in VENDORS.items():
        try:
            found.update((device, dict(sorted(rows.items()))) for device, rows in vendor_rows(build, sycl))
            versions[vendor] = version()
        except gpu_spirv.missing as problem:
            reasons.append(f"{vendor}: {problem}")
    return {device: found[device] for device in DEVICES if device in found}, versions, reasons


def least(rows, class_name, type_name):
    """(bytes per compute unit, kernel) of the kernel of a class that has the fewest."""
    candidates = [((figure[type_name] or 0) * figure["items"], name) for name, figure in rows.items()
                  if kernels.operation_class(name)[0] == class_name and type_name in kernels.types(name)]
    return min(candidates)


LEAST_SHARE = 0.75  # of the need: a kernel that is on the list of shortfalls must not fall further


def complaints(found, shortfalls):
    """What is below its target and not on the list of shortfalls, and what is on the list without need."""
    for device, rows in found.items():
        needed = residency.needed(DEVICES[device])
        for name, figure in rows.items():
            target = TARGETS.get(device, {}).get(kernels.operation_class(name)[0])
            for type_name in kernels.types(name):
                if figure[type_name] is None:
                    yield f"{name} on {device}: no loop with the loads for {type_name}; see tools/in_flight/kernels.py"
                    continue
                reached = figure[type_name] * figure["items"]
                is_listed = type_name in shortfalls.get(device, {}).get(name, {}).get("types", ())
                if is_listed and not target:
                    yield f'{name} on {device}, {type_name}: has no target; take it out of "shortfalls" in tests/gpu/in_flight.json'
                    continue
                if is_listed and reached < LEAST_SHARE * needed:
                    yield (f"{name} on {device}, {type_name}: {reached / 1000:.1f} KB under way are less than {LEAST_SHARE} times "
                           f"{needed / 1000:.1f} KB, too few even for a listed shortfall; load more packs before the first use")
                if target and reached < target * needed and not is_listed:
                    yield (f"{name} on {device}, {type_name}: {reached / 1000:.1f} KB under way, and {target} times "
                           f"{needed / 1000:.1f} KB are needed; change bytes_in_flight in backends/, or use fewer registers")
                if is_listed and reached >= target * needed:
                    yield f'{name} on {device}, {type_name}: reaches the target; take it out of "shortfalls" in tests/gpu/in_flight.json'
