# SPDX-License-Identifier: Apache-2.0
"""Every kernel of the profile nvidia_gpu was executed by a test on the emulator.

    coverage_test.py FILE…    each file has the names of the kernels that a test has executed, one per line

The kernels are those of src/launch/operations.def. Families whose cell "emulated" is "no" in docs/support.json must have been
executed by none.
"""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DECORATION = re.compile(r"^__sycl_kernel_syclamp_|(_\d+)+$")  # what surrounds the name of an operation


def operations():
    """{kernel: family}"""
    text = (ROOT / "src/launch/operations.def").read_text()
    return {name: family for family, name in re.findall(r'^[A-Z_]+\("([\w/]+)", (\w+)', text, flags=re.M)}


def left_out():
    """The families that the support matrix says are not emulated."""
    devices = json.loads((ROOT / "docs/support.json").read_text())["devices"]
    nvidia = next(device for device in devices if device["name"] == "NVIDIA GPU")
    return {family for family, cells in nvidia["families"].items() if cells["emulated"] == "no"}


def complaints(executed, kernels, excluded):
    for name, family in kernels.items():
        if family in excluded and name in executed:
            yield f'{name} was executed, but docs/support.json has "emulated": "no" for {family}'
        if family not in excluded and name not in executed:
            yield f"{name} was executed by no test on the emulator; add a test that launches it to tests/emulator/CMakeLists.txt"
    for name in sorted(executed - kernels.keys()):
        yield f"{name} was executed, but src/launch/operations.def does not have it"


def main(files):
    if not files:
        sys.exit(__doc__)
    executed = {DECORATION.sub("", name) for file in files for name in pathlib.Path(file).read_text().split()}
    kernels = operations()
    wrong = list(complaints(executed, kernels, left_out()))
    print("\n".join((*wrong, f"{len(executed)} of {len(kernels)} kernels were executed: {len(wrong)} complaints")))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
