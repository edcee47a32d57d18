# SPDX-License-Identifier: Apache-2.0
"""What mkdocs does for this site: pages for the headers, the order of the pages, links to names of the API and to sources."""
import fnmatch
import logging
import os
import pathlib
import re
import sys

sys.path.insert(0, os.path.dirname(__file__))
import github_markdown  # noqa: E402
import headers  # noqa: E402
import reference  # noqa: E402

from mkdocs.structure.files import File  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
UP = "../../"  # from mkdocs.yml to the root
LINK = re.compile(r"(?P<code>^(?P<fence> *```+).*?^(?P=fence) *$|`[^`\n]+`(?!\]))"
                  r"|(?<!!)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s#]+)(?P<mark>#[^)\s]*)?\)", re.M | re.S)
log = logging.getLogger("mkdocs.hooks.syclamp")
writer = None  # of the API reference
sources = {}  # file of the repository, by the address of its page


def on_config(config):
    global writer
    writer = reference.Writer(headers.read_all(ROOT / "include"))
    docs = pathlib.Path(config.docs_dir)
    found = sorted((path.relative_to(docs).as_posix() for path in docs.rglob("*.md")),
                   key=lambda page: (os.path.basename(page) != "index.md", page))
    entries = set(named(config.nav))
    sources.update({page: f"docs/{page}" for page in found})
    sources.update({outside_page(entry): entry.removeprefix(UP) for entry in entries if entry.startswith(UP)})
    config.nav = expand(config.nav, found, entries)
    writer.names.pages = {source: page for page, source in sources.items()}
    return config


def named(nav):
    """Every entry of the navigation that is a page or a pattern."""
    for entry in nav:
        if isinstance(entry, str):
            yield entry
        else:
            for value in entry.values():
                yield from named(value if isinstance(value, list) else [value])


def outside_page(entry):
    """The address of the page for a file that is not in docs/."""
    return entry.removeprefix(UP).lower()


def expand(nav, pages, taken):
    """The navigation with patterns replaced by pages, and without entries that have none."""
    out = []
    for entry in nav:
        if isinstance(entry, str):
            if entry.startswith(UP):
                out.append(outside_page(entry))
            out += [page for page in pages if page == entry or fnmatch.fnmatch(page, entry) and page not in taken]
            continue
        (title, value), = entry.items()
        value = writer.navigation() if value == "api" else expand(value, pages, taken)
        out += [{title: value}] if value else []
    return out


def on_files(files, config):
    made = writer.pages()
    made |= {page: (ROOT / source).read_text(encoding="utf-8") for page, source in sources.items() if not source.startswith("docs/")}
    for page, text in made.items():
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown, page, config, files):
    uri = page.file.src_uri
    if uri.startswith(f"{reference.FOLDER}/"):
        return markdown
    markdown = LINK.sub(lambda match: link(match, uri, config), markdown)
    return writer.names.text(github_markdown.separate_blocks(markdown), uri)


def link(match, uri, config):
    """A link to a file of the repository: to the page that shows it, else to the public repository, else plain text."""
    if match["code"] or re.match(r"[a-z]+:", match["target"]):
        return match[0]
    path = os.path.normpath(os.path.join(os.path.dirname(sources[uri]), match["target"]))
    text, mark = match["text"], match["mark"] or ""
    if place := writer.names.pages.get(path) or writer.names.headers.get(path.removeprefix("include/")):
        return f"[{text}]({os.path.relpath(place, os.path.dirname(uri) or '.')}{mark})"
    if path.startswith("docs/"):
        return match[0]  # a picture; or mkdocs complains
    if not (ROOT / path).exists():
        log.warning(f"{uri}: the link {match['target']} leads to {path}, which does not exist")
    if config.repo_url:
        return f"[{text}]({config.repo_url.rstrip('/')}/blob/main/{path}{mark})"
    return text if path in text else f"{text} (`{path}`)"
