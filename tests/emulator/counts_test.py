# SPDX-License-Identifier: Apache-2.0
"""The table of memory transactions in docs/gpu-code.md is what the emulator counts.

    counts_test.py REPORT            compares; REPORT is build/bin/emulator_report
    counts_test.py REPORT --write    writes the table into the page
"""
import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "docs/gpu-code.md"
REGION = re.compile(r"(<!-- emulator counts: [^>]*-->\n).*?(<!-- end of the emulator counts -->)", flags=re.S)


def main(report, *options):
    counted = subprocess.run([report], capture_output=True, text=True, check=True).stdout
    page = PAGE.read_text()
    new, regions = REGION.subn(lambda found: found[1] + counted + found[2], page)
    if regions != 1:
        sys.exit(f"{PAGE.name} must have one region of emulator counts, but has {regions}")
    if "--write" in options:
        PAGE.write_text(new)
    elif new != page:
        sys.exit(f"{PAGE.name} has other counts than the emulator; run tests/emulator/counts_test.py {report} --write. It counts:\n{counted}")


if __name__ == "__main__":
    main(*sys.argv[1:])
