# SPDX-License-Identifier: Apache-2.0
"""Compares what the shared libraries export with the list of the repository.

   exported_symbols.py LIST LIBRARY…            fails if they differ
   exported_symbols.py --update LIST LIBRARY…   writes the list

Functions and data of syclamp count, and the type information of its classes. Copies of templates and of inline functions do
not: whether there are any depends on the compiler.
"""
import pathlib
import re
import subprocess
import sys

OURS = re.compile(r"^(?:vtable for |typeinfo for |typeinfo name for )?syclamp::v\d+_\d+::")
NO_CLASS = re.compile(r"^typeinfo name|^typeinfo .*\(")  # the latter: of functions, for std::function
INLINE_COPIES = "Wu"
C_LIBRARY = re.compile(r"^libsyclamp_c\.so")
C_FUNCTION = re.compile(r"^syclamp_[a-z0-9_]+$")
# One name for the settings of all optimizers: a new optimizer does not change the list.
ALL_SETTINGS = re.compile(r"std::variant<(syclamp::v\d+_\d+::)sgd,[^<>]*>")


def exported(library, known):
    """The symbols of one library; copies of type information that a library in `known` exports are left out."""
    lines = subprocess.run(["nm", "-D", "-C", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    symbols = set()
    for line in lines.splitlines():
        kind, name = line.split(" ", 2)[1:]
        name = name.replace("[abi:cxx11]", "").replace("::__cxx11::", "::")
        name = ALL_SETTINGS.sub(r"\1optimizer_settings", name)
        if C_LIBRARY.match(pathlib.Path(library).name):  # C functions and nothing else, not even copies of templates
            symbols.add(name if kind == "T" and C_FUNCTION.match(name) else f"{name}  (not a function of the C interface)")
        elif OURS.match(name):
            if kind not in INLINE_COPIES and name not in known and not NO_CLASS.match(name):
                symbols.add(name)
        elif kind not in INLINE_COPIES + "Vv" and not name.startswith("_"):
            symbols.add(f"{name}  (not in SYCLAMP_NAMESPACE)")
    return symbols


def lines_for(libraries):
    known, lines = set(), []
    for library in libraries:
        symbols = exported(library, known)
        known |= symbols
        title = re.sub(r"\.so.*", "", pathlib.Path(library).name)
        lines += [f"{title}: {name}" for name in sorted(symbols)]
    return lines


def main(arguments):
    update = arguments[0] == "--update"
    file, *libraries = arguments[update:]
    found = lines_for(libraries)
    if update:
        pathlib.Path(file).write_text("\n".join(found) + "\n")
        return 0
    listed = pathlib.Path(file).read_text().splitlines()
    differences = [f"exported, but not in the list: {line}" for line in found if line not in listed]
    differences += [f"in the list, but not exported: {line}" for line in listed if line not in found]
    print("\n".join(differences) or f"{len(found)} symbols are exported, as the list says")
    if differences:
        print(f"If this is intended, update the list:\n  python3 tests/package/exported_symbols.py --update {' '.join(arguments)}\n"
              "A public function that is missing needs SYCLAMP_API (include/syclamp/export.hpp) or SYCLAMP_C_API.")
    return bool(differences)


sys.exit(main(sys.argv[1:]))
