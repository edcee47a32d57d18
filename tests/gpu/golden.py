# SPDX-License-Identifier: Apache-2.0
"""Compares what a vendor's compiler made of the kernels with the figures that the repository keeps.

Figures are exact for one version of a compiler only. With another version, only what is always wrong is reported.
"""
import importlib.machinery
import importlib.util
import json
import pathlib
import re


def load_report(vendor):
    """tools/<vendor>/report as a module. It is a command, so its name has no ending."""
    file = pathlib.Path(__file__).resolve().parents[2] / "tools" / vendor / "report"
    loader = importlib.machinery.SourceFileLoader("report", str(file))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("report", loader))
    loader.exec_module(module)
    return module


def by_kernel(found):
    """{kernel: {device: figures}} of what tools/intel/report collects, errors left out."""
    kernels = {}
    for device, families in found.items():
        for result in families.values():
            for name, figures in result.get("kernels", {}).items():
                kernels.setdefault(name, {})[device] = figures
    return dict(sorted(kernels.items()))


def differences(golden, found, remedy):
    """What differs between two tables of figures by kernel."""
    for name in sorted(golden.keys() | found.keys()):
        if name not in found:
            yield f"{name}: there is no such kernel any more; {remedy}"
        elif name not in golden:
            yield f"{name}: this kernel is new; {remedy}"
        elif golden[name] != found[name]:
            for part in sorted(golden[name].keys() | found[name].keys()):
                old, new = golden[name].get(part), found[name].get(part)
                if old != new:
                    yield f"{name}: {part} was {json.dumps(old)} and is {json.dumps(new)}; if this is right, {remedy}"


def without_reason(golden, part, file):
    """Entries of a list that say why a fault is accepted, but leave the reason out."""
    for name, entry in golden[part].items():
        reason = entry.get("reason") if isinstance(entry, dict) else entry
        if not isinstance(reason, str) or not reason.strip():
            yield f'{name}: its entry in "{part}" of {file} has no reason; write why it cannot be otherwise'


def release_complaints(golden, versions):
    """Every GPU of the compiler is of a release of which a device is compiled for. `versions` is that of tools/intel/compiler.py."""
    file = "tests/gpu/intel.json"
    if not any(versions.values()):
        yield "the help of ocloc lists no devices; read its new form in tools/intel/compiler.py"
        return
    devices, covered = {**golden["devices"], **golden["checked_devices"]}, set()
    for device, entry in devices.items():
        of_release = set(versions.get(entry["release"], ()))
        if not of_release.intersection(versions.get(device, ())):
            yield f'{device}: ocloc does not have it in the release {entry["release"]}; correct "release" in {file}'
        covered |= of_release
    for release in golden["exempt_releases"]:
        if any(entry["release"] == release for entry in devices.values()):
            yield f'{release} has a device; take it out of "exempt_releases" in {file}'
        elif release not in versions:
            yield f'{release}: ocloc does not know this release; take it out of "exempt_releases" in {file}'
        covered |= set(versions.get(release, ()))
    names = {}
    for name, numbers in versions.items():
        for number in set(numbers) - covered:
            names.setdefault(number, []).append(name)
    for number, known_as in sorted(names.items()):
        yield (f"ocloc compiles for GPUs of version {number} ({', '.join(known_as)}), but no device of their release is tested; add one to "
               f'"checked_devices", or the release with a reason to "exempt_releases" in {file}')


def intel_complaints(golden, version, found, versions):
    """`found` is {device: {family: result}}, see tools/intel/report. Of "checked_devices" only errors, spills and FP64 count.

    With another version of the compiler, nothing else counts of any device, but matrix units must have sub-groups of the right size.
    """
    remedy = "run tests/gpu/intel_test.py --write"
    devices = {**golden["devices"], **golden["checked_devices"]}

    def is_refused(family, device):
        without_units = family.startswith("matrix-gemm_joint_") and not devices[device].get("matrix_units", True)
        return without_units or device in golden["refused"].get(family, {}).get("devices", ())

    for device, families in found.items():
        for family, result in families.items():
            if "error" in result and not is_refused(family, device):
                yield f"{family} on {device}: {result['error']}"
            if "kernels" in result and is_refused(family, device) and version == golden["compiler"]:
                yield f'{family} on {device} compiles now; take {device} out of "refused" in tests/gpu/intel.json'
    kernels = by_kernel(found)
    for name, by_device in kernels.items():
        for device, figures in by_device.items():
            if figures["spill"] and device not in golden["spills"].get(name, {}).get("devices", ()):
                yield (f"{name} on {device} spills {figures['spill']} bytes; use fewer registers, or add the kernel with a reason "
                       'to "spills" in tests/gpu/intel.json')
            if figures["fp64"] and not devices[device]["fp64"]:
                yield f"{name} on {device} has {figures['fp64']} FP64 operands, but the device has no FP64"
    if version == golden["compiler"]:
        for name, entry in golden["spills"].items():
            for device in entry["devices"]:
                if not kernels.get(name, {}).get(device, {}).get("spill"):
                    yield f'{name} on {device} spills no longer; take it out of "spills" in tests/gpu/intel.json'
        yield from differences(golden["kernels"], by_kernel({device: found[device] for device in golden["devices"]}), remedy)
        yield from release_complaints(golden, versions)
    yield from matrix_unit_complaints(golden, found)
    yield from unread_complaints(found)
    for part in ("spills", "refused", "exempt_releases"):
        yield from without_reason(golden, part, "tests/gpu/intel.json")


