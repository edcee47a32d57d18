# SPDX-License-Identifier: Apache-2.0
"""What mkdocs does besides: pages for the headers, the order of the pages, links to names of the API and to sources."""
import fnmatch
import logging
import os
import pathlib
import re
import sys

sys.path.insert(0, os.path.dirname(__file__))
import headers  # noqa: E402
import reference  # noqa: E402

from mkdocs.structure.files import File  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"(?P<code>^(?P<fence> *```+).*?^(?P=fence) *$|`[^`\n]+`(?!\]))|(?<!!)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s#]+)(?P<mark>#[^)\s]*)?\)",
                  re.M | re.S)
log = logging.getLogger("mkdocs.hooks.syclamp")
writer = None


def on_config(config):
    global writer
    writer = reference.Writer(headers.read_all(ROOT / "include"))
    docs = pathlib.Path(config.docs_dir)
    pages = sorted(path.relative_to(docs).as_posix() for path in docs.rglob("*.md"))
    config.nav = expand(config.nav, pages, set(named(config.nav)))
    config.watch.append(str(ROOT / "include"))
    return config


def named(nav):
    """Every entry of the navigation that is a page or a pattern."""
    for entry in nav:
        if isinstance(entry, str):
            yield entry
        else:
            for value in entry.values():
                yield from named(value if isinstance(value, list) else [value])


def expand(nav, pages, taken):
    """The navigation with patterns replaced by pages, and without entries that have none."""
    out = []
    for entry in nav:
        if isinstance(entry, str):
            out += [page for page in pages if page == entry or fnmatch.fnmatch(page, entry) and page not in taken]
            continue
        (title, value), = entry.items()
        value = writer.navigation() if value == "api" else expand(value, pages, taken)
        out += [{title: value}] if value else []
    return out


def on_files(files, config):
    for path, text in writer.pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown, page, config, files):
    uri = page.file.src_uri
    if uri.startswith("api/"):
        return markdown
    markdown = LINK.sub(lambda match: outside(match, uri, config), markdown)
    return writer.names.text(markdown, uri)


def outside(match, uri, config):
    """A link from a page to a file that is not in docs/: to the API reference, to the public repository, or plain text."""
    if match["code"] or re.match(r"[a-z]+:", match["target"]):
        return match[0]
    path = os.path.normpath(os.path.join("docs", os.path.dirname(uri), match["target"]))
    if path.startswith("docs/"):
        return match[0]
    if not (ROOT / path).exists():
        log.warning(f"{uri}: the link {match['target']} leads to {path}, which does not exist")
    if place := writer.names.headers.get(path.removeprefix("include/")):
        return f"[{match['text']}]({os.path.relpath(place, os.path.dirname(uri) or '.')})"
    if config.repo_url:
        return f"[{match['text']}]({config.repo_url.rstrip('/')}/blob/main/{path}{match['mark'] or ''})"
    return match["text"] if "`" in match["text"] else f"{match['text']} (`{path}`)"
