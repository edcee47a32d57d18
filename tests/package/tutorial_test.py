# SPDX-License-Identifier: Apache-2.0
"""The output that docs/tutorial.md shows is what the tutorial's program prints.

A line of three dots in the page stands for any number of lines. What varies by machine is compared loosely: errors may
differ by a quarter, shares of zero gradients and counts of steps by 5, and the index of an element is not compared.

usage: tutorial_test.py PROGRAM"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROMPT = "$ build/bin/tutorial_example"
MODES = ["", "no-scale", "large-scale", "large-start", "nan"]


def loose(line):
    """The text of a line without the numbers that vary, and those numbers, each with its tolerance."""
    numbers = []

    def take(match, tolerance):
        value = float(match[1])
        numbers.append((value, tolerance(value)))
        return "#"

    line = re.sub(r"\[\d+\]", "[#]", line)
    line = re.sub(r"(?<=: )([0-9.e+-]+)(?= mm)", lambda match: take(match, lambda value: value / 4), line)
    line = re.sub(r"\b(\d+)(?= %| steps applied| skipped$)", lambda match: take(match, lambda value: 5), line)
    return line, numbers


def same(shown, printed):
    """True if a line of the page is a line of the program."""
    (text, numbers), (other_text, other_numbers) = loose(shown), loose(printed)
    return text == other_text and all(
        abs(one - other) <= tolerance for (one, tolerance), (other, _) in zip(numbers, other_numbers, strict=True))


def fits(shown, printed):
    """True if the lines of the page are those of the program."""
    if not shown:
        return not printed
    if shown[0] == "...":
        return any(fits(shown[1:], printed[count:]) for count in range(1, len(printed) + 1))
    return bool(printed) and same(shown[0], printed[0]) and fits(shown[1:], printed[1:])


def main(program):
    page = (ROOT / "docs" / "tutorial.md").read_text()
    blocks = re.findall(r"^```console\n" + re.escape(PROMPT) + r" ?([a-z-]*)\n(.*?)^```", page, flags=re.S | re.M)
    if [mode for mode, _ in blocks] != MODES:
        sys.exit(f"docs/tutorial.md: it shows the modes {[mode for mode, _ in blocks]}; it must show {MODES}")
    failed = False
    for mode, shown in blocks:
        done = subprocess.run([program, *mode.split()], capture_output=True, text=True)
        if done.returncode != 0 or not fits(shown.splitlines(), done.stdout.splitlines()):
            print(f"docs/tutorial.md shows:\n{shown}\n{program} {mode} ends with {done.returncode} and prints:\n"
                  f"{done.stdout}{done.stderr}")
            failed = True
    wrong = subprocess.run([program, "no-such-mode"], capture_output=True, text=True)
    if wrong.returncode != 2 or "no-such-mode" not in wrong.stderr:
        print(f"a mode that does not exist: status {wrong.returncode}, {wrong.stderr}")
        failed = True
    sys.exit(failed)


main(sys.argv[1])
