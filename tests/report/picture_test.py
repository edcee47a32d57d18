# SPDX-License-Identifier: Apache-2.0
"""The picture of the README, from sample data and as it is committed: picture_test.py REPORT IMAGES"""
import json
import pathlib
import re
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

import sample

REPORT, IMAGES = (pathlib.Path(each).resolve() for each in sys.argv[1:])
sys.path.insert(0, str(REPORT))
from syclamp_report import charts, document, picture, words  # noqa: E402
from syclamp_report.__main__ import main  # noqa: E402

THEMES = ("light", "dark")
MOST_BYTES = 100_000
LABELS = ("held-out loss", "training step", "size of a stored gradient", "FP32", "FP16, no scaling", "FP16, dynamic", "2⁻²⁴")


def texts_of(root):
    return ["".join(element.itertext()) for element in root.iter(f"{{{charts.SVG}}}text")]


def figures_of(root):
    return json.loads(root.find(f"{{{charts.SVG}}}metadata").text)


class Picture(unittest.TestCase):
    def check(self, text, theme):
        """A picture on its own; returns its root."""
        root = xml.fromstring(text)
        self.assertEqual(root.tag, f"{{{charts.SVG}}}svg")
        self.assertLess(len(text.encode()), MOST_BYTES)
        texts, figures = texts_of(root), figures_of(root)
        for label in LABELS:
            self.assertIn(label, texts)
        for name, how in (("fp16-none", "no scaling"), ("fp16-dynamic", "scale ")):
            share = words.percent(figures["runs"][name]["zero_share_at_last_step"])
            self.assertTrue(any(each.startswith(how) and each.endswith(f": {share} are 0") for each in texts), (texts, share))
        self.assertIn(words.number(figures["runs"]["fp32"]["loss"]), root.find(f"{{{charts.SVG}}}desc").text)
        # Nothing is loaded, nothing is run, and every colour is one of the theme.
        self.assertNotRegex(text.replace(charts.SVG, ""), r"https?://|<script|<image|@import|data:|<!DOCTYPE|<style")
        self.assertEqual(re.findall(r"url\((?!#)", text), [])
        self.assertTrue(all(link.startswith("#") for link in re.findall(r'href="([^"]*)"', text)))
        ids = re.findall(r' id="([^"]+)"', text)
        self.assertEqual(set(re.findall(r'(?:href="|url\()#([^")]+)', text)) - set(ids), set())
        drawing = text.split("</metadata>")[1]
        self.assertEqual(set(re.findall(r"#[0-9a-f]{6}\b", drawing)) - set(charts.theme(theme).values()), set())
        return root

    def test_sample_data_in_both_themes(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            data = folder / "data.json"
            data.write_text(json.dumps([sample.training("other", runs=[sample.run("fp32")]), sample.training()]))
            self.assertEqual(main(["picture", str(data), "--out", str(folder / "new")]), 0)
            roots = [self.check((folder / "new" / f"demo-{theme}.svg").read_text(), theme) for theme in THEMES]
        self.assertEqual(texts_of(roots[0]), texts_of(roots[1]))
        self.assertEqual(texts_of(roots[0]).count("Without loss scaling, FP16 loses its small gradients"), 1)
        figures = figures_of(roots[0])
        self.assertEqual((figures["task"], list(figures["runs"])), ("field", ["fp32", "fp16-none", "fp16-dynamic"]))
        self.assertEqual(figures["runs"]["fp32"]["loss"], sample.training()["runs"][0]["loss"])

    def test_the_title_claims_only_what_the_data_shows(self):
        data = sample.training()
        data["runs"][1] |= {"loss": data["runs"][0]["loss"]}
        text = picture.render(document.parse(data))["light"]
        self.assertIn("FP16 with and without loss scaling", texts_of(xml.fromstring(text)))

    def test_a_task_that_is_missing_is_refused(self):
        trainings = document.parse([sample.training(), sample.training("digits", accuracy=True)])
        self.assertEqual(figures_of(xml.fromstring(picture.render(trainings, "digits")["dark"]))["task"], "digits")
        with self.assertRaisesRegex(document.Refused, "task none .*syclamp train --compare"):
            picture.render(trainings, "none")

    @unittest.skipUnless(IMAGES.is_dir(), "docs/images is not there yet")
    def test_the_committed_pictures_are_of_one_run_of_the_demo(self):
        roots = [self.check((IMAGES / f"demo-{theme}.svg").read_text(), theme) for theme in THEMES]
        light, dark = map(figures_of, roots)
        self.assertEqual(light, dark)
        script = (IMAGES.parent.parent / "run").read_text()
        options = re.search(r"bin/syclamp\" train (--task field --compare .*) --report report", script)[1]
        given = light["command"].split()
        wanted = options.split()
        self.assertEqual([each for each in wanted if each not in given], [], f"run: ./run demo, then {picture.__doc__}")
        runs = light["runs"]
        self.assertGreater(runs["fp16-none"]["loss"], 1.5 * runs["fp32"]["loss"])
        self.assertLess(abs(runs["fp16-dynamic"]["loss"] / runs["fp32"]["loss"] - 1), 0.02)


unittest.main(argv=sys.argv[:1])
