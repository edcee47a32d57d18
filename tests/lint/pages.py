# SPDX-License-Identifier: Apache-2.0
"""Every C++ snippet of docs/scaling.md stands, line by line, in a test that is compiled and run."""
import pathlib
import re
import sys

SOURCES = ("tests/device/scaling_page_tests.cpp", "tests/device/state_page_tests.cpp")


def plain(text):
    """Text without indentation and empty lines."""
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


page = pathlib.Path("docs/scaling.md").read_text()
sources = [plain(pathlib.Path(name).read_text()) for name in SOURCES]
snippets = re.findall(r"^```cpp\n(.*?)^```", page, flags=re.S | re.M)
missing = [snippet for snippet in snippets if not any(f"\n{plain(snippet)}\n" in source for source in sources)]
for snippet in missing:
    print(f"this snippet of docs/scaling.md is in no test:\n{snippet}")
print(f"{len(snippets)} snippets, {len(missing)} of them in no test")
sys.exit(bool(missing) or not snippets)
