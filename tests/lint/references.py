# SPDX-License-Identifier: Apache-2.0
"""Checks that the repository stands alone.

In every text file:
- No path leads to a folder of one machine, or through `..` to a file that is not in the repository.
- Every page (`.md`) that is named exists, and so does the heading after its `#`.
- An issue is cited by its address. `name#123` does not say where to look.
In pages, and in tests for the last rule:
- Links lead to files that exist. So do paths of the repository and names of source files in back-ticks.
- A test that is cited as `file`, "name" stands in that file.
- The tour of a step (docs/tour.md) visits no file twice, and the names in its back-ticks stand in the sources.
- A defect of another framework (D and a number) has a heading in docs/frameworks.md, and the citing file names that page.
"""
import os
import pathlib
import re
import sys

GENERATED = re.compile(r"^(\.git|\.syclamp|build|build-.*|report)$")  # folders at the top, as in .gitignore
SHOWS_WRONG_ONES = ("tests/lint/references.py", "tests/lint/references_test.py", "tests/lint/includes_test.py",
                    "tests/lint/prose_test.py", "tests/lint/contents_test.py",
                    "tests/site/site_test.py")
HISTORY = "CHANGELOG.md"  # may name files that were removed
DEFECTS = "docs/frameworks.md"
TOUR = "docs/tour.md"

URL = re.compile(r"\b[a-z]+://[^\s)>\"'`]+")
MACHINE = re.compile(r"(?<![\w.$}>-])/(?:work|home|root|Users|scratch)/\w+")
UPWARD = re.compile(r"(?<![\w./$}>%-])(?:\.\./)+[\w./-]*")
PAGE = re.compile(r"(?<![\w./<>*$}-])([\w./-]*\w\.md)\b(?:#([\w-]+))?")
SECTION = re.compile(r"\b([A-Z][A-Z_]{2,})(?:\.md)?,? §")
NOTES = re.compile(r"\b(?:DESIGN|HOUSE|PEERS|SPEED|STYLE)\b")
ISSUE = re.compile(r"\b[A-Za-z][\w-]*#\d{2,}\b|\b(?:PR|[Ii]ssue|[Pp]ull request) #?\d{2,}\b(?!\]\()")
LINK = re.compile(r"\]\(([^)\s]+)\)|\b(?:src|href)=\"([^\"]+)\"")
SPAN = re.compile(r"`([^`\s]+)`")
SOURCE = re.compile(r"^[\w./-]*\w\.(?:hpp|cpp|def|py|cmake|sh|svg|lock|j2)$")
TEST = re.compile(r"`(tests/[^`\s]+)`, \"([^\"]+)\"")
STOP = re.compile(r"^## +\d.*$", flags=re.M)
NAME = re.compile(r"^(?:\w+::)*([a-z]\w*)$")
DEFECT = re.compile(r"\bD[1-9]\d?\b")


def text_files(root):
    """The text of every file of the repository, by its path from the root."""
    texts = {}
    for folder, folders, names in os.walk(root):
        here = pathlib.Path(folder).relative_to(root)
        folders[:] = sorted(name for name in folders if name != "__pycache__" and (here.parts or not GENERATED.match(name)))
        for name in sorted(names):
            if not here.parts and GENERATED.match(name):
                continue  # .git is a file in a worktree
            try:
                texts[str(here / name)] = (root / here / name).read_text(encoding="utf-8")
            except (UnicodeDecodeError, OSError):
                texts[str(here / name)] = ""
    return texts


def anchors(text):
    """The names by which the headings of a page are reached."""
    headings = re.findall(r"^#+ +(.+?)\s*$", text, flags=re.M)
    made = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return made | set(re.findall(r"<a id=\"([^\"]+)\"", text))


