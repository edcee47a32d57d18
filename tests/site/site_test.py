# SPDX-License-Identifier: Apache-2.0
"""Builds the site and checks its pages; then plants faults and expects them to be found:   site_test.py FOLDER"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import html_pages

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = pathlib.Path(sys.argv[1]).resolve()


def build(root, folder):
    return subprocess.run([root / "tools/site/build", folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


class TheSite(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        done = build(ROOT, FOLDER)
        if done.returncode or done.stdout:
            raise AssertionError(f"the site was not built without a warning:\n{done.stdout}")

    def test_links_lead_somewhere_and_nothing_is_loaded_from_elsewhere(self):
        self.assertEqual(list(html_pages.complaints(FOLDER)), [])

    def test_has_the_page_that_run_docs_names(self):
        self.assertTrue((FOLDER / "index.html").is_file(), "docs/index.md is missing")

    def test_every_public_header_has_a_page_in_the_navigation(self):
        links = html_pages.Page(FOLDER / "api/index.html").links
        for header in sorted((ROOT / "include/syclamp").rglob("*.hpp")):
            if re.search(r"^(?:class|struct|enum|using|inline|SYCLAMP_API) ", header.read_text(), flags=re.M):
                page = header.relative_to(ROOT / "include/syclamp").with_suffix(".html").as_posix()
                self.assertIn(page, links)

    def test_types_in_signatures_are_links(self):
        signatures = re.findall(r'<div class="highlight signature.*?</div>', (FOLDER / "api/loss_scaler.html").read_text(), flags=re.S)
        for place in ("tensor_list.html#tensor_list", "step_options.html#step_options", "engine.html#engine"):
            self.assertTrue(any(f'<a href="{place}">' in signature for signature in signatures), place)

    def test_what_only_the_library_calls_is_not_shown(self):
        ids = html_pages.Page(FOLDER / "api/tensor_list.html").ids
        self.assertIn("tensor_list-set_address", ids)
        self.assertNotIn("tensor_list-prepared", ids)

    def test_names_in_a_guide_are_links(self):
        guide = (FOLDER / "architecture.html").read_text()
        self.assertRegex(guide.split("<article")[1], r'<a href="(?:api/)?[\w/-]+\.html(?:#\w+)?"><code>')
        self.assertIn('href="adding-a-kernel.html#the-portable-subset"', (FOLDER / "contributing.html").read_text())


class PlantedFaults(unittest.TestCase):
    """A copy of what the site is made from."""

    def setUp(self):
        self.root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        for folder in ("docs", "include", "tools/site"):
            shutil.copytree(ROOT / folder, self.root / folder, ignore=shutil.ignore_patterns("__pycache__"))
        for file in ("CONTRIBUTING.md", "CHANGELOG.md"):
            shutil.copy(ROOT / file, self.root)
        os.symlink(ROOT / ".syclamp", self.root / ".syclamp")

    def test_in_pages(self):
        (self.root / "docs/stray.md").write_text("# Stray\n")
        with open(self.root / "docs/scaling.md", "a") as page:
            page.write("\n[a](absent.md) [b](tour.md#no-such-heading) [c](../src/absent.cpp)\n")
        done = build(self.root, self.root / "out")
        self.assertNotEqual(done.returncode, 0)
        for fault in ("stray.md", "absent.md", "no-such-heading", "src/absent.cpp"):
            self.assertIn(fault, done.stdout)

    def test_in_a_header(self):
        with open(self.root / "include/syclamp/log.hpp", "a") as header:
            header.write("/// This comment belongs to nothing.\n")
        done = build(self.root, self.root / "out")
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"syclamp/log\.hpp:\d+: a documentation comment is followed by no declaration")


class ThePageCheck(unittest.TestCase):
    def found(self, body, sheet=""):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "other.html").write_text('<p id="there">')
            (folder / "sheet.css").write_text(sheet)
            (folder / "index.html").write_text(f"<article>{body}</article>")
            return list(html_pages.complaints(folder))

    def test_accepts_what_is_right(self):
        right = '<a href="other.html#there">x</a> <a href="https://example.org">y</a> <p>1.5 - 2</p> <code>- a</code>'
        self.assertEqual(self.found(right, "a { background: url(data:image/svg+xml) }"), [])

    def test_finds_what_is_wrong(self):
        for body in ('<a href="absent.html">', '<a href="other.html#absent">', '<a href="#absent">', '<a href="../index.html">',
                     '<img src="absent.png">', '<script src="https://example.org/x.js">', '<link href="//example.org/font.css">',
                     '<p style="background: url(https://example.org/x.png)">', '<p id="a"><p id="a">', "<p>text\n- item</p>",
                     "<ul><li>text\n| a | b |</li></ul>", "<p>[text](page.md)</p>"):
            with self.subTest(body=body):
                self.assertEqual(len(self.found(body)), 1)
        self.assertEqual(len(self.found("", '@import "https://example.org/x.css"; a { background: url(//example.org/x.png) }')), 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
