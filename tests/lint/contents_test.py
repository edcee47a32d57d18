# SPDX-License-Identifier: Apache-2.0
"""The check of the lists of pages must object to pages that no list names, and to no other."""
from contents import complaints
from planted import check

WRONG = {
    "docs/forgotten.md": "# A page without a link",
    "docs/mentioned.md": "# A page whose name is in the list, but not as a link",
    "docs/migrating/from-nowhere.md": "# A page of a folder with an index of its own",
}
RIGHT = {
    "docs/index.md": "| [First](first.md) | `mentioned.md` |\n| [Second](second.md#part), [others](migrating/index.md) |",
    "docs/first.md": "# First",
    "docs/second.md": "[Forgotten](forgotten.md)",
    "docs/migrating/index.md": "[Somewhere](from-somewhere.md)",
    "docs/migrating/from-somewhere.md": "# From somewhere",
    "docs/support.json": "{}",
}

check(complaints, WRONG, RIGHT)
