# SPDX-License-Identifier: Apache-2.0
"""Which loads the hot loop of a kernel has, by class, profile and type of the gradients. From these loads the loop is recognised."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
TYPES = {"FP16": 2, "BF16": 2, "FP32": 4}
INSPECTIONS = ("inspect_chunks", "inspect_step", "inspect_pieces", "unscale_chunks")
# Steps that do not read the gradients, and first parts of a rule with what they read besides the gradients.
WITHOUT_GRADIENTS = ("lamb_step",)
FIRST_PARTS = {"lamb_pieces": [4, 4, 4], "novograd_pieces": []}
# Kernels that test the storage types at each pack and use it before they load the next one: by class of the profile. cast_list does so,
# too, but is not looked for: the rounds of its random bits are a loop within the loop over packs.
ONE_PACK = {"streaming": ("clamp_list", "count_exponents", "fake_quantize", "straight_through"),
            "rows": ("activate_gradient", "activate_rows", "cross_entropy_rows", "layer_norm_gradient", "layer_norm_rows", "squared_error_rows")}
CLASS_NAMES = {"streaming": "other streams", "rows": "rows"}  # of these, in the tables


def numbers(profile, name):
    """The numbers of a class, from backends/<profile>.inc."""
    text = re.sub(r"//.*", "", (ROOT / f"backends/{profile}.inc").read_text())
    block = re.search(rf"\.{name} = \{{([^}}]*)\}}", text)[1]
    return {member: int(value) for member, value in re.findall(r"\.(\w+) = (\d+)", block)}


def steps():
    """{kernel: number of moments} of the optimizers' steps."""
    text = (ROOT / "src/launch/operations.def").read_text()
    return {name: int(moments) for name, moments in re.findall(r'^OPTIMIZER_STEP\("[\w/]+", (\w+), (\d+)\)', text, flags=re.M)}


def operation_class(kernel):
    """(name of the class in the tables, name of the class in the profile), or None for all other kernels."""
    if kernel in INSPECTIONS:
        return "inspect", "reduction"
    if kernel == "convert_list":
        return "convert", "streaming"
    for class_name, names in ONE_PACK.items():
        if kernel in names:
            return CLASS_NAMES[class_name], class_name
    return ("apply", "apply") if kernel in steps() or kernel in FIRST_PARTS else None


def types(kernel):
    """The types that a kernel reads, of those that the tables have."""
    return ("FP32",) if kernel == "clamp_list" else tuple(TYPES)


def families():
    """The families of src/launch/operations.def that have a kernel with a class."""
    text = (ROOT / "src/launch/operations.def").read_text()
    rows = re.findall(r'^[A-Z_]+\("([\w/]+)", (\w+)', text, flags=re.M)
    return list(dict.fromkeys(family for family, name in rows if operation_class(name)))


def packs_in_flight(bytes_in_flight, pack_bytes):
    """As in sycl_kernels/shared/tuning.hpp."""
    packs = 1
    while packs * pack_bytes < bytes_in_flight:
        packs *= 2
    return packs


def expected_loads(kernel, profile, type_name):
    """Sorted sizes of the loads of a hot loop; several lists if there are several ways to store the weights."""
    tuning, size = numbers(profile, operation_class(kernel)[1]), TYPES[type_name]
    lanes, others = tuning["max_lanes"], []
    if kernel in INSPECTIONS:
        lanes = min(lanes, tuning["pack_bytes"] // size)
    elif kernel in FIRST_PARTS:
        others = FIRST_PARTS[kernel]
    elif kernel != "convert_list":
        others = [4] * (1 + steps()[kernel])
    gradient = [] if kernel in WITHOUT_GRADIENTS else [size]
    packs = packs_in_flight(tuning["bytes_in_flight"], lanes * sum(gradient + others))
    ways = [gradient + others]
    if type_name == "BF16" and others:
        ways.append(gradient + [2, 2] + others[1:])  # the weights in two halves
    return [sorted([stream * lanes for stream in way] * packs) for way in ways]


def bytes_per_item(kernel, profile, type_name, loops):
    """What a work-item has under way before it uses the first of it: the least of all hot loops for the type, or None."""
    if any(kernel in names for names in ONE_PACK.values()):
        tuning = numbers(profile, operation_class(kernel)[1])
        pack = tuning["max_counted_lanes" if kernel == "count_exponents" else "max_lanes"] * TYPES[type_name]
        # The loads of all types stand in one loop, so only the size of a pack is looked for: a lower bound.
        return pack if any(pack in loop["loads"] for loop in loops) else None
    wanted = expected_loads(kernel, profile, type_name)
    found = [loop for loop in loops if loop["loads"] in wanted]
    if type_name != "FP32" and kernel not in WITHOUT_GRADIENTS:
        # A copy has no conversion by which FP16 could be told from BF16.
        same = [loop for loop in found if loop["fp16"] == (type_name == "FP16")]
        found = same or (found if kernel == "convert_list" else [])
    return min((loop["before_use"] for loop in found), default=None)
