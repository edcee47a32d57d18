# SPDX-License-Identifier: Apache-2.0
"""The README shows examples/inspect.cpp, which is compiled and run: the two must not drift apart."""
import pathlib
import re
import sys

readme = pathlib.Path("README.md").read_text()
shown = re.findall(r"```cpp\n(.*?)```", readme, flags=re.S)
example = pathlib.Path("examples/inspect.cpp").read_text()
same = shown == [example]
print("the README shows the example" if same else "README.md and examples/inspect.cpp differ: copy the file into the README")
sys.exit(not same)
