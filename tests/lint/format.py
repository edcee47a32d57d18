# SPDX-License-Identifier: Apache-2.0
"""Fails if clang-format would change a file.   format.py CLANG_FORMAT"""
import os
import subprocess
import sys

from sources import cpp_files

if not os.access(sys.argv[1], os.X_OK):
    print(f"{sys.argv[1]} is missing; ./run test installs it")
    sys.exit(77)
files = [str(path) for path in cpp_files()]
sys.exit(subprocess.run([sys.argv[1], "--dry-run", "--Werror", *files]).returncode)
