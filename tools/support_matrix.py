#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the support matrix of the README from docs/support.json.

    tools/support_matrix.py            prints the table
    tools/support_matrix.py --write    writes the table into README.md, between its two markers
    tools/support_matrix.py --check    ends with status 1 if README.md has another table
"""
import datetime
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- support matrix: made by tools/support_matrix.py from docs/support.json -->", "<!-- end of the support matrix -->"


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


def table(support):
    rungs = support["rungs"]
    rows = [["device", *(rung["title"] for rung in rungs)], ["---"] * (len(rungs) + 1)]
    for device in support["devices"]:
        rows.append([device["name"], *(device[rung["name"]] for rung in rungs)])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def parts(text):
    """The text before the table, the table, and the text after it."""
    match = re.fullmatch(rf"(.*{re.escape(BEGIN)}\n)(.*?)({re.escape(END)}.*)", text, flags=re.S)
    if not match:
        sys.exit(f"README.md has no place for the support matrix: it needs the lines\n{BEGIN}\n{END}")
    return match.groups()


def main(arguments):
    if arguments not in ([], ["--write"], ["--check"]):
        sys.exit(__doc__)
    support = json.loads((ROOT / "docs/support.json").read_text())
    wrong = list(problems(support))
    if wrong:
        sys.exit("\n".join(wrong))
    made, readme = table(support), ROOT / "README.md"
    if not arguments:
        print(made, end="")
        return
    before, shown, after = parts(readme.read_text())
    if arguments == ["--write"]:
        readme.write_text(before + made + after)
    elif shown != made:
        sys.exit("README.md and docs/support.json differ: run tools/support_matrix.py --write")


if __name__ == "__main__":
    main(sys.argv[1:])
