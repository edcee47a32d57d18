#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the support matrix of the README, and the one per kernel family of docs/devices.md, from docs/support.json.

    tools/support_matrix.py            prints the tables
    tools/support_matrix.py --write    writes each table into its page, between its two markers
    tools/support_matrix.py --check    ends with status 1 if a page has another table
"""
import datetime
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- support matrix: made by tools/support_matrix.py from docs/support.json -->", "<!-- end of the support matrix -->"
GOLDEN = {"Intel GPU": "intel", "NVIDIA GPU": "nvidia", "AMD GPU": "amd"}  # devices with figures in tests/gpu
OPERATIONS = ROOT / "src/launch/operations.def"


def kernels_by_family():
    """{kernel family: [kernel]} of the list of operations. Kernels for tests only are left out, because no user runs them."""
    families = {}
    for kind, family, name in re.findall(r'^(\w+)\("([\w/]+)", (\w+)', OPERATIONS.read_text(), flags=re.M):
        if kind != "TEST_OPERATION":
            families.setdefault(family, []).append(name)
    return families


def problem(place, value):
    """What is wrong with a cell, or None. A cell is a date that has been, or "no"."""
    if value == "no":
        return None
    try:
        date = datetime.date.fromisoformat(value)
    except (TypeError, ValueError):
        return f'docs/support.json: {place} is {value!r}; write a date such as 2026-11-18, or "no"'
    if date > datetime.date.today():
        return f"docs/support.json: {place} is {value}, which is in the future"
    return None


def problems(support):
    """Everything that is wrong with the data: cells, and names that are not known."""
    rungs = [rung["name"] for rung in support["rungs"]]
    for device in support["devices"]:
        rows = {device["name"]: device, **{f"{device['name']}, {name}": row for name, row in device["families"].items()}}
        for row, cells in rows.items():
            yield from filter(None, (problem(f"{rung} of {row}", cells.get(rung)) for rung in rungs))
        for name in sorted({*device, *device["notes"]} - {"name", "notes", "families", *rungs}):
            yield f"docs/support.json: {device['name']} has {name!r}, which is no rung; rungs are {', '.join(rungs)}"
        for name in sorted(set(device["families"]) - kernels_by_family().keys()):
            yield f"docs/support.json: {device['name']} has the kernel family {name!r}, which src/launch/operations.def does not have for users"


def golden_figures():
    """{device: the data of tests/gpu that its assembler made}"""
    return {device: json.loads((ROOT / f"tests/gpu/{name}.json").read_text()) for device, name in GOLDEN.items()}


def golden_problems(support, golden):
    """Where the data says more than the golden figures do."""
    for device in support["devices"]:
        if device["name"] not in golden:
            continue
        data, file = golden[device["name"]], f"tests/gpu/{GOLDEN[device['name']]}.json"
        rows = {device["name"]: device, **{f"{device['name']}, {name}": row for name, row in device["families"].items()}}
        for row, cells in rows.items():
            if cells["assembled"] != "no" and cells["assembled"] > data["date"]:
                yield (f"docs/support.json: assembled of {row} is {cells['assembled']}, but the figures of {file} are of {data['date']}; "
                       "write that date, or make new figures")
        for family, names in kernels_by_family().items():
            claimed = device["families"].get(family, device)["assembled"]
            for name in names:
                if claimed != "no" and name not in data["kernels"]:
                    yield (f"docs/support.json: assembled of {device['name']}, {family} is {claimed}, but {file} has no figures of {name}; "
                           'write "no", or make new figures')
                if claimed == "no" and name in data["kernels"]:
                    yield (f'docs/support.json: assembled of {device["name"]}, {family} is "no", but {file} has figures of {name}; '
                           f"write {data['date']}, or make new figures")
        if "not_compiled" in data:
            refused = {name for name, cells in device["families"].items() if cells["assembled"] == "no"}
            for name in sorted(refused - data["not_compiled"].keys()):
                yield f'docs/support.json: assembled of {device["name"]}, {name} is "no", but "not_compiled" in {file} does not have it'
            for name in sorted(data["not_compiled"].keys() - refused):
                yield f'{file}: "not_compiled" has {name}, but docs/support.json does not say that it is not assembled for {device["name"]}'


def table(support):
    rungs = support["rungs"]
    rows = [["device", *(rung["title"] for rung in rungs)], ["---"] * (len(rungs) + 1)]
    for device in support["devices"]:
        rows.append([device["name"], *(device[rung["name"]] for rung in rungs)])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def highest(cells, rungs):
    """The highest rung that was reached, with its date."""
    reached = [rung for rung in rungs if cells[rung["name"]] != "no"]
    return f"{reached[-1]['title']}, {cells[reached[-1]['name']]}" if reached else "no"


def family_table(support):
    """The highest rung per kernel family. Families that stand where their device stands share a row."""
    rungs, devices = support["rungs"], support["devices"]
    special = sorted({family for device in devices for family in device["families"]})
    rows = [["kernel family", *(device["name"] for device in devices)], ["---"] * (len(devices) + 1)]
    rows.append([f"all {len(kernels_by_family()) - len(special)} others", *(highest(device, rungs) for device in devices)])
    for family in special:
        rows.append([f"`{family}`", *(highest(device["families"].get(family, device), rungs) for device in devices)])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


PAGES = {"README.md": table, "docs/devices.md": family_table}


def parts(page, text):
    """The text before the table, the table, and the text after it."""
    match = re.fullmatch(rf"(.*{re.escape(BEGIN)}\n)(.*?)({re.escape(END)}.*)", text, flags=re.S)
    if not match:
        sys.exit(f"{page} has no place for the support matrix: it needs the lines\n{BEGIN}\n{END}")
    return match.groups()


def main(arguments):
    if arguments not in ([], ["--write"], ["--check"]):
        sys.exit(__doc__)
    support = json.loads((ROOT / "docs/support.json").read_text())
    wrong = list(problems(support)) or list(golden_problems(support, golden_figures()))
    if wrong:
        sys.exit("\n".join(wrong))
    for page, make in PAGES.items():
        made = make(support)
        if not arguments:
            print(f"{page}:\n{made}")
            continue
        before, shown, after = parts(page, (ROOT / page).read_text())
        if arguments == ["--write"]:
            (ROOT / page).write_text(before + made + after)
        elif shown != made:
            sys.exit(f"{page} and docs/support.json differ: run tools/support_matrix.py --write")


if __name__ == "__main__":
    main(sys.argv[1:])
