# SPDX-License-Identifier: Apache-2.0
"""Every snippet of the user guide stands, line by line, in a test or an example that is run. docs/python.md is a doctest instead."""
import pathlib
import re
import sys

CPP_PAGES = ("docs/scaling.md", "docs/parallel-training.md", "docs/policies.md", "docs/ledger.md", "docs/checkpoints.md",
             "docs/tutorial.md", "docs/fp16-for-reinforcement-learning.md",
             *sorted(str(path) for path in pathlib.Path("docs/migrating").glob("from-*.md")))
CPP_SOURCES = ("tests/device/scaler/scaling_page_tests.cpp", "tests/device/scaler/migrating_page_tests.cpp",
               "tests/device/state/state_page_tests.cpp", "examples/tutorial.cpp")
GUIDES = (("cpp", CPP_PAGES, CPP_SOURCES),
          ("c", ("docs/c.md",), ("examples/c/first_step.c", "examples/c/train_field.c", "tests/c/leak_program.c")),
          ("fortran", ("docs/fortran.md",), ("examples/fortran/first_step.f90", "examples/fortran/surrogate.f90",
                                                 "tests/fortran/error_tests.f90", "tests/fortran/fortran_tests.f90",
                                                 "tests/fortran/operation_tests.f90", "tests/fortran/scale_tests.f90")),
          ("python", ("docs/pytorch.md",), ("tests/torch/test_page.py", "tests/torch/test_frameworks.py")))


def plain(text):
    """Text without indentation and empty lines."""
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


failed = False
for language, pages, names in GUIDES:
    sources = [f"\n{plain(pathlib.Path(name).read_text())}\n" for name in names]
    for page in pages:
        snippets = re.findall(rf"^```{language}\n(.*?)^```", pathlib.Path(page).read_text(), flags=re.S | re.M)
        missing = [snippet for snippet in snippets if not any(f"\n{plain(snippet)}\n" in source for source in sources)]
        for snippet in missing:
            print(f"this snippet of {page} is in no test:\n{snippet}")
        print(f"{page}: {len(snippets)} snippets, {len(missing)} of them in no test")
        failed = failed or bool(missing) or not snippets
sys.exit(failed)
