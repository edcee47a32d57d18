# SPDX-License-Identifier: Apache-2.0
"""The page in a real browser, as a phone and as a desktop, light and dark: browser_test.py REPORT CHROMIUM SCREENSHOTS"""
import json
import pathlib
import subprocess
import sys
import unittest

import sample
from browser import Browser

SIZES = {"phone": (390, 844, True), "small": (320, 640, True), "desktop": (1280, 900, False)}
# What is wider than the page, by name; and text of a figure that leaves its figure, or is too small to read.
OVERFLOW = """[document.documentElement.scrollWidth > innerWidth ? 'page ' + document.documentElement.scrollWidth : '',
  ...[...document.querySelectorAll('body *')].filter(e => !e.closest('thead') && e.getBoundingClientRect().right > innerWidth + 0.5)
     .map(e => e.tagName + ' ' + e.className + ' ' + e.textContent.slice(0, 40))].filter(Boolean)"""
OUTSIDE = """[...document.querySelectorAll('svg text')].filter(e => {
    const t = e.getBoundingClientRect(), s = e.closest('svg').getBoundingClientRect();
    return t.left < s.left - 1 || t.right > s.right + 1 || t.top < s.top - 1 || t.bottom > s.bottom + 1;
  }).map(e => e.textContent)"""
SMALLEST = """Math.min(...[...document.querySelectorAll('svg text')].map(e =>
    parseFloat(getComputedStyle(e).fontSize) * e.closest('svg').getBoundingClientRect().width / e.closest('svg').viewBox.baseVal.width))"""
LUMINANCE = """(() => { const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number);
  return (r + g + b) / 765; })()"""
# Text against what is behind it, as WCAG measures it; 4.5 is what it asks for.
CONTRAST = """(() => {
  const light = c => { const [r, g, b] = c.match(/[\\d.]+/g).map(Number).map(v => v / 255)
      .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
      if (!c.endsWith(', 0)')) return c; } return 'rgb(255, 255, 255)'; };
  return Math.min(...[...document.querySelectorAll('p, td, th, dt, dd, h1, h2, h3, figcaption, a, svg text')].map(e => {
    const style = getComputedStyle(e), [a, b] = [light(e.tagName == 'text' ? style.fill : style.color), light(behind(e))];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); }));
})()"""


class InTheBrowser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        report, chromium, folder = sys.argv[1:]
        cls.folder = pathlib.Path(folder)
        cls.folder.mkdir(parents=True, exist_ok=True)
        hostile = sample.training("<img src=x onerror=alert(1)>" * 4, interrupted=True)
        hostile.pop("command", None)  # what is not a call of syclamp would be refused; the page makes its own
        hostile["runs"] = [sample.run("W" * 180), sample.run("fp16-none", diverges_at=90)]
        hostile["runs"][1]["tensors"] += [{"name": "layer." * 30, "zero_share": 0.4}]
        hostile["device"] = "<script>document.title = 'owned'</script>" + "x" * 150
        data = cls.folder / "data.json"
        data.write_text(json.dumps([sample.training(), sample.training("digits", accuracy=True), hostile]))
        cls.page = cls.folder / "index.html"
        subprocess.run([sys.executable, report, data, "-o", cls.page], check=True)
        cls.browser = Browser(chromium)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def test_every_device_and_scheme(self):
        for name, (width, height, mobile) in SIZES.items():
            for scheme in ("light", "dark"):
                with self.subTest(device=name, scheme=scheme):
                    self.browser.open(self.page.resolve().as_uri(), width, height, scheme, mobile)
                    self.browser.screenshot(self.folder / f"{name}-{scheme}.png")
                    self.assertEqual(self.browser.value("innerWidth"), width)
                    self.assertEqual(self.browser.value(OVERFLOW), [])
                    self.assertEqual(self.browser.value(OUTSIDE), [])
                    self.assertGreater(self.browser.value(SMALLEST), 8.7 * min(1, width / 390) - 0.2)
                    self.assertGreaterEqual(self.browser.value(CONTRAST), 4.5)
                    self.assertEqual(self.browser.value(LUMINANCE) > 0.5, scheme == "light")
                    self.assertEqual(self.browser.value("document.title.slice(0, 8)"), "syclamp:")
                    self.quiet()

    def quiet(self):
        """No complaint in the console, and nothing loaded but the page."""
        complaints = [event for event in self.browser.events
                      if event.get("method") in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")]
        self.assertEqual(complaints, [])
        loaded = {event["params"]["request"]["url"] for event in self.browser.events
                  if event.get("method") == "Network.requestWillBeSent"}
        self.assertEqual(loaded, {self.page.resolve().as_uri()})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
