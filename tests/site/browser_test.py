# SPDX-License-Identifier: Apache-2.0
"""The site in a real browser, as a phone and as a desktop, light and dark:   browser_test.py SITE CHROMIUM SCREENSHOTS

The pages are opened as files, as after `./run docs`; search has to work there as well."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "report"))
from browser import Browser  # noqa: E402

SIZES = {"phone": (390, 844, True), "desktop": (1280, 900, False)}
SHOWN = ("index.html", "scaling.html", "api/index.html", "api/scaling_policy.html")
# What is wider than the screen. A phone zooms out instead of scrolling, so its innerWidth grows.
OVERFLOW = """Math.max(document.documentElement.scrollWidth, innerWidth) <= %d ? [] : [document.documentElement.scrollWidth,
  ...[...document.querySelectorAll('article *')].filter(e => e.getBoundingClientRect().right > %d + 0.5)
     .map(e => e.tagName + ' ' + e.className + ' ' + e.textContent.slice(0, 40)).slice(0, 5)]"""
# The lowest contrast between text and its background as WCAG measures it, and where it is. 4.5 is required.
CONTRAST = """(() => {
  const parse = c => { const [r, g, b, a = 1] = c.match(/[\\d.]+/g).map(Number); return [r, g, b, a]; };
  const over = ([r, g, b, a], [x, y, z]) => [r * a + x * (1 - a), g * a + y * (1 - a), b * a + z * (1 - a)];
  const light = c => { const [r, g, b] = c.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
      return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = e => e ? over(parse(getComputedStyle(e).backgroundColor), behind(e.parentElement)) : [255, 255, 255];
  return [...document.querySelectorAll('article :is(p, li, td, th, h1, h2, h3, code, a:not(.headerlink))')].map(e => {
    const back = behind(e), a = light(over(parse(getComputedStyle(e).color), back)), b = light(back);
    return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), e.tagName + ' ' + e.textContent.slice(0, 40)];
  }).reduce((least, each) => each[0] < least[0] ? each : least, [21, 'nothing']);
})()"""
# Calls `ready` whenever the page changes, until it returns something.
WHEN = """new Promise((resolve, reject) => {
  const ready = () => %s;
  const look = () => { const value = ready(); if (value) { observer.disconnect(); resolve(value); } };
  const observer = new MutationObserver(look);
  observer.observe(document, {childList: true, subtree: true, attributes: true});
  document.addEventListener('transitionend', look);
  setTimeout(() => reject(new Error('not within 30 s: ' + ready)), 30000);
  look();
})"""


class InTheBrowser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        site, chromium, folder = sys.argv[1:]
        cls.site, cls.folder = pathlib.Path(site).resolve(), pathlib.Path(folder)
        cls.folder.mkdir(parents=True, exist_ok=True)
        cls.browser = Browser(chromium)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def open(self, page, device, scheme="light"):
        width, height, mobile = SIZES[device]
        self.browser.open((self.site / page).as_uri(), width, height, scheme, mobile)

    def when(self, condition):
        """Waits until a condition of the page holds."""
        done = self.browser.call("Runtime.evaluate", expression=WHEN % condition, awaitPromise=True, returnByValue=True)
        self.assertNotIn("exceptionDetails", done)
        return done["result"].get("value")

    def check_width(self, device):
        width = SIZES[device][0]
        self.assertEqual(self.browser.value(OVERFLOW % (width, width)), [])

    def check_quiet(self):
        """No error in the console, and no request that leaves the machine."""
        events = self.browser.events
        self.assertEqual([event for event in events if event.get("method") in
                          ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")], [])
        requested = [event["params"]["request"]["url"] for event in events if event.get("method") == "Network.requestWillBeSent"]
        self.assertEqual([url for url in requested if not url.startswith(("file:", "data:", "about:"))], [])

    def test_every_device_and_scheme(self):
        for device in SIZES:
            for scheme in ("light", "dark"):
                for page in SHOWN:
                    with self.subTest(page=page, device=device, scheme=scheme):
                        self.open(page, device, scheme)
                        self.browser.screenshot(self.folder / f"{page.removesuffix('.html').replace('/', '-')}-{device}-{scheme}.png")
                        self.check_width(device)
                        self.assertEqual(self.browser.value("document.body.dataset.mdColorScheme"),
                                         "slate" if scheme == "dark" else "default")
                        contrast, where = self.browser.value(CONTRAST)
                        self.assertGreaterEqual(contrast, 4.5, where)
                        self.check_quiet()

    def test_no_page_is_wider_than_a_phone(self):
        pages = {path.relative_to(self.site).as_posix() for path in self.site.rglob("*.html")}
        for page in sorted(pages - {"404.html"}):  # that page is for web servers
            with self.subTest(page=page):
                self.open(page, "phone")
                self.check_width("phone")
                self.check_quiet()

    def test_search_finds_a_field(self):
        for device in SIZES:
            with self.subTest(device=device):
                self.open("index.html", device)
                if device == "phone":
                    self.browser.value("document.querySelector('label[for=__search].md-header__button').click()")
                self.browser.value("document.querySelector('.md-search__input').focus()")
                self.when("document.querySelector('.md-search-result__meta').textContent.trim() == 'Type to start searching'")
                for letter in "growth_interval":
                    for kind in ("keyDown", "keyUp"):
                        self.browser.call("Input.dispatchKeyEvent", type=kind, key=letter, text=letter if kind == "keyDown" else "")
                links = self.when("(found => found.length && found.map(e => e.getAttribute('href')))"
                                  "([...document.querySelectorAll('.md-search-result__link')])")
                self.assertTrue(any("api/scaling_policy.html" in link for link in links), links)
                self.check_width(device)
                self.check_quiet()

    def test_navigation_opens_on_a_phone(self):
        self.open("index.html", "phone")
        shown = "document.querySelector('.md-sidebar--primary').getBoundingClientRect().left"
        self.assertLess(self.browser.value(shown), 0)
        self.browser.value("document.querySelector('label[for=__drawer].md-header__button').click()")
        self.when(f"{shown} >= 0")
        self.assertIn("Reference", self.browser.value("document.querySelector('.md-nav--primary').innerText"))

    def test_navigation_is_there_on_a_desktop(self):
        self.open("scaling.html", "desktop")
        tabs = self.browser.value("[...document.querySelectorAll('.md-tabs__link')].map(e => e.innerText.trim())")
        self.assertEqual(tabs, ["Start", "Guide", "Reference", "Contributing"])
        links = self.browser.value("[...document.querySelectorAll('.md-sidebar--primary a')].map(e => e.getAttribute('href'))")
        self.assertIn("checkpoints.html", links)

    def test_the_scheme_can_be_chosen(self):
        self.open("scaling.html", "desktop", "dark")
        self.browser.value("document.querySelector('label[title=\"Switch to light mode\"]').click()")
        self.assertEqual(self.when("document.body.dataset.mdColorScheme == 'default' && 'default'"), "default")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
