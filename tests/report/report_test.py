# SPDX-License-Identifier: Apache-2.0
"""The report as a file, without a browser: report_test.py REPORT"""
import contextlib
import copy
import html.parser
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import sample

REPORT = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(REPORT))
from syclamp_report import document, findings, page as pages, training, words  # noqa: E402
from syclamp_report.__main__ import main  # noqa: E402

VOID = {"meta", "link", "br", "hr", "img", "input"}
TITLES = {"loss_curve": ["Training loss"], "held_out_curve": ["Held-out loss", "Held-out accuracy"], "scale_curve": ["Loss scale"],
          "exponents": ["Exponents of the gradients"], "tensors": ["Underflow by tensor"], "step_seconds": ["Time of a step"]}


class Page(html.parser.HTMLParser):
    """What a page consists of; complains about elements that are not closed in order."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.raw, self.open, self.tags, self.text, self.titles = text, [], [], [], []
        self.feed(text)
        self.close()
        if self.open:
            raise AssertionError(f"not closed: {self.open}")

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            raise AssertionError(f"</{tag}> closes something else")

    def handle_data(self, data):
        if self.open and self.open[-1] == "h3":
            self.titles.append(data)
        if "style" not in self.open:
            self.text.append(data)

    def words(self):
        return " ".join(" ".join(self.text).split())


def page_of(*trainings):
    return Page(training.render(document.parse(list(trainings))))


def sentences(**losses):
    """What is said of runs that ended so; the rest is left out."""
    runs = [{"name": name.replace("_", "-"), "loss": loss} for name, loss in losses.items()]
    return findings.of_training(document.parse({"task": "t", "runs": runs})[0])


class Whole(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.page = page_of(sample.training(), sample.training("digits", accuracy=True))

    def test_has_all_figures_and_runs(self):
        field = [title for titles in TITLES.values() for title in titles if title != "Held-out accuracy"]
        self.assertEqual(sorted(self.page.titles), sorted(field * 2 + ["Held-out accuracy"]))
        for label in ("FP32", "FP16, no scaling", "FP16, static", "FP16, dynamic", "BF16"):
            self.assertIn(label, self.page.words())

    def test_every_figure_can_be_read_aloud(self):
        figures = [attributes for tag, attributes in self.page.tags if tag == "svg"]
        self.assertEqual(len(figures), 13)
        for attributes in figures:
            self.assertEqual(attributes["role"], "img")
            self.assertGreater(len(attributes["aria-label"]), 60)

    def test_loads_nothing(self):
        self.assertNotRegex(self.page.raw, r"https?://|@import|<script|<link|<img|<iframe")
        for _, attributes in self.page.tags:
            for name in ("src", "href", "xlink:href"):
                self.assertTrue(attributes.get(name, "#").startswith("#"), attributes)
        self.assertEqual(re.findall(r"url\((?!#)", self.page.raw), [])

    def test_ids_are_unique_and_references_lead_somewhere(self):
        ids = [attributes["id"] for _, attributes in self.page.tags if "id" in attributes]
        self.assertEqual(len(ids), len(set(ids)))
        used = re.findall(r'(?:href="|url\()#([^")]+)', self.page.raw)
        self.assertGreater(len(used), 100)
        self.assertEqual(set(used) - set(ids), set())

    def test_colours_are_variables_of_both_schemes(self):
        sheet = self.page.raw.split("<style>")[1].split("</style>")[0]
        light, dark = sheet.split("@media (prefers-color-scheme: dark)")
        used = set(re.findall(r"var\((--[\w-]+)\)", self.page.raw))
        for scheme in (light.split("}")[0], dark.split("}")[0]):
            self.assertEqual(used - set(re.findall(r"(--[\w-]+):", scheme)), set())
        body = self.page.raw.split("</style>")[1]
        self.assertEqual(set(re.findall(r"(?:fill|stroke): *(#\w+)", body)), set(), "a colour that no scheme can change")

    def test_is_small(self):
        self.assertLess(len(self.page.raw.encode()), 600_000)

    def test_long_trainings_stay_small(self):
        runs = [sample.run(name, steps=20_000, skipped=range(0, 20_000, 3), scale=2.0**16) for name in ("fp32", "fp16-dynamic")]
        for run in runs:
            run["tensors"] = [{"name": f"layer{at}", "zero_share": at / 500} for at in range(500)]
            run["skips"] = 12_345  # of which the list has some
        page = page_of(sample.training(runs=runs))
        self.assertLess(len(page.raw.encode()), 400_000)
        self.assertIn("Each point is the mean of 67 values", page.words())
        self.assertTrue(any("12\u202f345 steps skipped" in attributes.get("aria-label", "") for _, attributes in page.tags))
        self.assertIn("the 16 of 500 tensors with the most zeros", page.words())


class Sentences(unittest.TestCase):
    def test_compare_with_fp32(self):
        self.assertEqual(sentences(fp32=0.01, fp16_none=0.14, fp16_dynamic=0.01002)[0],
                         "FP16 without scaling ended at a loss 14 times FP32’s; "
                         "FP16 with dynamic scaling ended within 0.20\u202f% of FP32’s loss.")
        self.assertEqual(sentences(fp32=0.01, bf16=0.0125)[0], "BF16 ended 25.0\u202f% above FP32’s loss.")
        self.assertEqual(sentences(fp32=0.01, bf16=0.008)[0], "BF16 ended 20.0\u202f% below FP32’s loss.")
        self.assertEqual(sentences(fp32=0.25, bf16=0.25)[0], "BF16 ended at exactly FP32’s loss.")

    def test_within_is_rounded_up(self):
        self.assertEqual(sentences(fp32=1.0, bf16=1.00211)[0], "BF16 ended within 0.22\u202f% of FP32’s loss.")
        self.assertEqual(sentences(fp32=1.0, bf16=1.0 - 1e-9)[0], "BF16 ended within 0.01\u202f% of FP32’s loss.")

    def test_diverged(self):
        self.assertEqual(sentences(fp32=0.01, fp16_none=None)[0], "FP16 without scaling diverged.")
        self.assertEqual(sentences(fp32=None, bf16=0.5)[0], "FP32 diverged; BF16 ended at a loss of 0.5.")
        self.assertEqual(sentences(fp32=0.0, bf16=0.5)[0], "FP32 ended at a loss of 0; BF16 ended at a loss of 0.5.")
        self.assertEqual(sentences(mine=0.25), ["mine ended at a loss of 0.25."])

    def test_interrupted_is_not_diverged(self):
        runs = [{"name": "fp32", "loss": 0.5}, {"name": "bf16", "loss": None, "loss_curve": [[0, 1.0]]}]
        said = findings.of_training(document.parse({"task": "t", "runs": runs, "interrupted": True})[0])
        self.assertEqual(said, ["BF16 was stopped before its loss was measured."])
        runs[1]["loss_curve"].append([1, None])
        said = findings.of_training(document.parse({"task": "t", "runs": runs, "interrupted": True})[0])
        self.assertEqual(said, ["BF16 diverged."])

    def test_underflow_skips_and_cost(self):
        runs = [{"name": "fp32", "zero_share": 0.0}, {"name": "fp16-none", "zero_share": 0.9731},
                {"name": "fp16-dynamic", "zero_share": 0.00001, "skips": 8, "steps": 1400, "final_scale": 65536,
                 "scaling_share": 0.0042}]
        said = findings.of_training(document.parse({"task": "t", "runs": runs})[0])
        self.assertEqual(said[-3:], [
            "Without scaling 97.3\u202f% of the FP16 gradients were zero, with dynamic scaling <\u202f0.01\u202f% and in FP32 0\u202f%.",
            "Dynamic scaling skipped 8 of 1\u202f400 steps and ended at a scale of 2¹⁶.",
            "Inspecting the gradients and updating the scale took 0.42\u202f% of a step."])

    def test_zeros_of_the_output_and_of_the_weights_are_told_apart(self):
        def run(name, output, weights):
            return {"name": name, "zero_share": 0.7, "zero_share_weights": weights,
                    "tensors": [{"name": "w", "zero_share": 0.99}, {"name": "output", "zero_share": output}]}

        data = {"task": "t", "runs": [run("fp32", 0.0, 0.125), run("fp16-none", 0.9375, 0.25), run("fp16-dynamic", 0.5, 0.0)]}
        said = findings.of_training(document.parse(data)[0])
        self.assertIn("Without scaling 93.8\u202f% of the gradient of the output and 25.0\u202f% of the weights’ gradients were "
                      "zero in FP16; with dynamic scaling 50.0\u202f% and 0\u202f%; in FP32 0\u202f% and 12.5\u202f%.", said)
        self.assertIn("Of the weights’ gradients alone they are 12.5 % (FP32), 25.0 % (FP16, no scaling), 0 % (FP16, dynamic).",
                      page_of(data).words())

    def test_chart_and_table_have_the_same_share_of_scaling(self):
        data = sample.training(runs=[sample.run("fp16-dynamic") | {"scaling_share": 0.4321}])
        self.assertEqual(page_of(data).words().count("43.2 %"), 3)  # a sentence, the table, the chart

    def test_numbers(self):
        self.assertEqual([words.percent(share) for share in (None, 0.0, 1.0, 0.99996, 0.9996, 0.5)],
                         ["–", "0\u202f%", "100\u202f%", ">\u202f99.99\u202f%", "99.96\u202f%", "50.0\u202f%"])
        self.assertEqual([words.scale(scale) for scale in (None, 1.0, 0.5, 65536.0, 1000.0)], ["–", "1", "2⁻¹", "2¹⁶", "1000"])
        self.assertEqual([words.number(value) for value in (None, 0.0, 12345.0, 1.5e-7)], ["–", "0", "12345", "1.500·10⁻⁷"])
        self.assertEqual([words.seconds(value) for value in (12.34, 0.00985, 2e-6, 1234.0)],
                         ["12.3\u202fs", "9.85\u202fms", "2\u202fµs", "1234\u202fs"])


class Odd(unittest.TestCase):
    def test_figures_without_data_are_left_out(self):
        for field, titles in TITLES.items():
            for empty in (None, [] if field not in ("exponents", "step_seconds") else {}):
                with self.subTest(field=field, empty=empty):
                    data = sample.training("digits", accuracy=True)
                    for run in data["runs"]:
                        run[field] = empty
                    expected = {title for each in TITLES.values() for title in each} - set(titles)
                    self.assertEqual(set(page_of(data).titles), expected)

    def test_least(self):
        page = page_of({"task": "t", "runs": [{"name": "fp32"}]})
        self.assertEqual(page.titles, [])
        self.assertIn("syclamp train --task t --report report", page.words())

    def test_command(self):
        self.assertIn("syclamp train --task field --compare --epochs 10 --seed 7 --init 16777216", page_of(sample.training()).words())
        strange = "syclamp train --data 'a\n\u202eb'"  # cannot be shown as it is
        self.assertIn("syclamp train --task field --compare --epochs 10 --seed 7 --report report",
                      page_of(sample.training(command=strange)).words())

    def test_a_long_command_is_shown_whole(self):
        command = "syclamp train --data " + "/'\"'\"'".join(["'"] + ["x"] * 4000) + "'"  # quotes of a shell
        self.assertGreater(len(command), 20000)
        self.assertIn(command, page_of(sample.training(command=command)).words())

    def test_a_page_is_not_written_through_a_link(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            precious = folder / "precious"
            precious.write_text("precious")
            (folder / f".index.html.{os.getpid()}.new").symlink_to(precious)
            (folder / "index.html").symlink_to(precious)
            pages.write(folder / "index.html", "new")
            self.assertEqual(((folder / "index.html").read_text(), precious.read_text()), ("new", "precious"))
            self.assertEqual((folder / "index.html").stat().st_mode & 0o111, 0)

    def test_diverged_run(self):
        data = sample.training()
        data["runs"][1] = sample.run("fp16-none", diverges_at=120)
        page = page_of(data)
        self.assertIn("FP16 without scaling diverged;", page.words())
        self.assertIn("✖ marks the last finite value", page.words())
        self.assertEqual(page.words().count("is not finite after that"), 0)
        self.assertIn("and is not finite after that", page.raw)

    def test_all_null_curves_and_extremes(self):
        data = sample.training()
        for run in data["runs"]:
            run["loss_curve"] = [[0, None], [1, None]]
            run["held_out_curve"] = [[0, 1e100, None], [1, 1e-300, None], [2, 0.0, None]]
            run["scale_curve"] = [[0, 1e38], [0, 1e-38]]
            run["exponents"] = {"lowest": -1074, "counts": [1] * 2098, "zeros": 2**60}
        self.assertNotIn("Training loss", page_of(data).titles)

    def test_one_point(self):
        data = sample.training()
        for run in data["runs"]:
            run |= {"loss_curve": [[0, 0.5]], "held_out_curve": [[0, 0.5, 1.0]], "scale_curve": [[0, 2.0]], "skipped_steps": [0]}
        self.assertEqual(len(page_of(data).titles), 7)

    def test_interrupted(self):
        self.assertIn("Interrupted.", page_of(sample.training(interrupted=True)).words())
        self.assertNotIn("Interrupted.", page_of(sample.training()).words())

    def test_hostile_text_is_nothing_but_text(self):
        evil = "<script>alert(1)</script>\"'><b onload=x>&amp;$\\frac{1}{2}$ \x00\x1b[2J\u202e\ud800"
        data = sample.training()
        for field in ("task", "device", "profile", "gemm", "version", "date"):
            data[field] = evil
        data["runs"][2]["name"] = evil
        for tensor in data["runs"][2]["tensors"]:
            tensor["name"] = evil
        page = page_of(data)
        self.assertEqual([tag for tag, _ in page.tags if tag in ("script", "b")], [])
        self.assertEqual([attributes for _, attributes in page.tags if any(name.startswith("on") for name in attributes)], [])
        self.assertNotRegex(page.raw, "[\x00\x1b\u202e]")
        self.assertIn("<script>alert(1)</script>\"'><b onload=x>&amp;$\\frac{1}{2}$", page.words())
        page.raw.encode()


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.output = self.folder / "new" / "index.html"

    def run_main(self, *arguments):
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            try:
                code = main([str(each) for each in arguments])
            except SystemExit as end:
                code = end.code
        return code, errors.getvalue()

    def refused(self, text, reason):
        file = self.folder / "data.json"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        code, errors = self.run_main(file, "-o", self.output)
        self.assertEqual(code, 1, errors)
        self.assertEqual(errors.count("\n"), 1, errors)
        self.assertIn(reason, errors)
        self.assertFalse(self.output.exists())

    def test_what_is_not_json(self):
        for text, reason in (("", "not JSON"), ("{", "not JSON"), (b"\xff\xfe\x00", "not JSON"), ("[" * 100_000, "nested too deeply"),
                             ("9" * 5000, "not JSON"), ("[]", "a list of 0 results"), ("3", "an object is expected"),
                             ('{"task": NaN}', "NaN is no JSON"), ('{"task": "t"}', "runs has 0 entries")):
            with self.subTest(text=text[:20]):
                self.refused(text, reason)

    def test_what_is_not_a_result(self):
        wrong = {
            "task": (3, "", None), "seed": (-1, 1.5, "7", True, 2**64), "interrupted": ("no", 1, 0.0),
            "runs": ({}, "x", [3], [{}]), "device": (3, []),
            "command": (3, "", "rm -rf x", "syclamp train; x", "syclamp train $(x)", "syclamp train 'x", "syclamp train\nx",
                        "syclamp train " + "x" * 40000),
        }
        for field, values in wrong.items():
            for value in values:
                with self.subTest(field=field, value=value):
                    self.refused(json.dumps(sample.training() | {field: value}), field)

    def test_what_is_not_a_run(self):
        wrong = {
            "name": (None, 3), "loss": ("0.5", True, [1]), "accuracy": (1.5, -0.1), "zero_share": (97.0, ),
            "zero_share_weights": (-0.5, ), "skips": (-1, 0.5),
            "final_scale": (-1.0, ), "seconds": (-1.0, "1"),
            "loss_curve": ({}, [[0]], [[0, 1, 2]], [[0, "x"]], [[-1, 1]], [[1, 1], [0, 1]], [3]),
            "held_out_curve": ([[0, 1.0]], [[0, 1.0, 2.0]]), "scale_curve": ([[0, 0]], [[0, None]], [[0, -2]]),
            "skipped_steps": ([1.5], [3, 2], "12"), "tensors": ([{}], [{"name": "w", "zero_share": 0.9, "subnormal_share": 0.2}]),
            "exponents": ({"lowest": None}, {"lowest": 0.5, "counts": []}, {"lowest": 0, "counts": [-1]},
                          {"lowest": 0, "counts": [0] * 5000}),
            "step_seconds": ({"forward": -1}, {"forward": "x"}, 3),
        }
        data = sample.training()
        for field, values in wrong.items():
            for value in values:
                with self.subTest(field=field, value=str(value)[:40]):
                    changed = copy.deepcopy(data)
                    changed["runs"][1][field] = value
                    self.refused(json.dumps(changed), f"runs[1].{field}")

    def test_numbers_beyond_floating_point(self):
        for number in ("1e101", "1e999", "1" + "0" * 400):
            self.refused(f'{{"task": "t", "runs": [{{"name": "fp32", "loss": {number}}}]}}', "runs[0].loss is too large")

    def test_usage(self):
        for arguments in ((), ("a.json", ), ("-o", "x.html"), ("a.json", "-o", "x.html", "--what")):
            self.assertEqual(self.run_main(*arguments)[0], 2)

    def test_files_that_cannot_be_read_or_written(self):
        code, errors = self.run_main(self.folder / "missing.json", "-o", self.output)
        self.assertEqual((code, errors.count("\n")), (1, 1))
        good = self.folder / "data.json"
        good.write_text('{"task": "t", "runs": [{"name": "fp32"}]}')
        code, errors = self.run_main(good, "-o", good / "index.html")
        self.assertEqual((code, errors.count("\n")), (1, 1))
        (self.folder / "taken").mkdir()
        code, errors = self.run_main(good, "-o", self.folder / "taken")
        self.assertEqual((code, errors.count("\n")), (1, 1))
        self.assertEqual(sorted(each.name for each in self.folder.iterdir()), ["data.json", "taken"])

    def test_a_refused_file_leaves_the_old_page(self):
        self.output.parent.mkdir()
        self.output.write_text("old")
        bad = self.folder / "bad.json"
        bad.write_text("{}")
        self.assertEqual(self.run_main(bad, "-o", self.output)[0], 1)
        self.assertEqual(self.output.read_text(), "old")
        self.assertEqual(list(self.output.parent.iterdir()), [self.output])

    def test_same_data_same_bytes(self):
        """In other processes, with another order of sets, and whatever the user's matplotlibrc says."""
        data = self.folder / "data.json"
        data.write_text(json.dumps(sample.training()))
        rc = self.folder / "matplotlibrc"
        rc.write_text("legend.markerscale: 3\nsvg.fonttype: path\n")
        pages = []
        for at, settings in enumerate(({"PYTHONHASHSEED": "1"}, {"PYTHONHASHSEED": "2", "MATPLOTLIBRC": str(rc)})):
            output = self.folder / f"{at}.html"
            done = subprocess.run([sys.executable, REPORT, data, "-o", output], env=os.environ | settings,
                                  capture_output=True, check=True)
            self.assertEqual((done.stdout, done.stderr), (b"", b""))
            pages.append(output.read_bytes())
        self.assertEqual(*pages)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
