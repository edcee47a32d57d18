# SPDX-License-Identifier: Apache-2.0
"""Calls `syclamp verify` as people and other tools do.   verify_test.py PROGRAM VERSION [--full]"""
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import unittest

PROGRAM, VERSION = sys.argv[1:3]
FULL = "--full" in sys.argv[3:]
OUTCOMES = ("passed", "failed", "skipped")
# What every profile runs.
SUBJECTS = ("inspect", "unscale", "inspect and unscale", "norm and clip", "cast", "accumulate", "clear", "clamp",
            "inspect tensors and groups", "exponent histogram", "saturating and stochastic cast", "fake quantization",
            "optimizer sgd", "optimizer adamw", "optimizer lion", "scaler traces", "graph replay", "several scales", "joint steps",
            "consensus of ranks", "gradients of FP64 and FP8", "second queue", "spikes, stops, invalid numbers",
            "matrix products, portable", "activations", "row sums", "layer norm", "cross-entropy", "squared error")
MAX_SECONDS = 120


def verify(*arguments, **environment):
    return subprocess.run([PROGRAM, "verify", *arguments], env={**os.environ, **environment}, capture_output=True, text=True)


def verify_with_json(*arguments, **environment):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "verify.json")
        done = verify("--json", str(file), *arguments, **environment)
        return done, json.loads(file.read_text())


def cpu_seconds():
    """Of all processes that this one has waited for, per core."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) / len(os.sched_getaffinity(0))


def timed(run):
    """What `run` returns, and the CPU time that it used, per core."""
    before, results = cpu_seconds(), run()
    return results, cpu_seconds() - before


class Verify(unittest.TestCase):
    def check_report(self, done, report):
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertLessEqual({"device", "driver", "version", "checks", "bench"}, report.keys())
        self.assertEqual(report["profile_note"], "")
        context = report["bench"]["context"]  # so `bench` is a document of `syclamp bench`
        self.assertEqual([context[key] for key in ("device", "driver", "version", "profile", "reference")],
                         [report["device"], report["driver"], VERSION, report["profile"], "copy"])
        self.assertEqual(report["version"], VERSION)
        self.assertIn(report["device"], done.stdout)
        for check in report["checks"]:
            self.assertEqual(list(check), ["name", "result", "detail"])
            self.assertIn(check["result"], OUTCOMES)
            self.assertTrue(check["detail"], check)
            self.assertIn(check["name"], done.stdout)
        results = [check["result"] for check in report["checks"]]
        passed, failed, skipped = (results.count(outcome) for outcome in OUTCOMES)
        self.assertEqual(failed, 0)
        self.assertIn(f"{len(results)} checks on {report['device']}: {passed} passed, 0 failed, {skipped} skipped", done.stdout)
        names = [check["name"] for check in report["checks"]]
        self.assertEqual(len(names), len(set(names)))
        for row in report["bench"]["results"]:
            self.assertEqual(" ".join(row), "op grad_type elements tensors bytes_per_element seconds_median seconds_min gbps "
                             "reference_gbps ratio kernels checksum verified")
            self.assertTrue(row["verified"])
            self.assertGreater(row["gbps"], 0)
            self.assertAlmostEqual(row["ratio"], row["gbps"] / row["reference_gbps"])
            self.assertRegex(done.stdout, rf"{row['op']} +{row['grad_type']} +{row['gbps']:.1f} +{100 * row['ratio']:.0f}\n")
        measured = {(row["op"], row["grad_type"]) for row in report["bench"]["results"]}
        self.assertLessEqual({(op, kind) for op in ("inspect", "unscale", "cast", "adamw_step_clip") for kind in ("float16", "bfloat16")},
                             measured)
        return {check["name"]: check["result"] for check in report["checks"]}

    @unittest.skipIf(FULL, "the full run")
    def test_quick_checks_every_subject_with_the_profile_of_the_device(self):
        done, report = verify_with_json("--quick")
        checks = self.check_report(done, report)
        self.assertEqual(checks["arithmetic self-test"], "passed")
        for subject in SUBJECTS:
            self.assertEqual(checks[f"{subject}, profile {report['profile']}"], "passed")
        self.assertIn("skipped", checks.values())  # the other profiles

    @unittest.skipUnless(FULL, "only the full run")
    def test_the_full_run_forces_every_profile(self):
        (done, report), seconds = timed(verify_with_json)
        checks = self.check_report(done, report)
        if seconds > MAX_SECONDS:  # the first run also compiles kernels
            (done, report), seconds = timed(verify_with_json)
        print(f"verify took {seconds:.0f} s of CPU time per core")
        self.assertLessEqual(seconds, MAX_SECONDS)
        refused = subprocess.run([PROGRAM, "info", "--profile", "abacus"], capture_output=True, text=True).stderr
        profiles = re.search(r"choose one of ([a-z_, ]+)", refused)[1].strip().split(", ")
        self.assertGreater(len(profiles), 3)
        for profile in profiles:
            for subject in SUBJECTS:
                self.assertEqual(checks[f"{subject}, profile {profile}"], "passed")
        self.assertEqual(checks[f"optimizer lamb, profile {report['profile']}"], "passed")

    @unittest.skipIf(FULL, "the full run")
    def test_wrong_usage(self):
        for wrong in (["--nonsense"], ["file.json"], ["--json"]):
            done = verify(*wrong)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), wrong)
        for file in ("/nowhere/verify.json", "/proc/verify.json"):  # before the first check, not after the last
            done = verify("--quick", "--json", file)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(file, done.stderr)

    @unittest.skipIf(FULL, "the full run")
    def test_without_a_device_it_says_what_to_install(self):
        done = verify("--quick", ONEAPI_DEVICE_SELECTOR="level_zero:gpu", ACPP_VISIBILITY_MASK="cuda")
        if done.returncode == 0:
            self.skipTest("there is such a device, or the runtime does not let itself be limited")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1))
        self.assertIn("install", done.stderr)

    @unittest.skipIf(FULL, "the full run")
    def test_an_unknown_profile_is_a_failure(self):
        done = verify("--quick", SYCLAMP_PROFILE="abacus")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1))
        self.assertIn("abacus", done.stderr)


unittest.main(argv=sys.argv[:1])
