# SPDX-License-Identifier: Apache-2.0
"""Plants faults in the figures of the repository. Each must be reported, and the figures as they are must not."""
import copy
import json
import pathlib
import sys

from golden import amd_complaints, intel_complaints, nvidia_complaints

HERE = pathlib.Path(__file__).resolve().parent
OTHER = "another version"
INTEL, NVIDIA, AMD = (json.loads((HERE / name).read_text()) for name in ("intel.json", "nvidia.json", "amd.json"))
sys.path.insert(0, str(HERE.parents[1] / "tools"))
from amd import compiler as amd_compiler  # noqa: E402
from ptx import figures as ptx_figures  # noqa: E402

# A kernel with one access and a stack, and a function that it calls: what each of them has is put in.
PTX = """.func called(.param .b64 p);
.visible .entry __sycl_kernel_syclamp_{kernel}_1(.param .b64 p)
{{
  ld.global.b32 %r1, [%rd1];
  call.uni called, (param0);
}}
.func called(.param .b64 p)
{{
  {access} %r1, [%rd1];
}}
"""
PTXAS = """ptxas info    : Compiling entry function '__sycl_kernel_syclamp_{kernel}_1' for 'sm_80'
ptxas info    : Function properties for __sycl_kernel_syclamp_{kernel}_1
    {stack} bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 18 registers, used 0 barriers, 400 bytes cmem[0]
ptxas info    : Function properties for called
    {called_stack} bytes stack frame, {called_spills} bytes spill stores, 0 bytes spill loads
"""
ASSEMBLY = """__sycl_kernel_syclamp_{kernel}_1: ; @__sycl_kernel_syclamp_{kernel}_1
\tglobal_load_dwordx4 v[0:3], v[0:1], off
\t{call}
\ts_endpgm
\t.section\t.rodata
amdhsa.kernels:
  - .agpr_count: 0
    .name:           __sycl_kernel_syclamp_{kernel}_1
    .vgpr_count:     16
    .vgpr_spill_count: 0
"""


def intel_found():
    """What the compiler would have to return for the figures to be right."""
    found = {device: {name: {"kernels": {name: row[device]}} for name, row in INTEL["kernels"].items() if device in row}
             for device in INTEL["devices"]}
    first = next(iter(INTEL["kernels"]))
    for device in INTEL["checked_devices"]:
        found[device] = {first: {"kernels": {first: {**INTEL["kernels"][first]["dg2"], "fp64": 0}}}}
        for name, entry in INTEL["spills"].items():
            if device in entry["devices"]:
                figures = {**next(iter(INTEL["kernels"][name].values())), "spill": 64, "fp64": 0}
                found[device][name] = {"kernels": {name: figures}}
    for family, entry in INTEL["refused"].items():
        for device in entry["devices"]:
            found[device][family] = {"error": "refused"}
    return found


def intel_versions():
    """What ocloc would have to list for the releases to be right: a version per device."""
    names = {}
    for number, (device, entry) in enumerate({**INTEL["devices"], **INTEL["checked_devices"]}.items()):
        names[device] = [f"1.{number}.0"]
        names.setdefault(entry["release"], []).append(f"1.{number}.0")
    return {**names, "xe": [number for numbers in names.values() for number in numbers]}


