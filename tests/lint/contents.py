# SPDX-License-Identifier: Apache-2.0
"""Every page of a folder of docs/ is linked from the page index.md of that folder."""
import pathlib
import re
import sys


def complaints(root):
    for index in sorted((root / "docs").rglob("index.md")):
        links = {link.split("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", index.read_text())}
        for page in sorted(index.parent.glob("*.md")):
            if page != index and page.name not in links:
                yield f"{page.relative_to(root)}: {index.relative_to(root)} has no link to it; add a row with what the page tells"


if __name__ == "__main__":
    found = list(complaints(pathlib.Path.cwd()))
    print("\n".join(found) or "docs/index.md lists every page")
    sys.exit(bool(found))
