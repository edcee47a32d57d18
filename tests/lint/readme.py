# SPDX-License-Identifier: Apache-2.0
"""The README is short, and shows only what is tested.

    readme.py             checks README.md against the files of the repository
    readme.py PROGRAM     also compares its number of presets with `PROGRAM simulate --list`

- It has at most 600 words. A word is text between spaces that has a letter or a digit. Not counted: code blocks, comments, HTML
  tags, addresses of links, and the support matrix, which is generated.
- Its ```cpp, ```cmake and ```python blocks are the regions between two `[readme]` comments of the files in REGIONS. Tests run them all.
- README.md and CITATION.cff have the version of CMakeLists.txt.
- Its support matrix is the one of docs/support.json.
- It says «more than N presets», and the program has N + 1 to N + 10 that replay a framework bit for bit.
"""
import pathlib
import re
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MOST_WORDS = 600
REGIONS = {"cpp": "examples/step.cpp", "cmake": "tests/package/quick_start/CMakeLists.txt", "python": "examples/python/step.py"}
MARKER = re.compile(r"^ *(?://|#) \[readme\]\n", flags=re.M)
MATRIX = re.compile(r"<!-- support matrix:.*?<!-- end of the support matrix -->", flags=re.S)
NOT_REPLAYED = {"syclamp": "is our own", "chainer": "rounds the scale to FP32", "openseq2seq-logmax": "is exact within rounding only"}


def words(text):
    """The words of prose, as described above."""
    text = re.sub(r"^```.*?^```", "", MATRIX.sub("", text), flags=re.S | re.M)
    text = re.sub(r"^(?: {4}|\t).*$", "", text, flags=re.M)  # blocks of commands
    text = re.sub(r"<!--.*?-->|<[^>]*>", "", text, flags=re.S)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return [word for word in text.split() if re.search(r"\w", word)]


def region(text):
    """What stands between the two markers, without its common indentation."""
    parts = MARKER.split(text)
    return textwrap.dedent(parts[1]) if len(parts) == 3 else None


def versions(readme, citation, project):
    """Complains if README or citation have another version than the project."""
    version = re.search(r"project\(syclamp VERSION (\d+\.\d+)\.(\d+)", project)
    if f"version {version[1]}," not in readme:
        yield f'the status line of README.md must say "version {version[1]},"'
    if not re.search(rf"^version: {re.escape(version[1])}\.{version[2]}$", citation, flags=re.M):
        yield f"CITATION.cff must say version: {version[1]}.{version[2]}"


def replayed(listing):
    """The presets of the second table of `simulate --list` that are bit for bit those of a framework."""
    table = listing[listing.index("| replays"):].split("\n", 1)[1]
    names = re.findall(r"^\| ([a-z][\w-]*) ", table, flags=re.M)
    missing = [name for name in NOT_REPLAYED if name not in names]
    if missing:
        sys.exit(f"the program has no preset {missing[0]}; take it out of NOT_REPLAYED in tests/lint/readme.py")
    return [name for name in names if name not in NOT_REPLAYED]


def complaints(readme, files):
    count = len(words(readme))
    if count > MOST_WORDS:
        yield f"README.md has {count} words, {count - MOST_WORDS} too many; move details to docs/"
    for language, path in REGIONS.items():
        shown = re.findall(rf"^```{language}\n(.*?)^```", readme, flags=re.S | re.M)
        tested = region(files[path])
        if tested is None:
            yield f"{path} has no region between two lines with [readme]"
        elif shown != [tested]:
            yield f"the {language} block of README.md differs from the region [readme] of {path}:\n{tested}"


def main(arguments):
    readme = (ROOT / "README.md").read_text()
    found = list(complaints(readme, {path: (ROOT / path).read_text() for path in REGIONS.values()}))
    found += versions(readme, (ROOT / "CITATION.cff").read_text(), (ROOT / "CMakeLists.txt").read_text())
    matrix = subprocess.run([sys.executable, ROOT / "tools/support_matrix.py", "--check"], capture_output=True, text=True)
    if matrix.returncode != 0:
        found.append(matrix.stderr.strip())
    if arguments:
        listing = subprocess.run([arguments[0], "simulate", "--list"], capture_output=True, text=True, check=True).stdout
        presets, stated = replayed(listing), re.findall(r"\b[Mm]ore than (\d+) presets\b", readme)
        if len(stated) != 1 or not 0 < len(presets) - int(stated[0]) <= 10:
            found.append(f"README.md must say once «more than N presets», with N a little below {len(presets)}: {', '.join(presets)}")
    print("\n".join(found) or f"README.md has {len(words(readme))} words and shows what is tested")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
