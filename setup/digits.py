# SPDX-License-Identifier: Apache-2.0
"""Takes the handwritten digits out of scikit-learn's wheel.   digits.py WHEELS_FOLDER FILE"""
import gzip
import pathlib
import sys
import zipfile

MEMBER = "sklearn/datasets/data/digits.csv.gz"
ROWS, PIXELS, BRIGHTEST, CLASSES = 1797, 64, 16, 10
MOST_BYTES = 1 << 20  # it has 264 712


def is_row(line):
    words = line.split(",")
    if len(words) != PIXELS + 1 or not all(word.isascii() and word.isdigit() for word in words):
        return False
    numbers = [int(word) for word in words]
    return all(number <= BRIGHTEST for number in numbers[:-1]) and numbers[-1] < CLASSES


def main(folder, file):
    (wheel,) = pathlib.Path(folder).glob("scikit_learn-*.whl")
    with zipfile.ZipFile(wheel) as archive, archive.open(MEMBER) as packed, gzip.open(packed) as stream:
        text = stream.read(MOST_BYTES).decode("ascii")
    lines = text.splitlines()
    if len(lines) != ROWS or not all(map(is_row, lines)):
        sys.exit(f"setup: {MEMBER} of {wheel.name} is not what it should be: {ROWS} lines of {PIXELS} numbers from 0 to "
                 f"{BRIGHTEST} and a label")
    pathlib.Path(file).write_text("\n".join(lines) + "\n")


main(*sys.argv[1:])
