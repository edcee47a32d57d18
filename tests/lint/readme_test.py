# SPDX-License-Identifier: Apache-2.0
"""The check of the README must object to each of these faults, and to nothing in a README that is right."""
import pathlib
import sys

from readme import MOST_WORDS, REGIONS, complaints, replayed, versions, words

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "tools"))
from support_matrix import golden_problems, kernels_by_family, problems  # noqa: E402

FILES = {REGIONS["cpp"]: "int main() {\n  // [readme]\n  step();\n  if (a)\n    b();\n  // [readme]\n}\n",
         REGIONS["cmake"]: "# [readme]\nproject(a)\n# [readme]\n", REGIONS["python"]: "# [readme]\nimport a\n# [readme]\n"}
CODE = "```cpp\nstep();\nif (a)\n  b();\n```\n```cmake\nproject(a)\n```\n```python\nimport a\n```\n"
LISTING = """| preset | init |
| ------ | ---- |
| syclamp | 2^16 |

| preset | replays | where |
| ------ | ------- | ----- |
| syclamp | our own | |
| pytorch | GradScaler | |
| tf1-contrib | x | |
| chainer | x | |
| openseq2seq-logmax | x | |
"""
PROJECT = "project(syclamp VERSION 1.2.3 LANGUAGES CXX"
CELLS = {"compiles": "2026-11-18", "hardware": "no"}


def support(**changes):
    device = {"name": "a device", **CELLS, "notes": {}, "families": {}, **changes}
    return {"rungs": [{"name": name} for name in CELLS], "devices": [device]}


def assembled(date, families=(), not_compiled=(), vendor="NVIDIA", without=()):
    """What the check of the support matrix finds, with golden figures of 2026-11-18 of all families but those of `without`."""
    device = {"name": f"{vendor} GPU", "assembled": date, "families": {name: {"assembled": cell} for name, cell in families}}
    left_out = {*not_compiled, *without}
    figures = {"date": "2026-11-18", "kernels": {name: {} for family, names in kernels_by_family().items() if family not in left_out for name in names}}
    if vendor == "NVIDIA":
        figures["not_compiled"] = dict.fromkeys(not_compiled)
    return golden_problems({"devices": [device]}, {device["name"]: figures})


CASES = (  # name, what a check found, how many complaints there should be
    ("right", complaints(CODE, FILES), 0),
    ("as long as allowed", complaints(CODE + "word " * MOST_WORDS, FILES), 0),
    ("one word too many", complaints(CODE + "word " * (MOST_WORDS + 1), FILES), 1),
    ("changed code", complaints(CODE.replace("b()", "c()"), FILES), 1),
    ("changed CMake", complaints(CODE.replace("project(a)", "project(b)"), FILES), 1),
    ("changed Python", complaints(CODE.replace("import a", "import b"), FILES), 1),
    ("no code", complaints("", FILES), 3),
    ("a second block", complaints(CODE + "```cpp\nother();\n```\n", FILES), 1),
    ("no region", complaints(CODE, {**FILES, REGIONS["cpp"]: "step();\n"}), 1),
    ("words", words("One [two](https://a.org/b%20c) <b>three</b> — four.\n\n    five\n```\nsix\n```\n<!-- seven\neight -->"), 4),
    ("words of the matrix", words("<!-- support matrix: x -->\n| a | b |\n<!-- end of the support matrix -->"), 0),
    ("presets", replayed(LISTING), 2),
    ("versions", versions("version 1.2, new", "version: 1.2.3\n", PROJECT), 0),
    ("an old version", versions("version 1.1, new", "version: 1.2.2\n", PROJECT), 2),
    ("support", problems(support()), 0),
    ("a cell without a date", problems(support(compiles="yes")), 1),
    ("a date to come", problems(support(hardware="9999-01-01")), 1),
    ("an unknown rung", problems(support(harware="no")), 1),
    ("a note on an unknown rung", problems(support(notes={"harware": "text"})), 1),
    ("a kernel family", problems(support(families={"tensors/inspect": CELLS})), 0),
    ("a kernel family that does not exist", problems(support(families={"tensors/abacus": CELLS})), 1),
    ("golden figures", assembled("2026-11-18", [("matrix/gemm", "no")], ["matrix/gemm"]), 0),
    ("older than the golden figures", assembled("2026-11-17"), 0),
    ("later than the golden figures", assembled("2026-11-19"), 1),
    ("a kernel family later than the golden figures", assembled("2026-11-18", [("matrix/gemm", "2026-11-19")]), 1),
    ("a kernel family that is neither claimed nor left out", assembled("2026-11-18", [("matrix/gemm", "no")], without=["matrix/gemm"]), 1),
    ("figures of a kernel family that is not claimed", assembled("2026-11-18", [("matrix/gemm", "no")], vendor="AMD"), 1),
    ("a claimed kernel family without figures", assembled("2026-11-18", without=["matrix/gemm"], vendor="Intel"), 1),
    ("a kernel family without figures that is not claimed", assembled("2026-11-18", [("matrix/gemm", "no")], without=["matrix/gemm"], vendor="AMD"), 0),
    ("a kernel family for tests only", problems(support(families={"matrix/gemm_blocks": CELLS})), 1),
    ("a kernel family that is claimed and left out", assembled("2026-11-18", [], ["matrix/gemm"]), 2),
    ("a kernel family without a rung", problems(support(families={"tensors/inspect": {"compiles": "no"}})), 1),
)

failed = [f"{name}: {found}, expected {count}" for name, found, count in ((name, list(found), count) for name, found, count in CASES)
          if len(found) != count]
print("\n".join(failed) or "the check of the README finds what is wrong")
sys.exit(bool(failed))
