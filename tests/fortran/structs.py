# SPDX-License-Identifier: Apache-2.0
"""The constants and structs in Fortran have the values, the fields and the order of the C headers.   structs.py ROOT"""
import pathlib
import re
import sys

STRUCTS = {"c_tensor": "tensor", "c_parameter": "parameter", "c_device_info": "device_info", "scaling_policy": "policy"}
CONSTANTS = {"device_kind": "DEVICE_MEMORY", "shared_kind": "SHARED_MEMORY", "host_kind": "HOST_MEMORY", "all_groups": None}
PREFIXES = (("syclamp_", ""), ("outcome_", ""), ("scaling_", ""), ("status_", "STEP_"), ("", ""))
KINDS = {"size_t": "c_size_t", "uint64_t": "c_int64_t", "uint32_t": "c_int32_t", "int32_t": "c_int32_t", "float": "c_float",
         "double": "c_double", "char": "c_char"}


def c_fields(body):
    """(name, kind) of the fields of a struct in C."""
    for declaration in re.sub(r"//.*|/\*.*?\*/", "", body).split(";")[:-1]:
        head, *others = declaration.split(",")
        words = head.replace("*", "* ").split()
        is_address = "*" in head or words[-2] == "syclamp_consensus_sum"
        for name in (words[-1], *others):
            number = re.search(r"\[(\d+)\]", name)
            kind = "address" if is_address else KINDS.get(words[-2], "c_int32_t")  # typedefs of C are 32-bit integers
            yield name.split("[")[0].strip(), kind, number and number[1]


def fortran_fields(body):
    """The same in Fortran."""
    for kind, names in re.findall(r"(?:\w+\((?:kind=)?(\w+)\)) *:: *(.*)", body):
        for name, number in re.findall(r"(\w+)(?:\((\d+)\))?(?: *= *[^,]+)?(?:, *|$)", names.split("!")[0].strip()):
            yield name, "address" if kind in ("c_ptr", "c_funptr") else kind, number or None


root = pathlib.Path(sys.argv[1])
header = "".join(path.read_text() for path in sorted((root / "include/syclamp/c").glob("*.h")))
types = (root / "bindings/fortran/syclamp_types.f90").read_text()
values = {name: int(value) for name, value in re.findall(r"SYCLAMP_(\w+) = (\d+)", header)}
structs = dict(re.findall(r"typedef struct syclamp_\w+ \{(.*?)\} syclamp_(\w+);", header, flags=re.S))
structs = {name: list(c_fields(body)) for body, name in structs.items()}
faults = []

constants = re.findall(r"(\w+) = (-?\d+)", "\n".join(re.findall(r"parameter :: ((?:.*&\n)*.*)", types)))
for name, value in constants:
    names = [new + name.removeprefix(old).upper() for old, new in PREFIXES if name.startswith(old)]
    if name in CONSTANTS:
        names = [CONSTANTS[name]]
    found = [values[key] for key in names if key in values]
    if names != [None] and int(value) not in found[:1]:
        faults.append(f"{name} is {value}, but in C it is {found or 'missing'}")
bodies = re.findall(r"type, bind\(c\) :: (\w+)\n(.*?)\n *end type", types, flags=re.S)
for name, body in bodies:
    c, fortran = structs[STRUCTS.get(name, name)], list(fortran_fields(body))
    faults += [f"{name}: the field {b} differs from {a} in C" for a, b in zip(c, fortran) if a != b]
    if len(c) != len(fortran):
        faults.append(f"{name} has {len(fortran)} fields, but {len(c)} in C")
print("\n".join(faults) or f"{len(constants)} constants and {len(bodies)} structs are those of C")
sys.exit(bool(faults) or len(constants) < 60 or len(bodies) < 18)
