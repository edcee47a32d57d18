# SPDX-License-Identifier: Apache-2.0
"""Fails if clang-format would change a file.   format.py CLANG_FORMAT"""
import subprocess
import sys

from sources import cpp_files

files = [str(path) for path in cpp_files()]
sys.exit(subprocess.run([sys.argv[1], "--dry-run", "--Werror", *files]).returncode)