class repository:
    def __init__(self, root):
        self.texts = text_files(root)
        self.folders = {str(parent) for path in self.texts for parent in pathlib.PurePath(path).parents}
        tops = sorted(re.escape(path) for path in self.folders if path != "." and "/" not in path)
        self.named_path = re.compile(rf"(?<![\w./$<>}}-])(?:{'|'.join(tops) or '$.'})/[\w./-]*(?![\w.<>*{{…-])")

    def has(self, path, folder="."):
        full = os.path.normpath(os.path.join(folder, path))
        return not full.startswith("..") and (full in self.texts or full in self.folders)

    def ends_with(self, path):
        path = path.rstrip("/")
        return any(known == path or known.endswith("/" + path) for known in (*self.texts, *self.folders))

    def in_any_file(self, path, line):
        folder = os.path.dirname(path)
        for match in MACHINE.finditer(line):
            yield f"{match[0]} is a folder of one machine"
        for match in UPWARD.finditer(line):
            if not self.has(match[0], folder):
                yield f"{match[0]} is not in the repository"
        for match in PAGE.finditer(line):
            places = [os.path.normpath(os.path.join(start, match[1])) for start in (".", folder)]
            page = next((place for place in places if place in self.texts), None)
            found = page or ("/" not in match[1] and self.ends_with(match[1]))
            if not found and not match[1].startswith("../"):
                yield f"there is no page {match[1]}"
            elif page and match[2] and match[2] not in anchors(self.texts[page]):
                yield f"{page} has no heading #{match[2]}"
        sections = (match[1] for match in SECTION.finditer(line) if not self.ends_with(match[1] + ".md"))
        for name in {*sections, *NOTES.findall(line)}:
            yield f"{name} is no document of the repository"
        for match in ISSUE.finditer(line):
            yield f"{match[0]}: give the address of the thread"

    def in_page(self, path, line):
        folder = os.path.dirname(path)
        for match in LINK.finditer(line):
            target, _, heading = (match[1] or match[2]).partition("#")
            if target not in ("", "URL") and not self.has(target, folder):
                yield f"the link {target} leads nowhere"
            elif heading and target == "" and heading not in anchors(self.texts[path]):
                yield f"this page has no heading #{heading}"
        if path == HISTORY:
            return
        names = {match[0].rstrip(".") for match in self.named_path.finditer(line)}
        for name in sorted(names):
            if not self.has(name):
                yield f"{name} does not exist"
        for match in SPAN.finditer(line):
            is_folder = re.fullmatch(r"\.?\w[\w.-]*/", match[1]) and not GENERATED.match(match[1][:-1])
            if (is_folder or SOURCE.match(match[1])) and not self.ends_with(match[1]) and match[1] not in names:
                if not GENERATED.match(match[1].split("/")[0]) and not match[1].startswith("../"):
                    yield f"{match[1]} does not exist"

    def about_tour(self, text):
        visited = [name for heading in STOP.findall(text) for name in SPAN.findall(heading)]
        for name in sorted({name for name in visited if visited.count(name) > 1}):
            yield f"the tour visits {name} twice"
        sources = (self.texts[path] for path in self.texts if re.match(r"(?:include|src|sycl_kernels)/", path))
        words = {word for source in sources for word in re.findall(r"\w+", source)}
        for match in filter(None, map(NAME.match, SPAN.findall(text))):
            if match[1] not in words:
                yield f"no source has the name {match[0]}"

    def about_defects(self, path, text):
        known = anchors(self.texts.get(DEFECTS, ""))
        cited = set(DEFECT.findall(text))
        for name in sorted(cited):
            if name.lower() not in known:
                yield f"{name} has no heading in {DEFECTS}"
        if cited and path != DEFECTS and os.path.basename(DEFECTS) not in text:
            yield f"defects are cited ({min(cited)}), but not where they are explained: {DEFECTS}"

    def complaints(self):
        for path, text in self.texts.items():
            if path in SHOWS_WRONG_ONES:
                continue
            is_page = path.endswith(".md")
            for number, line in enumerate(text.splitlines(), 1):
                line = URL.sub("URL", line)
                for what in (*self.in_any_file(path, line), *(self.in_page(path, line) if is_page else ())):
                    yield f"{path}:{number}: {what}"
            if path == TOUR:
                yield from (f"{path}: {what}" for what in self.about_tour(text))
            if is_page:
                for file, name in TEST.findall(re.sub(r"\s+", " ", text)):
                    if f'"{name}"' not in self.texts.get(file, ""):
                        yield f'{path}: there is no test "{name}" in {file}'
            if is_page or re.match(r"tests/.*\.[ch]pp$", path):
                yield from (f"{path}: {what}" for what in self.about_defects(path, text))


def complaints(root=pathlib.Path()):
    return repository(root).complaints()


if __name__ == "__main__":
    found = list(complaints())
    print("\n".join(found) or "the repository refers to nothing outside it")
    sys.exit(bool(found))