def release_cases():
    versions, found = intel_versions(), intel_found()
    release = INTEL["devices"]["dg2"]["release"]

    def with_releases(versions, exempt=None, golden=INTEL):
        return ({**golden, "exempt_releases": exempt or {}}, golden["compiler"], found, versions)

    other = {**versions, "xe9-lpg": ["9.0.0", "9.0.1"], "abc": ["9.0.1"], "xe9": ["9.0.0", "9.0.1"]}
    yield "releases as they are", False, with_releases(versions)
    yield "another GPU of a release", False, with_releases({**versions, "dg2-x": ["9.1.0"], release: [*versions[release], "9.1.0"]})
    yield "a release without a device", True, with_releases(other)
    yield "a release without a device, exempted", False, with_releases(other, {"xe9-lpg": "Nobody has one."})
    yield "a release exempted for no reason", True, with_releases(other, {"xe9-lpg": " "})
    yield "a release exempted without need", True, with_releases(versions, {release: "Nobody has one."})
    yield "an unknown release is exempted", True, with_releases(versions, {"xe8-lpg": "Nobody has one."})
    yield "a device of no release", True, with_releases({**versions, "abc": ["9.0.1"]})
    yield "a device of another release", True, with_releases({**versions, "dg2": versions["pvc"]})
    yield "the only device of a release is left out", True, with_releases(versions, golden=plant(INTEL, ("checked_devices", "tgl"), None))
    yield "a release without a device, another version", False, (INTEL, OTHER, found, other)
    yield "ocloc lists nothing", True, with_releases({})
    yield "ocloc lists no versions", True, with_releases(dict.fromkeys(versions, []))


def reason_cases(part, name, without, arguments):
    """`without(data)` are the arguments of the check with other golden data."""
    for text, reason in (("an empty reason", ""), ("a blank reason", " \n"), ("a number as the reason", 1), ("no reason", None)):
        entry = arguments[part][name]
        path = (part, name, "reason") if isinstance(entry, dict) else (part, name)
        if len(path) == 2 and reason is None:
            continue  # without the entry there is nothing to be complained about
        yield f'{text} in "{part}"', True, without(plant(arguments, path, reason))


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
    for case, is_fault, arguments in intel_figure_cases():
        yield case, is_fault, (*arguments, intel_versions())
    yield from release_cases()
    for part in ("spills", "refused"):
        yield from reason_cases(part, next(iter(INTEL[part])), lambda golden: (golden, OTHER, intel_found(), intel_versions()), INTEL)


def intel_figure_cases():
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
    yield "a listed kernel no longer spills", True, (plant(INTEL, ("spills", kernel), {"devices": ["dg2"], "reason": "Why."}), version, found)
    yield "FP64 on a device without it", True, (INTEL, OTHER, plant(found, (*figures, "fp64"), 1))
    yield "the compiler fails", True, (INTEL, OTHER, plant(found, ("pvc", kernel), {"error": "internal compiler error"}))
    yield "a kernel is missing", True, (plant(INTEL, ("kernels", spilling), None), version, found)
    yield "a kernel without a SIMD width", True, (INTEL, OTHER, plant(found, (*figures, "simd"), 0))
    two = plant(found, ("pvc", kernel, "kernels", "another"), found["pvc"][kernel]["kernels"][kernel])
    yield "a kernel of a family is missing on a device, another version", True, (INTEL, OTHER, two)
    first = next(iter(INTEL["kernels"]))
    for device, entry in INTEL["checked_devices"].items():  # their figures are not compared
        checked = (device, first, "kernels", first)
        yield f"more registers on {device}", False, (INTEL, version, plant(found, (*checked, "registers"), 256))
        yield f"FP64 on {device}", not entry["fp64"], (INTEL, OTHER, plant(found, (*checked, "fp64"), 1))
        yield f"a spill on {device}", True, (INTEL, OTHER, plant(found, (*checked, "spill"), 64))
        family = next(name for name, refused in INTEL["refused"].items() if device not in refused["devices"])
        found_units = plant(found, (device, family), {"error": "no matrix units"})
        yield f"no matrix units on {device}", entry["matrix_units"], (INTEL, OTHER, found_units)
        yield f"an error on {device}", True, (INTEL, OTHER, plant(found, (device, first), {"error": "internal compiler error"}))


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

    def with_call(access="ld.global.b32", stack=0, called_stack=0, called_spills=0):
        """One kernel as the tools read it. The golden figures are those without a stack, spills or generic accesses."""
        tool, symbol = ptx_figures.load_ptx_tool(), f"__sycl_kernel_syclamp_{kernel}_1"
        text = PTXAS.format(kernel=kernel, stack=stack, called_stack=called_stack, called_spills=called_spills)
        counts = tool.operations_in(PTX.format(kernel=kernel, access=access))[symbol]
        return {kernel: ptx_figures.kernel_figures({"sm_80": tool.resources_in(text)[symbol]}, counts)}

    for part in ("spills", "not_compiled"):
        yield from reason_cases(part, next(iter(NVIDIA[part])), lambda golden: (golden, OTHER, found), NVIDIA)
    golden = {**NVIDIA, "kernels": with_call()}
    yield "a kernel calls a function", False, (golden, version, with_call())
    yield "a kernel with a stack calls a function without", True, (golden, OTHER, with_call(stack=64))
    yield "a called function has a stack", True, (golden, OTHER, with_call(called_stack=32))
    yield "a called function spills", True, (golden, OTHER, with_call(called_spills=8))
    yield "a called function has a generic load", True, (golden, OTHER, with_call(access="ld.b32"))
    yield "a called function has another access", True, (golden, OTHER, with_call(access="ld.global.b64"))


