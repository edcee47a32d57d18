# SPDX-License-Identifier: Apache-2.0
"""Writes files with planted faults into a temporary folder, and ends the self-test of a lint by what that lint finds there."""
import pathlib
import sys
import tempfile


def check(complaints, wrong, right):
    """`complaints(root)` must object to each file of `wrong`, and to none of `right`. Both map paths to texts."""
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        for path, text in {**wrong, **right}.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text + "\n")
        lines = list(complaints(root))
    found = {line.split(":")[0] for line in lines}
    missed, invented = wrong.keys() - found, found - wrong.keys()
    print(f"missed: {sorted(missed)}, invented: {[line for line in lines if line.split(':')[0] in invented]}")
    sys.exit(bool(missed or invented))
