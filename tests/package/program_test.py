# SPDX-License-Identifier: Apache-2.0
"""Calls the program as other tools do.   program_test.py PROGRAM VERSION KERNELS"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM, VERSION, KERNELS = sys.argv[1:4]
BASE = {"SYCLAMP_CACHE_DIR": os.environ["SYCLAMP_CACHE_DIR"]}
if KERNELS == "aot-acpp":  # AdaptiveCpp compiles at run time, too: it calls the system's linker, and it chats
    BASE |= {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "ACPP_DEBUG_LEVEL": "0"}


def call(*arguments, env=None):
    """Runs the program in an environment that holds nothing but `env` and what is above."""
    return subprocess.run([PROGRAM, *arguments], env={**BASE, **(env or {})}, capture_output=True, text=True)


class Program(unittest.TestCase):
    @unittest.skipIf(KERNELS == "aot-acpp", "AdaptiveCpp needs a PATH")
    def test_info_works_in_an_empty_environment(self):
        with tempfile.TemporaryDirectory() as home:
            for env in ({}, {"HOME": home}):
                done = subprocess.run([PROGRAM, "info"], env=env, capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
                self.assertIn("profile", done.stdout)

    def test_info_json(self):
        report = json.loads(call("info", "--json").stdout)
        self.assertEqual(report["version"], VERSION)
        self.assertEqual(report["kernel_mode"], KERNELS.split("-")[0])
        self.assertTrue(any(device["usable"] for device in report["devices"]))
        for device in report["devices"]:
            self.assertLessEqual({"name", "driver", "profile", "fp64", "self_test"}, device.keys())

    def test_a_profile_is_forced(self):
        report = json.loads(call("info", "--json", env={"SYCLAMP_PROFILE": "amd_gpu"}).stdout)
        self.assertEqual({device["profile"] for device in report["devices"]}, {"amd_gpu"})
        refused = call("info", env={"SYCLAMP_PROFILE": "abacus"})
        self.assertEqual(refused.returncode, 1)
        self.assertIn("abacus", refused.stderr)

    @unittest.skipIf(KERNELS != "jit", "kernels are built ahead of time")
    def test_the_cache_is_used_and_can_be_off(self):
        with tempfile.TemporaryDirectory() as folder:
            off = call("info", "--json", env={"SYCLAMP_CACHE_DIR": folder, "SYCLAMP_CACHE": "off"})
            self.assertEqual(json.loads(off.stdout)["cache"]["folder"], "")
            self.assertEqual(os.listdir(folder), [])
            call("info", env={"SYCLAMP_CACHE_DIR": folder})
            self.assertEqual(len(os.listdir(folder)), 1)
            kept = pathlib.Path(folder, os.listdir(folder)[0])
            before = kept.stat().st_mtime_ns
            call("info", env={"SYCLAMP_CACHE_DIR": folder})
            self.assertEqual(kept.stat().st_mtime_ns, before)

    def test_without_a_device_it_says_what_to_install(self):
        none = call("info", env={"ONEAPI_DEVICE_SELECTOR": "level_zero:gpu", "ACPP_VISIBILITY_MASK": "cuda"})
        if none.returncode == 0:
            self.skipTest("there is such a device, or the runtime does not let itself be limited")
        self.assertEqual(none.returncode, 1)
        self.assertIn("install", none.stderr)

    def test_usage(self):
        for wrong in ([], ["nonsense"], ["info", "--nonsense"], ["bench", "--log2-size", "99"], ["bench", "--op", "x"]):
            done = call(*wrong)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), wrong)
        self.assertEqual(call("--version").stdout.strip(), VERSION)
        for command in ([], ["info"], ["bench"]):
            shown = call(*command, "--help")
            self.assertEqual(shown.returncode, 0)
            self.assertIn("--help", shown.stdout)

    def test_bench_writes_json_and_csv(self):
        with tempfile.TemporaryDirectory() as folder:
            files = [os.path.join(folder, name) for name in ("r.json", "r.csv")]
            done = call("bench", "--log2-size", "12", "--op", "inspect", "--json", files[0], "--csv", files[1])
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            report = json.loads(pathlib.Path(files[0]).read_text())
            keys = "op grad_type elements tensors bytes_per_element seconds_median seconds_min gbps reference_gbps ratio kernels checksum verified"
            for row in report["results"]:
                self.assertEqual(list(row), keys.split())
                self.assertTrue(row["verified"])
            self.assertEqual([row["grad_type"] for row in report["results"]], ["float16", "bfloat16", "float32"])
            lines = pathlib.Path(files[1]).read_text().splitlines()
            self.assertEqual(lines[0], keys.replace(" ", ","))
            self.assertEqual(len(lines), 4)
            self.assertEqual(sorted(os.listdir(folder)), ["r.csv", "r.json"])

    def test_a_file_that_cannot_be_written_is_named(self):
        done = call("bench", "--log2-size", "12", "--json", "/nowhere/r.json")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nowhere/r.json", done.stderr)


unittest.main(argv=sys.argv[:1])
