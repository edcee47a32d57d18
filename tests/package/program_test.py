# SPDX-License-Identifier: Apache-2.0
"""Calls the program as other tools do.   program_test.py PROGRAM VERSION KERNELS"""
import json
import os
import math
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM, VERSION, KERNELS = sys.argv[1:4]
ROOT = pathlib.Path(__file__).resolve().parents[2]
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
            self.assertEqual((device["gemm_paths"][-1]["name"], device["gemm_paths"][-1]["usable"]), ("portable", True))
            self.assertLessEqual({"name", "driver", "profile", "fp64", "self_test", "gemm_paths"}, device.keys())

    def test_the_numbers_of_a_profile(self):
        report = json.loads(call("info", "--profile", "nvidia_gpu", "--json").stdout)
        self.assertEqual(report["profile"], "nvidia_gpu")
        self.assertEqual(list(report["classes"]), ["reduction", "streaming", "apply", "rows", "matrix", "blocks", "scalar"])
        self.assertEqual(report["classes"]["matrix"]["tile_rows"], 64)
        text = call("info", "--profile", "nvidia_gpu").stdout
        self.assertRegex(text, r"(?m)^matrix\n(  .*\n)*  tile_rows +64$")
        for command in (["info", "--profile", "--json"], ["info", "--json", "--profile"]):  # that of the device
            own = json.loads(call(*command, env={"SYCLAMP_PROFILE": "amd_gpu"}).stdout)
            self.assertEqual(own["profile"], "amd_gpu")
        refused = call("info", "--profile", "abacus")
        self.assertEqual((refused.returncode, refused.stdout), (2, ""))
        self.assertIn("nvidia_gpu", refused.stderr)
        self.assertIn("nvidia_gpu", call("info", "--help").stdout)

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

    @unittest.skipIf(KERNELS != "jit" or os.geteuid() != 0, "only root can make a cache for everybody")
    def test_a_cache_of_root_serves_other_users(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            site, home = (pathlib.Path(folder, name) for name in ("site", "home"))
            site.mkdir(mode=0o755)
            home.mkdir(mode=0o755)
            os.chown(home, 12345, 12345)
            call("info", env={"SYCLAMP_CACHE_DIR": str(site)})
            self.assertEqual([file.stat().st_mode & 0o777 for file in site.iterdir()], [0o644])
            done = subprocess.run([PROGRAM, "info"], env={"SYCLAMP_CACHE_DIR": str(site), "HOME": str(home)}, user=12345,
                                  capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(list(home.iterdir()), [])  # nothing had to be compiled

    def test_output_that_cannot_be_written_is_a_failure(self):
        for arguments in (["--help"], ["--version"], ["info"], ["info", "--json"], ["simulate", "--list"],
                          ["simulate", "--where", "host", "--trace", "...i"], ["simulate", "--trace", "...i"],
                          ["exponents"], ["train", "--help"], ["bench", "--log2-size", "10", "--op", "norm"],
                          ["train", "--epochs", "1", "--batch", "32"], ["verify", "--quick"]):
            with open("/dev/full", "w") as full:
                done = subprocess.run([PROGRAM, *arguments], env=BASE, stdout=full, stderr=subprocess.PIPE, text=True)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), (arguments, done.stderr))
            self.assertIn("No space left on device", done.stderr)

    def test_a_closed_standard_output_is_a_failure_and_no_file_takes_its_place(self):
        with tempfile.TemporaryDirectory() as folder:
            picture = pathlib.Path(folder, "e.svg")
            done = subprocess.run(["/bin/sh", "-c", 'exec "$@" >&-', "sh", PROGRAM, "exponents", "--svg", str(picture)],
                                  env=BASE, stderr=subprocess.PIPE, text=True)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
            self.assertIn("standard output", done.stderr)
            self.assertTrue(picture.read_text().endswith("</svg>\n"))

    def test_outputs_follow_no_link_of_others(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            precious, picture = folder / "precious", folder / "e.svg"
            precious.write_text("precious")
            (folder / "e.svg.new").symlink_to(precious)
            self.assertEqual(call("exponents", "--svg", str(picture)).returncode, 0)
            self.assertIn("<svg", picture.read_text())
            self.assertEqual(precious.read_text(), "precious")
            own = folder / "own.svg"
            own.symlink_to("target.svg")
            self.assertEqual(call("exponents", "--svg", str(own)).returncode, 0)
            self.assertTrue(own.is_symlink())
            self.assertEqual((folder / "target.svg").read_text(), picture.read_text())
            if os.geteuid() != 0:
                return
            theirs = folder / "theirs.svg"
            theirs.symlink_to(precious)
            os.lchown(theirs, 12345, 12345)
            refused = call("exponents", "--svg", str(theirs))
            self.assertEqual((refused.returncode, refused.stdout, refused.stderr.count("\n")), (1, "", 1))
            self.assertIn("is a symbolic link of user 12345", refused.stderr)
            self.assertEqual(precious.read_text(), "precious")

    def test_outputs_go_to_pipes_and_devices(self):
        with tempfile.TemporaryDirectory() as folder:
            pipe = os.path.join(folder, "pipe")
            os.mkfifo(pipe)
            running = subprocess.Popen([PROGRAM, "exponents", "--svg", pipe], env=BASE, stdout=subprocess.DEVNULL)
            with open(pipe) as reader:
                self.assertTrue(reader.read().endswith("</svg>\n"))
            self.assertEqual(running.wait(), 0)
            # As /dev/stdout is, but in a place where nothing is lost if a link were replaced.
            link = os.path.join(folder, "stdout")
            os.symlink("/proc/self/fd/1", link)
            done = call("exponents", "--svg", link)
            self.assertEqual(done.returncode, 0)
            self.assertIn("</svg>\n", done.stdout)
            self.assertIn("largest FP16", done.stdout)
            both = pathlib.Path(folder, "both")
            with open(both, "w") as stream:
                subprocess.run([PROGRAM, "exponents", "--svg", link], env=BASE, stdout=stream)
            self.assertEqual(both.read_text(), done.stdout)
            self.assertTrue(os.path.islink(link))
            leader, follower = os.openpty()
            try:
                written = subprocess.Popen([PROGRAM, "exponents", "--svg", os.ttyname(follower)], env=BASE,
                                           stdout=subprocess.DEVNULL)
                shown = b""
                while b"</svg>" not in shown:
                    shown += os.read(leader, 1000)
                self.assertEqual(written.wait(), 0)
            finally:
                os.close(leader)
                os.close(follower)

    def test_files_that_are_too_long_are_refused_at_once(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "sparse")
            for option, prefix, limit in (("--ledger", "", 256 << 20), ("--trace", "@", 1 << 20)):
                with open(file, "wb") as stream:
                    stream.truncate(5 << 30)
                done = call("simulate", option, prefix + str(file))
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1))
                self.assertIn(f"{file}: it is longer than {limit} bytes", done.stderr)

    def test_names_of_files_cannot_command_a_terminal(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "a\x1b[2Jb\nc")
            refused = call("exponents", "--file", str(file), "--type", "float16")
            self.assertEqual((refused.returncode, refused.stderr.count("\n")), (1, 1))
            self.assertIn("a\\x1b[2Jb\\nc", refused.stderr)
            file.write_bytes(b"1234")
            shown = call("exponents", "--file", str(file), "--type", "float16")
            self.assertEqual(shown.returncode, 0)
            self.assertNotIn("\x1b", shown.stdout)
            self.assertIn("a\\x1b[2Jb\\nc", shown.stdout)
        self.assertNotIn("\x1b", call("simulate", "--trace", "..\x1b").stderr)
        self.assertNotIn("\x1b", call("\x1b[2J").stderr)

    def simulate(self, *arguments):
        done = call("simulate", *arguments, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_simulate_on_the_device_and_on_the_host_agree(self):
        names = [row["name"] for row in json.loads(call("simulate", "--list", "--json").stdout)]
        self.assertEqual(len(names), 21)
        trace = "...i.ii..n.....nnn......i.i.iiii" * 3
        for name in names:
            settings = ("--preset", name, "--interval", "3", "--growth", "1.5", "--trace", trace)
            device, host = self.simulate(*settings), self.simulate(*settings, "--where", "host")
            self.assertEqual(device, host, name)
            self.assertEqual(device["preset"], name)
            for key in ("scale_before", "scale_after", "applied", "status"):
                self.assertEqual(len(device[key]), len(trace), key)
            self.assertEqual(device["scale_before"][1:], device["scale_after"][:-1])
            self.assertEqual(device["applied"], [letter == "." for letter in trace])

    def test_simulate_a_trace(self):
        result = self.simulate("--preset", "pytorch", "--init", "8", "--interval", "2", "--trace", "..i")
        self.assertEqual((result["scale_before"], result["scale_after"]), ([8, 8, 16], [8, 16, 8]))
        for wrong in (("--trace", "..x"), ("--trace", ".", "--growth", "0.5"), ("--preset", "torch", "--trace", "."), ()):
            self.assertEqual(call("simulate", *wrong).returncode, 2, wrong)

    def test_simulate_a_recorded_ledger(self):
        rows = [(1, "applied", 1024, 1024, 512, 0, 100), (2, "skipped_inf", 1024, 512, "", 1, 100)]
        text = "step,outcome,scale,next_scale,amax,findings,elements\n"
        text += "".join(",".join(map(str, row)) + "\n" for row in rows)
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "ledger.csv")
            file.write_text(text)
            report = self.simulate("--preset", "pytorch", "--init", "512", "--ledger", str(file))
            self.assertEqual((report["steps"], report["skips"], report["recorded_skips"]), (2, 0, 1))
            self.assertEqual(report["max_safe_scale"], 512)
            self.assertEqual(call("simulate", "--ledger", str(file), "--where", "host").returncode, 2)
            file.write_text("step,outcome\n1,flown\n")
            refused = call("simulate", "--ledger", str(file))
            self.assertEqual(refused.returncode, 1)
            self.assertIn("ledger.csv", refused.stderr)

    def test_without_a_device_it_says_what_to_install(self):
        none = call("info", env={"ONEAPI_DEVICE_SELECTOR": "level_zero:gpu", "ACPP_VISIBILITY_MASK": "cuda"})
        if none.returncode == 0:
            self.skipTest("there is such a device, or the runtime does not let itself be limited")
        self.assertEqual(none.returncode, 1)
        self.assertIn("install", none.stderr)

    @unittest.skipIf(KERNELS == "aot-acpp", "variables of DPC++ and of its OpenCL loader")
    def test_without_a_device_it_names_the_variables_that_may_hide_it(self):
        for variable, value in (("OCL_ICD_FILENAMES", "/no/such/driver.so"), ("OCL_ICD_FILENAMES", ""),
                                ("ONEAPI_DEVICE_SELECTOR", "cuda:gpu"), ("ONEAPI_DEVICE_SELECTOR", "nonsense")):
            with self.subTest(variable=variable, value=value):
                none = call("info", env={variable: value})
                self.assertEqual(none.returncode, 1)
                self.assertIn(f'{variable} is "{value}"', none.stderr)
                self.assertRegex(none.stderr, "[Uu]nset it")
        wrong = call("info", env={"OCL_ICD_FILENAMES": "/no/such/driver.so", "OCL_ICD_VENDORS": "/no/such/folder"})
        self.assertIn('"/no/such/driver.so" cannot be loaded', wrong.stderr)
        self.assertIn('OCL_ICD_VENDORS is "/no/such/folder"', wrong.stderr)

    @unittest.skipIf(KERNELS == "aot-acpp", "a matter of Intel's CPU driver")
    def test_a_runtime_below_a_folder_with_a_space_is_refused_by_name(self):
        runtime = subprocess.run(["ldd", PROGRAM], capture_output=True, text=True).stdout
        source = pathlib.Path(re.search(r"libsycl\.so\S* => (/.*/)libsycl", runtime)[1]).resolve()
        with tempfile.TemporaryDirectory(dir=os.path.dirname(PROGRAM)) as folder:
            moved = pathlib.Path(folder, "white space")
            moved.mkdir()
            for file in source.iterdir():
                if file.is_symlink():
                    (moved / file.name).symlink_to(os.readlink(file))
                elif file.is_file():
                    try:
                        os.link(file, moved / file.name)
                    except OSError:
                        self.skipTest("the runtime is on another file system, and a copy of it is large")
            refused = call("info", env={"LD_LIBRARY_PATH": str(moved)})
            if "libintelocl" not in "".join(os.listdir(moved)):
                self.skipTest("the driver of the CPU is elsewhere")
            self.assertEqual(refused.returncode, 1)
            self.assertIn(str(moved), refused.stderr)
            self.assertIn("from a path with spaces", refused.stderr)

    def test_usage(self):
        for wrong in ([], ["nonsense"], ["info", "--nonsense"], ["bench", "--log2-size", "99"], ["bench", "--op", "x"],
                      ["verify", "--quick=3"]):
            done = call(*wrong)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), wrong)
        self.assertIn('the command "nonsense" does not exist; choose one of these: info, ', call("nonsense").stderr)
        self.assertEqual(call("--version").stdout.strip(), VERSION)
        for command in ([], ["info"], ["bench"], ["simulate"], ["exponents"], ["train"]):
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
        for file in ("/nowhere/r.json", "/proc/r.json"):  # before the first measurement, not after the last
            for command in (["bench", "--log2-size", "12"], ["train", "--task", "field", "--epochs", "1"]):
                done = call(*command, "--json", file)
                self.assertEqual((done.returncode, done.stdout), (1, ""), command)
                self.assertIn(file, done.stderr)

    def exponents(self, *arguments):
        done = call("exponents", "--json", *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def test_exponents_of_a_file_are_counted_as_fp16_has_them(self):
        # Each border of FP16 with its neighbours, by what becomes of them.
        inf, nan = math.inf, math.nan
        zero = [0.0, -0.0, 2.0**-126, 2.0**-149, -(2.0**-25)]
        subnormal = [2.0**-25 * 1.0001, -(2.0**-24), 2.0**-15, 2.0**-14 - 2.0**-24]
        normal = [2.0**-14 - 2.0**-26, 2.0**-14, 1.0, -65504.0, 65519.996]
        overflow = [65520.0, -65536.0, 3.4e38]
        values = zero + subnormal + normal + overflow + [inf, -inf, nan]
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "gradients")
            file.write_bytes(struct.pack(f"<{len(values)}f", *values))
            report = self.exponents("--file", str(file), "--type", "float32", "--scale", "2")
            self.assertEqual((report["elements"], report["zeros"], report["not_finite"]), (len(values), 2, 3))
            plain, doubled = report["results"]
            counts = [plain[kind] for kind in ("zero", "subnormal", "normal", "overflow")]
            self.assertEqual(counts, [len(zero), len(subnormal), len(normal), len(overflow)])
            self.assertEqual(plain["zero_share"], len(zero) / len(values))
            self.assertIsNone(plain["amax"])
            # Twice as large: 2^-25 and what is above are no longer lost; 2^-15 and what is above are normal.
            counts = [doubled[kind] for kind in ("scale", "zero", "subnormal", "normal", "overflow")]
            self.assertEqual(counts, [2, 4, 3, 5, 5])
            bins = {}
            for value in values:
                if value != 0 and math.isfinite(value):
                    exponent = max(math.frexp(value)[1] - 1, -127)
                    bins[exponent] = bins.get(exponent, 0) + 1
            self.assertEqual(dict(plain["exponents"]), bins | {128: 3})

            file.write_bytes(struct.pack("<4e", 1.0, 2.0**-24, 65504.0, 0.0))
            half = self.exponents("--file", str(file), "--type", "float16")
            self.assertEqual(len(half["results"]), 1)
            self.assertEqual(half["results"][0]["exponents"], [[-24, 1], [0, 1], [15, 1]])
            self.assertEqual((half["results"][0]["amax"], half["results"][0]["headroom"]), (65504, 0))
            file.write_bytes(struct.pack("<2H", 0x3F80, 0x7F00))  # 1 and 2^127
            bf16 = self.exponents("--file", str(file), "--type", "bfloat16", "--scale", "65536")
            self.assertEqual(bf16["results"][1]["exponents"], [[16, 1], [128, 1]])
            self.assertEqual(bf16["results"][1]["overflow"], 2)

    def test_exponents_are_drawn(self):
        done = call("exponents", "--scale", "65536")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for border in ("largest FP16: 65504", "smallest normal FP16: 6.10e-05", "smallest subnormal FP16: 5.96e-08"):
            self.assertIn(border, done.stdout)
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80)
        self.assertIn("made up", call("exponents", "--help").stdout)

    def test_the_picture_of_the_documentation_is_made_by_the_program(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "exponents.svg")
            self.assertEqual(call("exponents", "--scale", "65536", "--svg", str(file)).returncode, 0)
            self.assertEqual(os.listdir(folder), ["exponents.svg"])
            same = file.read_bytes() == pathlib.Path(ROOT, "docs", "exponents.svg").read_bytes()
            self.assertTrue(same, "run: build/bin/syclamp exponents --scale 65536 --svg docs/exponents.svg")

    def test_exponents_refuses_what_it_cannot_read(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "gradients")
            for content, type_name, why in ((b"", "float16", "empty"), (b"12345", "float16", "5 bytes"),
                                            (b"123456", "float32", "6 bytes")):
                file.write_bytes(content)
                done = call("exponents", "--file", str(file), "--type", type_name)
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1), done.stderr)
                self.assertIn(str(file), done.stderr)
                self.assertIn(why, done.stderr)
            for unreadable in (folder, str(file) + ".not-there"):
                done = call("exponents", "--file", unreadable, "--type", "float16")
                self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1))
                self.assertIn(unreadable, done.stderr)
            done = call("exponents", "--svg", str(pathlib.Path(folder, "nowhere", "e.svg")))
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn("nowhere", done.stderr)
        for wrong in (["--scale", "0"], ["--scale", "-1"], ["--scale", "nan"], ["--scale", "1e39"], ["--scale", "x"],
                      ["--file", "f"], ["--type", "float16"], ["--file", "f", "--type", "float64"]):
            done = call("exponents", *wrong)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), wrong)

    def test_what_the_documentation_shows_is_what_the_program_prints(self):
        page = pathlib.Path(ROOT, "docs", "policies.md").read_text()
        shown = re.findall(r"^```console\n\$ syclamp (.*?)\n(.*?)^```", page, flags=re.S | re.M)
        self.assertNotEqual(shown, [])
        for arguments, output in shown:
            self.assertEqual(call(*arguments.split()).stdout, output)

    def test_the_presets_of_the_documentation_are_those_of_the_program(self):
        page = pathlib.Path(ROOT, "docs", "presets.md").read_text()
        done = call("simulate", "--list")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        numbers, words = done.stdout.split("\n\n")
        for table in (numbers.strip(), words.strip()):
            self.assertIn(f"\n\n{table}\n\n", page, "copy the tables of: build/bin/syclamp simulate --list")
        listed = json.loads(call("simulate", "--list", "--json").stdout)
        names = [one["name"] for one in listed]
        self.assertEqual(names, re.findall(r"^\| ([a-z0-9-]+?) +\|", numbers, flags=re.M)[2:])
        torch = listed[names.index("pytorch")]
        self.assertEqual([torch[key] for key in ("init", "growth", "backoff", "interval")], [65536, 2, 0.5, 2000])
        self.assertEqual(call("simulate", "--list", "--trace", "i").returncode, 2)


unittest.main(argv=sys.argv[:1])
