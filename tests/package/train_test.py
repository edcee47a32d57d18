# SPDX-License-Identifier: Apache-2.0
"""Calls `syclamp train` as other tools do.   train_test.py PROGRAM VERSION [PYTHON OF THE REPORT]"""
import html.parser
import json
import os
import pathlib
import re
import shlex
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM, VERSION = sys.argv[1:3]
REPORT_PYTHON = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None
TINY = ("--batch", "32")  # a hidden option: 128 samples of field instead of 16 384

RUN_KEYS = ("name precision scaling loss accuracy zero_share zero_share_weights skips final_scale seconds scaling_share "
            "steps loss_curve held_out_curve scale_curve skipped_steps exponents tensors step_seconds").split()
TASK_KEYS = "task command seed epochs steps batch parameters device profile gemm version date interrupted runs".split()


def made_up_digits():
    """1797 lines in the right form: the label is where the pixels are bright, so that there is something to learn."""
    lines = []
    for i in range(1797):
        pixels = [16 if pixel // 6 == i % 10 else (i * 7 + pixel * 3) % 5 for pixel in range(64)]
        lines.append(",".join(map(str, pixels + [i % 10])))
    return "\n".join(lines) + "\n"


def call(*arguments, env=None):
    return subprocess.run([PROGRAM, "train", *arguments], env={**os.environ, **(env or {})}, capture_output=True, text=True)


def without_times(result):
    """What does not depend on how fast the machine is, nor on the hour."""
    runs = [{key: run[key] for key in run if key not in ("seconds", "scaling_share", "step_seconds")} for run in result["runs"]]
    return {key: result[key] for key in result if key != "date"} | {"runs": runs}


class Words(html.parser.HTMLParser):
    """What a page says."""

    def __init__(self, page):
        super().__init__()
        self.said, self.rows, self.is_row = [], [], False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        if tag in ("th", "td"):
            self.is_row = ("scope", "row") in attributes

    def handle_data(self, data):
        self.said.append(data)
        if self.is_row:
            self.rows.append(data)  # what a row of a table is about
            self.is_row = False

    def __str__(self):
        return " ".join(" ".join(self.said).split())


class Train(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.json = self.folder / "train.json"

    def train(self, *arguments, env=None):
        done = call(*arguments, "--json", str(self.json), env=env)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return json.loads(self.json.read_text()), done.stdout

    def start(self, *arguments, on_sigint=signal.SIG_DFL, **streams):
        """In the background. What a shell starts there ignores SIGINT, and so would what that starts: hence `on_sigint`."""
        running = subprocess.Popen([PROGRAM, "train", *arguments], preexec_fn=lambda: signal.signal(signal.SIGINT, on_sigint),
                                   **streams)
        self.addCleanup(running.wait)
        self.addCleanup(running.kill)
        return running

    def check_run(self, run, task):
        self.assertEqual(list(run), RUN_KEYS)
        steps = run["steps"]
        self.assertEqual([at[0] for at in run["loss_curve"]], list(range(1, steps + 1)))
        self.assertEqual([at[0] for at in run["scale_curve"]], list(range(1, steps + 1)))
        self.assertEqual(run["held_out_curve"][-1], [steps, run["loss"], run["accuracy"]])
        self.assertEqual(run["accuracy"] is None, task == "field")
        self.assertEqual(run["skips"], len(run["skipped_steps"]))
        self.assertEqual(list(run["step_seconds"]), "forward backward inspect apply update other".split())
        bins = run["exponents"]
        self.assertEqual(list(bins), "step lowest counts zeros infs nans".split())
        elements = sum(tensor["elements"] for tensor in run["tensors"])
        self.assertEqual(sum(bins["counts"]) + bins["zeros"] + bins["infs"] + bins["nans"], elements)
        self.assertEqual(run["tensors"][-1]["name"], "output")
        for tensor in run["tensors"]:
            self.assertEqual(list(tensor), "name elements zero_share subnormal_share amax".split())
        zeros = sum(tensor["zero_share"] * tensor["elements"] for tensor in run["tensors"])
        self.assertAlmostEqual(run["zero_share"], zeros / elements, places=12)
        output = run["tensors"][-1]
        of_weights = (zeros - output["zero_share"] * output["elements"]) / (elements - output["elements"])
        self.assertAlmostEqual(run["zero_share_weights"], of_weights, places=12)
        if run["scaling"] == "none":  # nothing is inspected
            self.assertEqual((run["scaling_share"], run["step_seconds"]["inspect"]), (0, 0))
        else:
            self.assertGreater(run["scaling_share"], 0)

    def check_nothing_to_do(self, before, *arguments):
        """A run that has all of its epochs is loaded and shown, not trained again: no step of it is timed."""
        after, _ = self.train(*arguments, "--resume")
        (before,), (after,) = before["runs"], after["runs"]
        for key in ("steps", "loss", "loss_curve", "held_out_curve", "scale_curve", "skipped_steps", "final_scale"):
            self.assertEqual(after[key], before[key], key)
        self.assertIsNotNone(before["step_seconds"]["forward"])
        self.assertIsNone(after["step_seconds"]["forward"])

    def test_compare(self):
        result, shown = self.train("--compare", "--epochs", "2", *TINY, "--init", "1e30", "--max", "1e30")
        self.assertEqual(list(result), TASK_KEYS)
        self.assertEqual((result["task"], result["version"], result["interrupted"]), ("field", VERSION, False))
        self.assertEqual((result["batch"], result["epochs"], result["steps"]), (32, 2, 8))
        names = ["fp32", "fp16-none", "fp16-static", "fp16-dynamic", "bf16"]
        self.assertEqual([run["name"] for run in result["runs"]], names)
        for run in result["runs"]:
            self.check_run(run, "field")
            self.assertIn(run["name"], shown)
        runs = dict(zip(names, result["runs"]))
        self.assertEqual(result["command"], "syclamp train --task field --compare --epochs 2 --seed 1 --init 1e+30 "
                                            "--max 1e+30 --batch 32")
        self.assertIn("the output's and the weights'", shown)
        self.assertEqual([runs[name]["final_scale"] for name in names[:3]], [1, 1, 1024])
        self.assertEqual(runs["fp16-dynamic"]["skipped_steps"], list(range(1, 9)))  # 1e30 is far too large
        self.assertEqual(runs["fp16-dynamic"]["scale_curve"][1][1], runs["fp16-dynamic"]["scale_curve"][0][1] / 2)
        self.assertGreater(runs["fp16-none"]["zero_share"], runs["fp32"]["zero_share"])
        # The same seed and the same data: all begin with the same loss, but for rounding, which makes 3e-7 in BF16; other weights make 5e-6.
        for run in result["runs"]:
            self.assertAlmostEqual(run["loss_curve"][0][1], runs["fp32"]["loss_curve"][0][1], delta=1e-6)

    def test_one_bar_over_all_runs_and_a_summary_of_five_lines(self):
        leader, follower = os.openpty()
        running = self.start("--compare", "--epochs", "2", *TINY, stdout=subprocess.PIPE, stderr=follower, text=True)
        os.close(follower)
        drawn = b""
        try:
            while more := os.read(leader, 1000):
                drawn += more
        except OSError:  # this is how Linux tells that the other side is closed
            pass
        finally:
            os.close(leader)
        shown, _ = running.communicate(timeout=300)
        self.assertEqual(running.returncode, 0)
        bars = [line for line in drawn.decode().split("\r\033[K") if line]
        shares = [int(re.search(r"(\d+) %", bar)[1]) for bar in bars]
        self.assertEqual((shares[0], shares[-1], shares), (0, 100, sorted(shares)))
        self.assertGreaterEqual(len(set(shares)), 8)
        for number, name in enumerate(("fp32", "fp16-none", "fp16-static", "fp16-dynamic", "bf16"), 1):
            self.assertTrue(any(f"(run {number} of 5: field {name})" in bar for bar in bars), bars)
        self.assertIn(" s left", bars[-2])
        self.assertLess(max(map(len, bars)), 80)
        self.assertTrue(drawn.endswith(b"\r\033[K"))
        last = shown.rstrip("\n").splitlines()[-5:]
        self.assertEqual([line[:17].rstrip() for line in last],
                         ["Trained", "Plain FP16", "Dynamic scaling", "Its cost", "What to look at"])

    def test_a_fixed_scale_that_overflows_skips_every_step(self):
        result, _ = self.train("--scaling", "static:1e38", "--epochs", "1", *TINY)
        (run,) = result["runs"]
        again, _ = self.train(*shlex.split(result["command"])[2:])
        self.assertEqual(again["runs"][0]["loss_curve"], run["loss_curve"])
        as_fp32 = struct.unpack("f", struct.pack("f", 1e38))[0]
        self.assertEqual((run["skips"], run["final_scale"], run["scale_curve"][0][1]), (4, as_fp32, as_fp32))
        self.assertIsNotNone(run["loss"])  # of the weights that it began with

    def test_digits(self):
        (self.folder / "digits.csv").write_text(made_up_digits())
        one, _ = self.train("--task", "digits", "--epochs", "2", "--data", str(self.folder / "digits.csv"))
        (run,) = one["runs"]
        self.check_run(run, "digits")
        self.assertEqual((one["batch"], run["steps"], run["name"]), (96, 30, "fp16-dynamic"))
        self.assertLess(run["loss"], run["loss_curve"][0][1])
        two, _ = self.train("--task", "digits", "--epochs", "2", env={"SYCLAMP_DATA": str(self.folder)})
        self.assertEqual(two["runs"][0]["loss_curve"], run["loss_curve"])
        other, _ = self.train("--task", "digits", "--epochs", "2", "--seed", "2", env={"SYCLAMP_DATA": str(self.folder)})
        self.assertNotEqual(other["runs"][0]["loss_curve"], run["loss_curve"])

    def test_several_tasks_are_a_list(self):
        (self.folder / "digits.csv").write_text(made_up_digits())
        result, _ = self.train("--task", "all", "--epochs", "1", *TINY, "--precision", "fp32", "--scaling", "none",
                               "--data", str(self.folder / "digits.csv"))
        self.assertEqual([one["task"] for one in result], ["field", "digits"])

    def test_resumed_is_the_same_as_at_once(self):
        file = str(self.folder / "run.ckpt")
        # A scale that is skipped at first and grows: the scaler's state matters, and so does the optimizer's.
        settings = (*TINY, "--init", "1e12", "--max", "1e12", "--interval", "3")
        at_once, _ = self.train(*settings, "--epochs", "6")
        first, _ = self.train(*settings, "--epochs", "2", "--checkpoint", file)
        self.assertGreater(first["runs"][0]["skips"], 0)
        self.check_nothing_to_do(first, *settings, "--epochs", "2", "--checkpoint", file)
        resumed, _ = self.train(*settings, "--epochs", "6", "--checkpoint", file, "--resume")
        self.assertEqual(without_times(resumed), without_times(at_once))
        refused = call(*settings, "--epochs", "6", "--checkpoint", file)
        self.assertEqual((refused.returncode, refused.stdout, refused.stderr.count("\n")), (2, "", 1))
        self.assertIn(file, refused.stderr)
        self.assertIn("--resume", refused.stderr)
        refused = call(*settings[:-1], "4", "--checkpoint", file, "--resume")
        self.assertEqual((refused.returncode, refused.stderr.count("\n")), (1, 1))
        self.assertIn("interval 3, but this one has 4", refused.stderr)
        refused = call(*settings, "--checkpoint", file, "--resume", "--seed", "9")
        self.assertEqual((refused.returncode, refused.stdout.count("\n"), refused.stderr.count("\n")), (1, 1, 1))
        self.assertIn("seed 1", refused.stderr)
        missing = call(*settings, "--checkpoint", file + ".none", "--resume")
        self.assertEqual(missing.returncode, 1)
        self.assertIn(file + ".none", missing.stderr)

    def test_sigint_ends_with_what_there_is(self):
        file = self.folder / "run.ckpt"
        running = self.start(*TINY, "--epochs", "1000000", "--json", str(self.json), "--checkpoint", str(file),
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        running.stdout.readline()  # the device: the signal is caught from before that on
        running.send_signal(signal.SIGINT)  # a second signal would end the program at once
        shown, complaint = running.communicate(timeout=300)
        self.assertEqual((running.returncode, complaint), (130, "syclamp: interrupted\n"))
        self.assertIn("field", shown)
        result = json.loads(self.json.read_text())
        self.assertEqual((list(result), result["task"], result["interrupted"]), (TASK_KEYS, "field", True))
        self.assertTrue(all(run["steps"] > 0 for run in result["runs"]))
        self.assertEqual(file.exists(), bool(result["runs"]))

    def test_sigterm_ends_with_what_there_is(self):
        file = self.folder / "run.ckpt"
        leader, follower = os.openpty()
        running = self.start("--batch", "256", "--epochs", "1000000", "--json", str(self.json), "--checkpoint", str(file),
                             stdout=subprocess.DEVNULL, stderr=follower)
        os.close(follower)
        try:
            shown = b""
            while b" left" not in shown:
                shown += os.read(leader, 1000)
            running.terminate()
            running.wait(timeout=300)
            said = os.read(leader, 10000)
        finally:
            os.close(leader)
        self.assertEqual(running.returncode, 143)
        self.assertIn(b"syclamp: terminated", said)
        stopped = json.loads(self.json.read_text())
        self.assertTrue(stopped["interrupted"])
        self.check_nothing_to_do(stopped, "--batch", "256", "--epochs", str(stopped["runs"][0]["steps"] // 4),
                                 "--checkpoint", str(file))

    def test_sigint_in_the_midst_of_a_run_and_on_from_there(self):
        file = self.folder / "run.ckpt"
        leader, follower = os.openpty()  # on a terminal there is a bar, which tells the time left after each epoch
        running = self.start("--batch", "256", "--epochs", "1000000", "--json", str(self.json), "--checkpoint", str(file),
                             stdout=subprocess.DEVNULL, stderr=follower)
        os.close(follower)
        try:
            shown = b""
            while b" left" not in shown:
                shown += os.read(leader, 1000)
            running.send_signal(signal.SIGINT)
            running.wait(timeout=300)
        finally:
            os.close(leader)
        self.assertEqual(running.returncode, 130)
        stopped = json.loads(self.json.read_text())
        first = stopped["runs"][0]
        self.assertEqual((stopped["interrupted"], first["held_out_curve"][-1][0]), (True, first["steps"]))
        self.check_nothing_to_do(stopped, "--batch", "256", "--epochs", str(first["steps"] // 4), "--checkpoint", str(file))
        epochs = str(first["steps"] // 4 + 2)
        resumed, _ = self.train("--batch", "256", "--epochs", epochs, "--checkpoint", str(file), "--resume")
        at_once, _ = self.train("--batch", "256", "--epochs", epochs)
        self.assertEqual(without_times(resumed), without_times(at_once))

    def test_an_ignored_sigint_stays_ignored(self):
        running = self.start(*TINY, "--epochs", "2", on_sigint=signal.SIG_IGN, stdout=subprocess.PIPE)
        running.stdout.readline()
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=300)
        self.assertEqual(running.returncode, 0)

    def test_usage_and_files_that_cannot_be_used(self):
        for wrong in (["--task", "x"], ["--precision", "fp8"], ["--scaling", "static:x"], ["--scaling", "static:-1"],
                      ["--scaling", "staticky"], ["--compare", "--precision", "fp32"], ["--epochs", "0"], ["--resume"],
                      ["--compare", "--checkpoint", "f"], ["--task", "all", "--checkpoint", "f"], ["--growth", "0.5"],
                      ["--scaling", "none", "--init", "4"], ["--scaling", "static", "--interval", "4"],
                      ["--scaling", "static:8", "--max", "4"]):
            done = call(*wrong)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), (wrong, done.stderr))
        help_text = call("--help").stdout
        for word in ("field", "digits", "static:S", "SYCLAMP_DATA", "Ctrl-C", "SIGTERM", "143", "--resume", "SYCLAMP_PYTHON", "zero_share_weights"):
            self.assertIn(word, help_text)
        whole = made_up_digits()
        file = self.folder / "digits.csv"
        for text, why in ((whole[: whole.rindex("\n", 0, -1) + 1], "1796 lines"), (whole[:-200], "line 1796"), ("99" + whole[2:], "line 1"), (whole[:1000] + "x" + whole[1001:], "line")):
            file.write_text(text)
            done = call("--task", "digits", "--data", str(file), "--epochs", "1")
            self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1))
            self.assertIn(str(file), done.stderr)
            self.assertIn(why, done.stderr)
            self.assertIn("./run setup", done.stderr)

    def test_what_would_fail_at_the_end_fails_before_training(self):
        missing = str(self.folder / "missing" / "file")
        (self.folder / "file").write_text("")
        (self.folder / "page" / "index.html").mkdir(parents=True)
        for arguments, named in ((["--json", missing], missing), (["--checkpoint", missing], missing),
                                 (["--json", str(self.folder)], str(self.folder)),
                                 (["--report", str(self.folder / "file")], str(self.folder / "file")),
                                 (["--report", str(self.folder / "page")], "index.html"),
                                 (["--task", "all", "--data", missing], missing),
                                 (["--task", "digits", "--data", "/dev/zero"], "/dev/zero")):
            # `true` is no Python, but it can be run, and nobody comes to that.
            done = call("--epochs", "1", *TINY, *arguments, env={"SYCLAMP_PYTHON": "true"})
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1), (arguments, done.stderr))
            self.assertIn(named, done.stderr)
        for python in ("/nowhere/python", "no-such-python"):
            done = call("--epochs", "1", *TINY, "--report", str(self.folder / "new"), env={"SYCLAMP_PYTHON": python})
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1))
            self.assertIn(python, done.stderr)
        self.assertFalse((self.folder / "new").exists())

    def test_results_are_not_written_through_a_link(self):
        precious = self.folder / "precious"
        precious.write_text("precious")
        (self.folder / "train.json.new").symlink_to(precious)
        self.train("--epochs", "1", *TINY)
        self.assertEqual(precious.read_text(), "precious")

    def test_a_report_that_cannot_be_made_leaves_the_results(self):
        done = call("--epochs", "1", *TINY, "--report", str(self.folder / "page"), env={"SYCLAMP_PYTHON": "false"})
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1))
        self.assertIn("train.json", done.stderr)
        self.assertEqual(json.loads((self.folder / "page" / "train.json").read_text())["task"], "field")

    @unittest.skipUnless(REPORT_PYTHON and REPORT_PYTHON.exists(), "./run setup has made no Python for reports")
    def test_the_report_shows_the_runs(self):
        page = self.folder / "new" / "page"
        done = call("--compare", "--epochs", "2", *TINY, "--report", str(page), env={"SYCLAMP_PYTHON": str(REPORT_PYTHON)})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.splitlines()[-1], f"The report is {page / 'index.html'}")
        words = Words((page / "index.html").read_text())
        self.assertEqual(words.rows, ["FP32", "FP16, no scaling", "FP16, static", "FP16, dynamic", "BF16"])
        self.assertIn("of the weights’ gradients", str(words))
        self.assertIn(json.loads((page / "train.json").read_text())["command"], str(words))

    @unittest.skipUnless(REPORT_PYTHON and REPORT_PYTHON.exists(), "./run setup has made no Python for reports")
    def test_a_report_is_made_with_a_path_as_long_as_the_system_lets_it_be(self):
        folder = self.folder / "it's"
        folder.mkdir()
        (folder / "digits.csv").write_text(made_up_digits())
        file = str(folder) + "/." * ((4000 - len(str(folder))) // 2) + "/digits.csv"
        page = self.folder / "page"
        done = call("--task", "digits", "--epochs", "1", "--data", file, "--report", str(page),
                    env={"SYCLAMP_PYTHON": str(REPORT_PYTHON)})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        command = json.loads((page / "train.json").read_text())["command"]
        self.assertGreater(len(command), 3900)
        self.assertIn(command, str(Words((page / "index.html").read_text())))


unittest.main(argv=sys.argv[:1])
