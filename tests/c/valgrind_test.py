# SPDX-License-Identifier: Apache-2.0
"""Runs leak_program under valgrind: no memory of ours is lost, and no access of ours is invalid.

   valgrind_test.py PROGRAM [ARGUMENTS…]

It ends with 77 if valgrind is missing or the driver does not run under it. The program compiles no kernels if they are in the cache
or were built with the library. Otherwise it takes minutes.

The SYCL runtime, the driver and the dynamic loader lose memory at the end of a process. So a record counts only if the memory
was allocated by us: the first frame of its stack that is no allocator and no standard library lies in libsyclamp*.so or in the
program.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

LEAKS = ("Leak_DefinitelyLost", "Leak_PossiblyLost")
INVALID = ("InvalidRead", "InvalidWrite", "InvalidFree", "MismatchedFree", "InvalidJump")
NEUTRAL = re.compile(r"vgpreload|libstdc\+\+|libc\.so")
STANDARD = re.compile(r"^(std::|__gnu_cxx::|operator new|operator delete|malloc$|calloc$|realloc$)")


def frames(error):
    return [(frame.findtext("obj", ""), frame.findtext("fn", "?")) for frame in error.find("stack")]


def is_ours(stack, program):
    """True if the first frame that is no allocator is ours. Templates of the standard library are inside our objects."""
    for library, function in stack:
        if NEUTRAL.search(library) or STANDARD.match(function):
            continue
        return pathlib.Path(library).name.startswith("libsyclamp") or pathlib.Path(library) == program
    return False


def main(program, *arguments):
    if shutil.which("valgrind") is None:
        print("valgrind is not installed; ./run setup installs it where apt can")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.xml")
        done = subprocess.run(["valgrind", "--leak-check=full", "--show-leak-kinds=definite,possible", "--num-callers=40",
                               "--undef-value-errors=no", "--error-limit=no", "--xml=yes", f"--xml-file={report}", program,
                               *arguments], capture_output=True, text=True)
        if "no usable SYCL device" in done.stderr or done.returncode in (-4, 132):  # SIGILL: an instruction valgrind lacks
            print(f"the device's driver does not run under valgrind:\n{done.stderr}")
            return 77
        errors = list(xml.parse(report).getroot().iter("error"))
    kinds = [error.findtext("kind") for error in errors]
    ours = [error for error in errors if error.findtext("kind") in LEAKS + INVALID
            and is_ours(frames(error), pathlib.Path(os.path.realpath(program)))]
    for error in ours:
        print(error.findtext("kind"), error.findtext("xwhat/text") or error.findtext("what"))
        print("".join(f"    {function} ({library})\n" for library, function in frames(error)[:20]))
    print(f"{sum(kind in LEAKS for kind in kinds)} records of lost memory and {sum(kind in INVALID for kind in kinds)} invalid "
          f"accesses in all libraries; {len(ours)} of them are ours")
    if done.returncode != 0:
        print(f"{program} ends with {done.returncode}: {done.stderr}")
    return 1 if ours or done.returncode != 0 else 0


sys.exit(main(*sys.argv[1:]))
