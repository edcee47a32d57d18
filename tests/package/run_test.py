# SPDX-License-Identifier: Apache-2.0
"""./run with stand-ins for CMake and the set-up: how it configures a build for GPUs.   run_test.py PROJECT"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(sys.argv[1]).resolve()
# Configures like CMake: what the command line defines takes the place of the preset's value, which takes that of the cache. A preset of
# today may have another default than the preset with which a folder was configured.
CMAKE = """#!/bin/sh
case $1 in --build) exit 0 ;; esac
echo "$@" >> configurations
value=default
for word; do case $word in -DSYCLAMP_SYCL_TARGETS=*) value=${word#*=} ;; esac; done
mkdir -p "build-$2/bin"
echo "SYCLAMP_SYCL_TARGETS:STRING=$value" > "build-$2/CMakeCache.txt"
touch "build-$2/build.ninja"
printf '#!/bin/sh\\n' > "build-$2/bin/syclamp"
chmod +x "build-$2/bin/syclamp"
"""


class Run(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        shutil.copy(PROJECT / "run", self.folder)
        for name in ("paths", "packages", "wheels"):
            (self.folder / "setup").mkdir(exist_ok=True)
            (self.folder / f"setup/{name}.sh").write_text("")
        (self.folder / "tools").mkdir()
        program = self.folder / "tools/cmake"
        program.write_text(CMAKE)
        program.chmod(0o755)

    def verify(self, preset, targets=None):
        """`./run verify` with a preset. The targets that the build folder has then, and how often it has been configured."""
        variables = {name: value for name, value in os.environ.items() if not name.startswith("SYCLAMP_")}
        variables |= {"PATH": f"{self.folder / 'tools'}:{os.environ['PATH']}", "SYCLAMP_PRESET": preset, "SYCLAMP_SYCL_ROOT": "/nowhere"}
        if targets is not None:
            variables["SYCLAMP_SYCL_TARGETS"] = targets
        done = subprocess.run(["./run", "verify"], cwd=self.folder, env=variables, text=True, capture_output=True, timeout=60)
        if done.returncode:
            return done.returncode, done.stderr
        cache = (self.folder / f"build-{preset}/CMakeCache.txt").read_text()
        return cache.strip().partition("=")[2], len((self.folder / "configurations").read_text().splitlines())

    def test_targets_reach_cmake(self):
        self.assertEqual(self.verify("hip"), ("default", 1))
        self.assertEqual(self.verify("hip", "amd_gpu_gfx942"), ("amd_gpu_gfx942", 2))
        self.assertEqual(self.verify("hip", "amd_gpu_gfx942"), ("amd_gpu_gfx942", 2))
        self.assertEqual(self.verify("hip", "amd_gpu_gfx1100"), ("amd_gpu_gfx1100", 3))

    def test_a_build_folder_keeps_its_targets(self):
        self.verify("cuda", "nvidia_gpu_sm_90")
        self.assertEqual(self.verify("cuda"), ("nvidia_gpu_sm_90", 1))
        (self.folder / "build-cuda/build.ninja").unlink()  # as after a configuration that failed
        self.assertEqual(self.verify("cuda"), ("nvidia_gpu_sm_90", 2))

    def test_a_new_default_of_a_preset_takes_the_place_of_the_old_one(self):
        folder = self.folder / "build-cuda"
        folder.mkdir()
        (folder / "CMakeCache.txt").write_text("SYCLAMP_SYCL_TARGETS:STRING=old-default\n")
        self.assertEqual(self.verify("cuda"), ("default", 1))

    def test_a_preset_without_targets_refuses_them(self):
        status, message = self.verify("jit", "amd_gpu_gfx942")
        self.assertEqual(status, 2)
        self.assertIn("the preset jit has no targets", message)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
