# SPDX-License-Identifier: Apache-2.0
"""The check of references must object to each of these, and to none of those that are right."""
import sys
import types

from planted import check
from references import complaints, repository

WRONG = {
    "docs/a.md": "Run ../shared/tools/ptx first.",
    "docs/b.md": "See [the page](missing.md).",
    "docs/c.md": "See [the file](../../elsewhere/file.txt).",
    "docs/d.md": "See [the heading](page.md#no-such-heading).",
    "docs/e.md": "See [the heading](#no-such-heading).",
    "docs/f.md": "The file `src/missing.cpp` has it.",
    "docs/g.md": "The file `missing.cpp` has it.",
    "docs/h.md": "The file `gone/file.hpp` has it.",
    "docs/i.md": "The folder `gone/` has it.",
    "docs/j.md": "    src/missing --option",
    "docs/k.md": 'See `tests/device/a_tests.cpp`, "another test".',
    "docs/l.md": "Not run: D1.",
    "docs/m.md": "frameworks.md explains D99.",
    "docs/n.md": '<img src="missing.svg">',
    "docs/o.md": "See issue #1234.",
    "docs/tour.md": "## 1. Here: `src/missing.cpp`",
    "README.md": "`docs/missing.md` tells more.",
    "src/a.cpp": "// As DESIGN says.",
    "src/b.cpp": "// See NOTES §5.",
    "src/c.cpp": "// See ../shared/notes.txt.",
    "src/d.cpp": "// See docs/missing.md.",
    "src/e.cpp": "// See docs/page.md#no-such-heading.",
    "src/f.cpp": "// A known bug (TE#3418).",
    "src/g.py": 'FOLDER = "/work/elsewhere/build"',
    "src/h.sh": "cp /home/someone/file .",
    "tests/device/b_tests.cpp": 'TEST_CASE("D1: a defect") {}',
    "tests/device/c_tests.cpp": '// docs/frameworks.md\nTEST_CASE("D99: a defect") {}',
}
RIGHT = {
    "docs/frameworks.md": "# Defects\n## D1\nText.\n",
    "docs/page.md": "# The page: what it is\n`frameworks.md` has D1.\n[Top](#the-page-what-it-is), [out](https://a.org/b.md#c).\n",
    "docs/right.md": "[D1](frameworks.md#d1), [up](../src/right.cpp), `src/right.cpp`, `right.cpp`, `src/`, `build/bin/x`, "
                     "`build/`, `.syclamp/`, `src/<name>.cpp`, `src/*.cpp`, src/right.cpp.\n`tests/device/a_tests.cpp`,\n"
                     '"D1: a test".\n`$HOME/.cache/x`, `and/or`, `"a".json`, [issue 1234](https://a.org/issues/1234).\n',
    "CHANGELOG.md": "- Removed `src/missing.cpp`.",
    "src/right.cpp": '#include "../include/a.hpp"  // docs/frameworks.md#d1; https://a.org/work/x.md#12',
    "src/right.cmake": 'set(CMAKE_INSTALL_RPATH "$ORIGIN/../${LIB}" /opt/rocm) # ${root}/home/x',
    "src/right.css": "a { color: #123456; background: url(#11); }",
    "include/a.hpp": "",
    "tests/device/a_tests.cpp": '// docs/frameworks.md\nTEST_CASE("D1: a test") {}',
    "build/x.md": "`src/missing.cpp`",
}

# There is one tour, so what it can get wrong besides a missing file is tried apart.
SOURCES = types.SimpleNamespace(texts={"src/a.cpp": "void begin_step();"})
TOURS = {
    "## 1. A: `src/a.cpp`\nIt calls `protocol::begin_step`, `need_…` and `src/a.cpp`.": [],
    "## 1. A: `src/a.cpp`\n## 2. B: `src/a.cpp`": ["the tour visits src/a.cpp twice"],
    "## 1. A: `src/a.cpp`\nIt calls `protocol::end_step`.": ["no source has the name protocol::end_step"],
}
for tour, expected in TOURS.items():
    if list(repository.about_tour(SOURCES, tour)) != expected:
        sys.exit(f"not what was expected of this tour: {tour}")

check(complaints, WRONG, RIGHT)
