# SPDX-License-Identifier: Apache-2.0
"""Reads a folder of HTML pages, and finds links that lead nowhere, requests to other servers and text that was not understood."""
import html.parser
import pathlib
import re
import urllib.parse

LOADS = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("link", "href"), ("object", "data")}
STYLE_LOADS = re.compile(r"""(?:@import\s+|url\()\s*["']?((?:https?:)?//[^"')\s]+)""")
RAW = re.compile(r"^\s*(?:[-*] \S|\d+\. \S|\|.*\|$|#{1,6} |```)|\]\([\w./#-]+\)", re.M)  # Markdown that stands as text on a page


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        self.ids, self.links, self.loads, self.styles, self.texts = [], [], [], [], []
        self._article, self._code, self._text = False, [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self._article = self._article or tag == "article"
        if tag in ("code", "pre", "style", "script"):
            self._code.append(tag)
        elif tag in ("p", "li") and self._article:
            self._text.append("")
        if "id" in attributes:
            self.ids.append(attributes["id"])
        for name in ("href", "src", "data"):
            if attributes.get(name):
                (self.loads if (tag, name) in LOADS else self.links).append(attributes[name])
        self.styles += STYLE_LOADS.findall(attributes.get("style") or "")

    def handle_endtag(self, tag):
        if tag == "article":
            self._article = False
        if tag in self._code:
            self._code.remove(tag)
        elif tag in ("p", "li") and self._text:
            self.texts.append(self._text.pop())

    def handle_data(self, data):
        if "style" in self._code:
            self.styles += STYLE_LOADS.findall(data)
        elif self._text and not self._code:
            self._text[-1] += data


def is_elsewhere(address):
    return bool(re.match(r"[a-z]+:|//", address)) and not address.startswith("data:")


def complaints(folder):
    folder = pathlib.Path(folder).resolve()
    pages = {path: Page(path) for path in sorted(folder.rglob("*.html"))}
    if not pages:
        yield f"{folder} has no page"
    for path, page in pages.items():
        name = path.relative_to(folder)
        for twice in sorted({each for each in page.ids if page.ids.count(each) > 1}):
            yield f"{name}: two elements have the id {twice}"
        for address in [address for address in page.loads if is_elsewhere(address)] + page.styles:
            yield f"{name}: loads {address} from elsewhere"
        for address in page.links + page.loads:
            if is_elsewhere(address) or address.startswith("data:"):
                continue
            parts = urllib.parse.urlsplit(address)
            base = folder if parts.path.startswith("/") else path.parent
            target = (base / urllib.parse.unquote(parts.path).lstrip("/")).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.is_file() or folder not in target.parents:
                yield f"{name}: the link {address} leads nowhere"
            elif parts.fragment and target in pages and urllib.parse.unquote(parts.fragment) not in pages[target].ids:
                yield f"{name}: the link {address} has no anchor there"
        for text in page.texts:
            if match := RAW.search(text):
                yield f"{name}: Markdown on the page: {match[0].strip()} in: {' '.join(text.split())[:80]}"
    for sheet in sorted(folder.rglob("*.css")):
        for address in STYLE_LOADS.findall(sheet.read_text(encoding="utf-8")):
            yield f"{sheet.relative_to(folder)}: loads {address} from elsewhere"
