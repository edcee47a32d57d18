# SPDX-License-Identifier: Apache-2.0
"""Every function of the C headers is called by a test of this folder.   functions.py ROOT"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
headers = "".join(path.read_text() for path in sorted((root / "include/syclamp/c").glob("*.h")))
tests = "".join(path.read_text() for path in sorted((root / "tests/c").glob("*.?pp")))
declared = re.findall(r"^SYCLAMP_C_API [^;]*?(syclamp_\w+)\(", headers, flags=re.M)
missing = [name for name in declared if not re.search(rf"\b{name}\(", tests)]
print("\n".join(f"{name}: no test calls it" for name in missing) or f"{len(declared)} functions are called by tests")
sys.exit(bool(missing) or len(declared) < 130)