def amd_found():
    """What the compiler would have to return for the figures to be right."""
    return {device: {name: {"kernels": {name: row[device]}} for name, row in AMD["kernels"].items() if device in row}
            for device in AMD["devices"]}


def amd_cases():
    version, found, kernel = AMD["compiler"], amd_found(), "inspect_chunks"
    figures = ("gfx90a", kernel, "kernels", kernel)

    def with_code(call):
        return plant(found, figures, amd_compiler.kernel_figures(ASSEMBLY.format(kernel=kernel, call=call))[kernel])

    yield "figures as they are", False, (AMD, version, found)
    yield "figures as they are, another version", False, (AMD, OTHER, found)
    yield "a kernel needs more registers", True, (AMD, version, plant(found, (*figures, "vgprs"), 256))
    yield "a kernel needs more registers, another version", False, (AMD, OTHER, plant(found, (*figures, "vgprs"), 256))
    yield "a kernel spills", True, (AMD, OTHER, plant(found, (*figures, "vgpr spills"), 1))
    yield "a kernel spills scalar registers", True, (AMD, version, plant(found, (*figures, "sgpr spills"), 99))
    yield "a kernel has scratch memory", True, (AMD, OTHER, plant(found, (*figures, "scratch"), 8))
    yield "a flat load", True, (AMD, OTHER, plant(found, (*figures, "accesses", "flat_load_b32"), 1))
    yield "a kernel without calls", False, (AMD, OTHER, with_code("s_nop 0"))
    yield "a kernel calls a function", True, (AMD, OTHER, with_code("s_swappc_b64 s[30:31], s[4:5]"))
    yield "the compiler fails", True, (AMD, OTHER, plant(found, ("gfx942", kernel), {"error": "internal compiler error"}))
    yield "a listed kernel no longer spills", True, (plant(AMD, ("spills", kernel), {"devices": ["gfx90a"], "reason": "Why."}), version, found)
    spilling = plant(AMD, ("spills", kernel), {"devices": ["gfx90a"], "reason": "Why."})
    yield "a listed kernel spills", False, (spilling, OTHER, plant(found, (*figures, "vgpr spills"), 1))
    yield from reason_cases("spills", kernel, lambda golden: (golden, OTHER, plant(found, (*figures, "vgpr spills"), 1)), spilling)
    yield "a kernel is missing", True, (plant(AMD, ("kernels", kernel), None), version, found)


wrong = 0
for vendor, check, cases in (("intel", intel_complaints, intel_cases()), ("nvidia", nvidia_complaints, nvidia_cases()),
                             ("amd", amd_complaints, amd_cases())):
    for name, is_fault, arguments in cases:
        complaints = list(check(*arguments))
        if bool(complaints) != is_fault:
            wrong += 1
            print(f"{vendor}: {name}: {complaints or 'not reported'}")
print(f"{wrong} cases are wrong")
sys.exit(bool(wrong))