def is_generic(access):
    """True for a load or a store of which the assembler does not know the memory: `ld.v4.b32`, but not `ld.global.b32`."""
    return not re.search(r"\.(global|shared|local|const|param)\b", access)


def nvidia_complaints(golden, version, found):
    """`found` is {kernel: figures}, see tools/ptx/figures.py."""
    remedy = "run tests/gpu/nvidia_test.py --write"
    for name, figures in found.items():
        listed = golden["spills"].get(name, {}).get("architectures", ())
        for what in ("stack", "spilled"):
            for arch, number in figures[what].items():
                if arch not in listed:
                    yield (f"{name} on {arch}: {what} {number} bytes; use fewer registers, or add the kernel with a reason to "
                           '"spills" in tests/gpu/nvidia.json')
        for access in filter(is_generic, figures["accesses"]):
            yield f"{name} has {access}: take the address through in_global_memory (sycl_kernels/base/global_memory.hpp)"
    if version == golden["assembler"]:
        yield from differences(golden["kernels"], found, remedy)
    else:  # accesses are in the PTX, which does not depend on the assembler
        only_accesses = [{name: {"accesses": figures["accesses"]} for name, figures in table.items()}
                         for table in (golden["kernels"], found)]
        yield from differences(*only_accesses, remedy)
    for part in ("spills", "not_compiled"):
        yield from without_reason(golden, part, "tests/gpu/nvidia.json")


def amd_complaints(golden, version, found):
    """`found` is {device: {family: result}}, see tools/amd/report."""
    remedy = "run tests/gpu/amd_test.py --write"
    for device, families in found.items():
        for family, result in families.items():
            if "error" in result:
                yield f"{family} on {device}: {result['error']}"
    kernels = by_kernel(found)
    for name, by_device in kernels.items():
        for device, figures in by_device.items():
            for what in ("vgpr spills", "scratch"):
                if figures[what] and device not in golden["spills"].get(name, {}).get("devices", ()):
                    yield (f"{name} on {device}: {what} {figures[what]}; use fewer registers, or add the kernel with a reason to "
                           '"spills" in tests/gpu/amd.json')
            if figures.get("calls"):
                yield f"{name} on {device} calls functions in {figures['calls']} places; mark them always_inline"
            for access in figures["accesses"]:
                if access.startswith("flat_"):
                    yield f"{name} on {device} has {access}: take the address through in_global_memory (sycl_kernels/base/global_memory.hpp)"
    if version == golden["compiler"]:
        for name, entry in golden["spills"].items():
            for device in entry["devices"]:
                figures = kernels.get(name, {}).get(device, {})
                if not figures.get("vgpr spills") and not figures.get("scratch"):
                    yield f'{name} on {device} spills no longer; take it out of "spills" in tests/gpu/amd.json'
        yield from differences(golden["kernels"], kernels, remedy)
    yield from without_reason(golden, "spills", "tests/gpu/amd.json")


def matrix_unit_complaints(golden, found):
    """Kernels for matrix units divide a work-group into sub-groups, so the compiler must use the size that they expect."""
    for name, by_device in by_kernel(found).items():
        for device, figures in by_device.items():
            expected = golden["sub_groups"].get(name)
            if expected and figures["simd"] != expected:
                yield f"{name} on {device} has sub-groups of {figures['simd']}, but its division needs {expected}"


def unread_complaints(found):
    """Without this check, a compiler whose output has another form would have nothing that is wrong."""
    names = {}
    for families in found.values():
        for family, result in families.items():
            names.setdefault(family, set()).update(result.get("kernels", {}))
    for device, families in found.items():
        for family, result in families.items():
            if "kernels" in result and (missing := names[family] - result["kernels"].keys()):
                yield f"{family} on {device}: the output lacks {', '.join(sorted(missing))}; read its new form in tools/intel/compiler.py"
            for name, figures in result.get("kernels", {}).items():
                if not figures["simd"] or not figures["registers"]:
                    yield f"{name} on {device}: the output has no SIMD width or registers; read its new form in tools/intel/compiler.py"


def rows_as_text(data):
    """JSON with one line per kernel."""
    kernels = ",\n".join(f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in data["kernels"].items())
    rest = json.dumps({**data, "kernels": "KERNELS"}, indent=1, ensure_ascii=False)
    return rest.replace('"KERNELS"', "{\n" + kernels + "\n }") + "\n"
