# SPDX-License-Identifier: Apache-2.0
"""A machine without the run-time compiler.   no_compiler_test.py PROGRAM LIBRARY_FOLDER SYCL_FOLDER

The compiler is hidden by a copy of the SYCL runtime that lacks libsycl-jit. Every process has an empty kernel cache.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM, LIBRARY, SYCL = (pathlib.Path(path).resolve() for path in sys.argv[1:4])
KEY_OFFSET = 8  # in a file of ready kernels: after the magic number


def copy_runtime(folder, with_compiler):
    """Links to the runtime's files. libsycl itself is copied, because it looks for the compiler beside itself."""
    folder.mkdir()
    for file in SYCL.iterdir():
        if file.name.startswith("libsycl-jit") and not with_compiler:
            continue
        if file.name.startswith("libsycl.so"):
            shutil.copy(file, folder / file.name)
        else:
            (folder / file.name).symlink_to(file)


def copy_library_with_other_keys(folder):
    """The library with kernels that were made by another compiler, as far as their keys tell."""
    shutil.copytree(LIBRARY, folder, symlinks=True, ignore=lambda _, names: [name for name in names if name.endswith(".a")])
    files = list((folder / "syclamp" / "kernels").rglob("*.spirv"))
    for file in files:
        content = bytearray(file.read_bytes())
        content[KEY_OFFSET] ^= 1
        file.write_bytes(content)
    return len(files)


class Test(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name).resolve()
        copy_runtime(cls.folder / "complete", with_compiler=True)
        copy_runtime(cls.folder / "without-compiler", with_compiler=False)
        assert copy_library_with_other_keys(cls.folder / "other-keys") > 20

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def call(self, runtime, library, *arguments):
        with tempfile.TemporaryDirectory() as cache:
            libraries = f"{self.folder / runtime}:{library}"
            environment = {**os.environ, "LD_LIBRARY_PATH": libraries, "SYCLAMP_CACHE_DIR": cache}
            environment.pop("SYCLAMP_CACHE", None)
            return subprocess.run([PROGRAM, *arguments], env=environment, capture_output=True, text=True)

    def test_a_new_process_trains_without_a_compiler(self):
        result = self.folder / "result.json"
        done = self.call("without-compiler", LIBRARY, "train", "--task", "field", "--precision", "fp16", "--epochs", "1",
                         "--batch", "32", "--json", result)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        self.assertIsNotNone(json.loads(result.read_text())["runs"][0]["loss"])

    def test_kernels_with_another_key_are_compiled(self):
        done = self.call("complete", self.folder / "other-keys", "bench", "--first-operation")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_kernels_with_another_key_are_not_used(self):
        done = self.call("without-compiler", self.folder / "other-keys", "bench", "--first-operation")
        self.assertEqual(done.returncode, 1)
        self.assertIn("libsycl-jit", done.stderr)  # what is missing is named


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
