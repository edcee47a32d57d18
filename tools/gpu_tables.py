#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the tables of docs/gpu-code.md from nvidia.json, intel.json, amd.json and in_flight.json in tests/gpu/.

    tools/gpu_tables.py --write    writes the tables into the page, between their markers
    tools/gpu_tables.py --check    ends with status 1 if the page has other tables
"""
import json
import pathlib
import re
import sys

from in_flight import collection, residency

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = "docs/gpu-code.md"


def table(rows):
    head, *body = rows
    return "".join(f"| {' | '.join(map(str, row))} |\n" for row in (head, ["---"] + ["---:"] * (len(head) - 1), *body))


def widths(accesses, kind):
    """The vector accesses of a kind, the widest first: `v4.b32`, `v2.b64` …"""
    found = {match[0].split(".", 1)[1]: int(match[1]) * int(match[2])
             for match in (re.search(r"\.v(\d)\.\w(\d+)$", name) for name in accesses if name.startswith(kind)) if match}
    return ", ".join(f"`{name}`" for name in sorted(found, key=lambda name: (-found[name], name)))


def nvidia(data):
    archs = data["architectures"]
    rows = [["kernel", *archs, "local memory", "vector loads", "vector stores"]]
    for name, figures in data["kernels"].items():
        rows.append([name, *(figures["registers"].get(arch, "") for arch in archs), figures["local memory"],
                     widths(figures["accesses"], "ld.global"), widths(figures["accesses"], "st.global")])
    spilling = sorted(name for name, figures in data["kernels"].items() if figures["stack"] or figures["spilled"])
    statement = f"{len(spilling)} kernels have a stack frame or spills." if spilling else "No kernel has a stack frame or spills."
    reasons = "".join(f"- `{name}`: {data['spills'][name]['reason']}\n" for name in spilling)
    left_out = "".join(f"- `{family}`: {reason}\n" for family, reason in data["not_compiled"].items())
    return (f"{data['assembler']}, PTX of {data['compiler']}, {data['date']}. {statement} Columns sm_75 to sm_100 are registers per\n"
            f"work-item. Local memory is in bytes per work-group.\n\n{table(rows)}" + (f"\nWith a stack frame or spills:\n\n{reasons}" if reasons else "")
            + (f"\nLeft out:\n\n{left_out}" if left_out else ""))


def intel(data):
    devices = list(data["devices"])
    rows = [["kernel", *devices, "also on", "reason"]]
    for name, entry in sorted(data["spills"].items()):
        others = ", ".join(device for device in entry["devices"] if device not in devices)
        rows.append([name, *(data["kernels"][name].get(device, {}).get("spill", "") for device in devices), others, entry["reason"]])
    simd = [["SIMD width", *devices]]
    for width in sorted({figures["simd"] for row in data["kernels"].values() for figures in row.values()}):
        simd.append([width, *(sum(row[device]["simd"] == width for row in data["kernels"].values() if device in row)
                              for device in devices)])
    refused = "".join(f"- `{family.replace('-', '/', 1)}` is not for {', '.join(entry['devices'])}: {entry['reason']}\n"
                      for family, entry in data["refused"].items())
    checked = [["release of GPUs", "device", "GPU", "profile", "FP64", "compared"]]
    for device, entry in sorted({**data["devices"], **data["checked_devices"]}.items(), key=lambda item: item[1]["release"]):
        profile = next((facts["profile"] for facts in collection.DEVICES.values() if facts["code"] == device), None) or entry["profile"]
        checked.append([entry["release"], device, entry["name"], f"`{profile}`", "yes" if entry["fp64"] else "no",
                        "all figures" if device in devices else "errors, spills, FP64"])
    exempt = "".join(f"- {release}: {reason}\n" for release, reason in data["exempt_releases"].items())
    return (f"{data['compiler']}, {data['date']}. A device of every release is compiled for:\n\n{table(checked)}\n"
            + (f"Releases without a device:\n\n{exempt}\n" if exempt else "")
            + f"These kernels spill, in bytes per thread:\n\n{table(rows)}\n"
            f"Kernels by SIMD width:\n\n{table(simd)}\n" + (f"Families that a device refuses:\n\n{refused}" if refused else ""))


def in_flight(data):
    """For each device and class, the kernel that has the fewest bytes under way."""
    rows = [["device", "needed", "class", "FP16", "BF16", "FP32", "target"]]
    for device, kernels in data["devices"].items():
        needed = residency.needed(collection.DEVICES[device])
        for name in collection.CLASSES:
            reached = [collection.least(kernels, name, kind)[0] for kind in ("FP16", "BF16", "FP32")]
            target = collection.TARGETS.get(device, {}).get(name, "")
            rows.append([device, f"{needed / 1000:.1f}", name, *(f"{number / 1000:.0f} ({number / needed:.2f})" for number in reached), target])
    listed = "".join(f"- `{kernel}` on {device}, {', '.join(entry['types'])}: {entry['reason']}\n"
                     for device, kernels in data["shortfalls"].items() for kernel, entry in kernels.items())
    sources = "".join(f"- {device}: {source}\n" for device, facts in collection.DEVICES.items() for source in facts["sources"])
    made = "".join(f"- {vendor}: {entry['version']}, {entry['date']}\n" for vendor, entry in data["compilers"].items())
    return (f"Made with these compilers:\n\n{made}\nKB per compute unit; in parentheses, the multiple of what the device needs. Each figure is that of the kernel of\n"
            f"the class that has the fewest bytes in flight.\n\n{table(rows)}\n"
            + (f"Below the target:\n\n{listed}\n" if listed else "") + f"Sources of the inputs:\n\n{sources}")


def amd(data):
    devices = list(data["devices"])
    rows = [["kernel", *(f"{device} VGPRs" for device in devices), "SGPR spills", "wave", "local memory"]]
    for name, by_device in data["kernels"].items():
        waves, local = (" / ".join(dict.fromkeys(str(by_device[device][part]) for device in devices)) for part in ("wave", "local memory"))
        spills = [by_device[device]["sgpr spills"] for device in devices]
        rows.append([name, *(by_device[device]["vgprs"] for device in devices), " / ".join(map(str, spills)) if any(spills) else "", waves,
                     local])
    scratch = "".join(f"- `{name}`: {entry['reason']}\n" for name, entry in data["spills"].items())
    faults = {"spill vector registers": lambda figures: figures["vgpr spills"], "have scratch memory": lambda figures: figures["scratch"],
              "call functions": lambda figures: figures.get("calls"),
              "have flat accesses": lambda figures: any(access.startswith("flat_") for access in figures["accesses"])}
    found = {fault: sorted(name for name, by_device in data["kernels"].items() if any(map(is_found, by_device.values())))
             for fault, is_found in faults.items()}
    statement = "".join(f"Kernels that {fault}: {', '.join(names)}.\n" for fault, names in found.items() if names)
    statement = statement or "No kernel spills vector registers, has scratch memory, calls a function or has flat accesses.\n"
    return (f"{data['compiler']}, {data['date']}. {statement}Local memory is in bytes per work-group. SGPR spills are scalar registers kept in lanes of\n"
            f"vector registers, in the order of the devices.\n\n{table(rows)}\n"
            + (f"Kernels with scratch memory:\n\n{scratch}" if scratch else ""))


def page_with_tables(text):
    for vendor, make in (("nvidia", nvidia), ("intel", intel), ("amd", amd), ("in_flight", in_flight)):
        begin = f"<!-- {vendor} figures: made by tools/gpu_tables.py from tests/gpu/{vendor}.json -->\n"
        end = f"<!-- end of the {vendor} figures -->\n"
        before, found, rest = text.partition(begin)
        _, closed, after = rest.partition(end)
        if not found or not closed:
            sys.exit(f"{PAGE} has no place for the figures of {vendor}: it needs the lines\n{begin}{end}")
        made = make(json.loads((ROOT / f"tests/gpu/{vendor}.json").read_text()))
        text = before + begin + made.rstrip("\n") + "\n" + end + after
    return text


def main(arguments):
    if arguments not in (["--write"], ["--check"]):
        sys.exit(__doc__)
    page = ROOT / PAGE
    made = page_with_tables(page.read_text())
    if arguments == ["--write"]:
        page.write_text(made)
    elif made != page.read_text():
        sys.exit(f"{PAGE} and the data in tests/gpu/ differ: run tools/gpu_tables.py --write")


if __name__ == "__main__":
    main(sys.argv[1:])
