# SPDX-License-Identifier: Apache-2.0
"""Every procedure and type of the module syclamp is used by a test or an example in Fortran, and every procedure that can
fail reports it by `stat` and `errmsg`.   procedures.py ROOT"""
import pathlib
import re
import sys

NOT_FOR_USERS = {"own": "lets the modules take over a handle"}


def code(paths):
    """Sources without comments, in lower case."""
    return re.sub(r"!.*", "", "".join(path.read_text() for path in paths).lower())


def declared(modules):
    """The public names of the modules, and the procedures of their types with a % before the name."""
    names = {name for line in re.findall(r"^ *public *:: *(.*)", modules, flags=re.M) for name in re.split(r"[,\s]+", line) if name}
    names -= set(re.findall(r"abstract interface\s+.*?function (\w+)", modules, flags=re.S))
    for body in re.findall(r"^ *contains\n((?: *(?:procedure|generic|final)\b.*\n)+)", modules, flags=re.M):
        for attributes, name in re.findall(r"(?:procedure|generic)([^:\n]*):: *(\w+)", body):
            if "private" not in attributes and name != "assignment":
                names.add(f"%{name}")
    return names - {f"%{name}" for name in NOT_FOR_USERS}


def without_stat(modules):
    """Procedures that hand a status to `finish`, but not the caller's `stat` and `errmsg`: an error would end the program."""
    modules = re.sub(r"&\s*", "", modules)
    for name, arguments, body in re.findall(r"(?:function|subroutine) (\w+)\(([^)]*)\)[^\n]*\n(.*?)\n *end (?:function|subroutine)",
                                            modules, flags=re.S):
        calls = re.findall(r"call finish(?:_creation)?\((.*)\)", body)
        if calls and not (arguments.endswith("stat, errmsg") and all(call.endswith(", stat, errmsg") for call in calls)):
            yield name


root = pathlib.Path(sys.argv[1])
folder = root / "bindings/fortran"
used = re.findall(r"^ *use (syclamp_\w+)", code([folder / "syclamp.f90"]), flags=re.M)
modules = code(folder / f"{module}.f90" for module in used)
names = declared(modules)
names -= {"object", "finish", "finish_creation", "group_or", "last_error", "to_c", "take_text", "fortran_text", "address_of", "handles_of"}  # not in the list after `only`
names.add("syclamp_last_error_text")
users = code([*sorted((root / "tests/fortran").glob("*.f90")), *sorted((root / "examples/fortran").glob("*.f90"))])
# `%scale(` is a call, and `%scale` may be a field. `type(engine)` uses a type, and `clear(` calls a procedure.
missing = sorted(name for name in names if not re.search(rf"{name} *\(" if name[0] == "%" else rf"\b{name} *[()]", users))
faults = [f"{name}: no test and no example in Fortran uses it" for name in missing]
faults += [f"{name}: an error ends the program, because it has no optional arguments stat and errmsg" for name in without_stat(modules)]
print("\n".join(faults) or f"{len(names)} names are used")
sys.exit(bool(faults) or len(names) < 75)
