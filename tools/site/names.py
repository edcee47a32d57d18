# SPDX-License-Identifier: Apache-2.0
"""Where each name of the API is documented, and links to it from code and from text."""
import html
import os
import re

KEYWORDS = set("alignas auto class const consteval constexpr default delete enum explicit friend inline mutable namespace noexcept "
               "operator override requires static struct template typename using virtual".split())
BUILT_IN = set("bool char double float int long short signed unsigned void".split())
LITERAL = re.compile(r"true$|false$|nullptr$|\d")
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\d[\w.+]*|\w+(?:::\w+)*|\s+|::|.', re.S)
FENCE = re.compile(r"^(?P<fence> *(?:```+|~~~+)).*?^(?P=fence)[ ]*$|^(?: {4}.*\n?)+", re.S | re.M)
SPAN = re.compile(r"(?P<link>!?\[[^\]]*\]\([^)]*\)|^#[^\n]*$|<a .*?</a>)|`(?P<code>[^`\n]+)`", re.M | re.S)
HEADER = re.compile(r"<?(?:include/)?(syclamp/[\w/]+\.hpp)>?")
PAGE = re.compile(r"[\w/-]+\.md")


def anchor(qualified):
    return re.sub(r"\W+", "-", qualified).strip("-")


class Names:
    def __init__(self, pages):
        """`pages`: the address of a header's page, for each header that has one."""
        self.headers = {header.path: address for header, address in pages.items()}
        self.places, self.types = {}, {}
        self.pages = {}  # the page that shows a file of the repository
        for header, address in pages.items():
            self._add(header.declarations, address)

    def _add(self, declarations, address):
        for declaration in declarations:
            for name in declaration.names:
                qualified = f"{declaration.scope}::{name}".strip(":")
                self.places.setdefault(qualified, f"{address}#{anchor(qualified)}")
            if declaration.kind in ("class", "struct", "enum", "alias"):
                self.types.setdefault(declaration.name, []).append(declaration.qualified)
            self._add(declaration.members, address)

    def resolve(self, word, scope=""):
        """The place of a name as C++ would find it in `scope`; else a type that only one namespace has."""
        word = word.removesuffix("()").removeprefix("syclamp::")
        while True:
            found = self.places.get(f"{scope}::{word}".strip(":"))
            if found or not scope:
                break
            scope = scope.rpartition("::")[0]
        first, _, rest = word.partition("::")
        if not found and len(self.types.get(first, ())) == 1:
            found = self.places.get(f"{self.types[first][0]}::{rest}".strip(":"))
        return found

    def code(self, text, page, declaration):
        """A declaration as HTML, with the classes of Pygments. Each type is a link to its place, the declared names stand out."""
        out, before, own = [], "", set(declaration.names)
        for token in TOKEN.findall(text):
            word = html.escape(token, quote=False)
            names_a_type = not before or before in KEYWORDS or before in "<,(" or before == "::"
            place = self.resolve(token, declaration.scope) if names_a_type and re.match(r"[a-z_]", token) else None
            if token in own and not (place and before in KEYWORDS | {""} and declaration.kind == "variable"):
                word = f'<span class="nf">{word}</span>'
                own.discard(token)
            elif token in KEYWORDS:
                word = f'<span class="k">{word}</span>'
            elif token in BUILT_IN or token.startswith("std::"):
                word = f'<span class="kt">{word}</span>'
            elif LITERAL.match(token):
                word = f'<span class="mi">{word}</span>'
            elif token.startswith('"'):
                word = f'<span class="s">{word}</span>'
            elif place:
                word = f'<a href="{relative(page, place, ".html")}">{word}</a>'
            out.append(word)
            before = before if token.isspace() else token
        return "".join(out)

    def text(self, markdown, page, scope="", everything=False):
        """Markdown in which names of the API in back-ticks are links. In guides (not `everything`) only those that can mean
        nothing else, and each name once."""
        seen = set()

        def link(match):
            code = match["code"]
            if code is None:
                return match[0]
            if path := HEADER.fullmatch(code):
                place = self.headers.get(path[1])
            elif PAGE.fullmatch(code):
                place = self.pages.get(code)
            elif not re.fullmatch(r"(?:\w+::)*~?\w+(?:\(\))?", code) or not (everything or "_" in code.split("::")[-1] or "::" in code):
                place = None
            else:
                place = self.resolve(code, scope)
            if place is None or place == page or (place in seen and not everything):
                return match[0]
            seen.add(place)
            return f"[`{code}`]({relative(page, place)})"

        parts, end = [], 0
        for block in FENCE.finditer(markdown):
            parts += [SPAN.sub(link, markdown[end:block.start()]), block[0]]
            end = block.end()
        return "".join(parts) + SPAN.sub(link, markdown[end:])


def relative(page, place, suffix=".md"):
    path, mark, fragment = place.partition("#")
    path = "" if path == page else os.path.relpath(path, os.path.dirname(page) or ".").removesuffix(".md") + suffix
    return path + mark + fragment
