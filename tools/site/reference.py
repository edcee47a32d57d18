# SPDX-License-Identifier: Apache-2.0
"""Pages of the API reference, in Markdown: one per header, and one that lists them all."""
import re
import textwrap

import github_markdown
import names

FOLDER = "api"  # of the pages
INDEX = f"{FOLDER}/index.md"
WIDTH = 78  # of a signature on one line
TITLES = {"core": "Core", "matrix": "Matrix products", "nn": "Layers and losses", "mpi": "MPI"}
COMMAND = re.compile(r"^\\(param|throws|returns?)\b", re.M)


def address(header):
    return f"{FOLDER}/{header.path.removeprefix('syclamp/').removesuffix('.hpp')}.md"


def module(header):
    parts = header.path.split("/")
    return parts[1] if len(parts) > 2 else "core"


def is_umbrella(header):
    name = header.path.split("/")[-1].removesuffix(".hpp")
    return name == ("syclamp" if module(header) == "core" else module(header))


def modules(headers):
    """The headers of each module; the first is the one that includes the others. Headers that declare nothing have no page."""
    found = {}
    for header in headers:
        if header.declarations or is_umbrella(header):
            found.setdefault(module(header), []).append(header)
    return {name: sorted(found[name], key=lambda header: (not is_umbrella(header), header.path))
            for name in sorted(found, key=lambda name: (name != "core", name))}


def split(text):
    """A list at its outermost commas."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "(<{[") - (letter in ")>}]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def layout(signature):
    """A declaration on one line, or with one parameter per line if that line would be long."""
    head = re.match(r"(template\s*<[^\n]*>)\s*\n\s*(requires[^\n]*\n)?", signature)
    lines = [line for line in (head[1], f"  {head[2].strip()}" if head[2] else "") if line] if head else []
    text = " ".join(signature[head.end() if head else 0:].split())
    opening = re.search(r"(?<!operator)\((?![^<]*>[^(]*\()|= \{", text)
    if len(text) <= WIDTH or not opening or text.endswith("{}"):
        return "\n".join([*lines, text])
    begin, depth, end = opening.end(), 1, opening.end()
    while depth and end < len(text):
        depth += (text[end] in "({") - (text[end] in ")}")
        end += 1
    items = ",\n".join(f"    {item}" for item in split(text[begin:end - 1]))
    return "\n".join([*lines, f"{text[:begin]}\n{items}{text[end - 1:]}"])


def escape(line):
    """Outside of back-ticks, letters that Markdown would take for its own."""
    return "".join(part if part.startswith("`") else part.replace("<", "&lt;").replace("*", "\\*")
                   for part in re.split(r"(`[^`]*`)", line))


def markdown(comment):
    """A documentation comment as Markdown: commands as a list, indented code with colours."""
    text, *commands = re.split(r"^(?=\\(?:param|throws|returns?)\b)", comment, flags=re.M)
    out, code = [], []
    for line in [*text.splitlines(), ""]:
        if line.startswith("    ") and (code or not out or not out[-1].strip()):
            code.append(line[4:])
            continue
        if code:
            language = "cpp" if re.search(r"[;{}=]|::", "\n".join(code)) else "text"
            out += ["", f"```{language}", *code, "```", ""]
            code = []
        out.append(escape(line))
    items = []
    for command in commands:
        kind, rest = COMMAND.match(command)[1], " ".join(command.split()).partition(" ")[2]
        word, _, more = rest.partition(" ")
        items.append({"param": f"- `{word}`: {escape(more)}", "throws": f"- **Throws** " + (
            f"`{word}` {escape(more)}" if re.fullmatch(r"\w+_(?:argument|error)|\w+::\w+", word) else escape(rest))}.get(
                kind, f"- **Returns** {escape(rest)}"))
    return "\n".join([*out, *items]).strip()


class Writer:
    def __init__(self, headers):
        self.modules = modules(headers)
        pages = {header: address(header) for group in self.modules.values() for header in group if header.declarations}
        self.names = names.Names({header: pages[header] for header in pages})
        self.headers = pages

    def pages(self):
        return {INDEX: self.index()} | {place: self.page(header, place) for header, place in self.headers.items()}

    def navigation(self):
        groups = [{TITLES.get(name, name): [{header.path.split("/")[-1]: self.headers[header]}
                                            for header in group if header in self.headers]} for name, group in self.modules.items()]
        return [INDEX, *groups]

    def index(self):
        out = ["# API reference", "Every public header has a page. The pages are made from the comments in the headers."]
        for name, group in self.modules.items():
            out.append(f"## {TITLES.get(name, name)}")
            for header in group:
                if header not in self.headers:
                    out += [f"```cpp\n#include <{header.path}>\n```", self.names.text(markdown(header.comment), INDEX, everything=True)]
            out.append('<table class="fields" markdown="1"><tbody markdown="1">')
            for header in (header for header in group if header in self.headers):
                first = re.split(r"(?<=[.:])\s", header.comment, maxsplit=1)[0].rstrip(":")
                link = names.relative(INDEX, self.headers[header], ".html")
                out[-1] += (f'\n<tr markdown="1"><td><a href="{link}"><code>{header.path.split("/")[-1]}</code></a></td>'
                            f'<td markdown="block">\n{self.names.text(escape(first), INDEX, everything=True)}\n</td></tr>')
            out[-1] += "\n</tbody></table>"
        return "\n\n".join(out) + "\n"

    def page(self, header, place):
        self.place, self.anchors = place, set()
        out = [f"# {header.path.split('/')[-1]}", f"```cpp\n#include <{header.path}>\n```", self.text(header.comment, "")]
        for group in grouped(header.declarations):
            out += self.entry(group, 2)
        return "\n\n".join(filter(None, out)) + "\n"

    def text(self, comment, scope):
        markdown_text = github_markdown.separate_blocks(markdown(comment))
        text = re.sub(r"(?<![\w/`])docs/[\w/-]+\.md", r"`\g<0>`", markdown_text)
        return self.names.text(text, self.place, scope, everything=True)

    def entry(self, group, level):
        """A type with its members, or all overloads of a function."""
        first = group[0]
        out = [self.heading(first, level)]
        for declaration in group:
            code = self.names.code(layout(declaration.signature), self.place, declaration)
            out.append(f'<div class="highlight signature no-copy"><pre><code>{code}</code></pre></div>')
            out.append(self.text(declaration.comment, declaration.qualified if declaration.members else declaration.scope))
        fields = [member for member in first.members if member.kind in ("variable", "enumerator")]
        if fields:
            out.append(self.fields(fields))
        section = ("", "")
        for members in grouped([member for member in first.members if member not in fields]):
            if members[0].section != section:
                section = members[0].section
                title = self.unused(f"{anchor_of(first)}-{names.anchor(section[0].lower())}")
                out += [f"{'#' * (level + 1)} {section[0]} {{ #{title} }}", self.text(section[1], first.qualified)]
            out += self.entry(members, level + (2 if section[0] else 1))
        return out

    def heading(self, declaration, level):
        return f"{'#' * level} `{declaration.name}` {{ #{self.unused(anchor_of(declaration))} }}"

    def unused(self, anchor):
        while anchor in self.anchors:
            anchor += "-"
        self.anchors.add(anchor)
        return anchor

    def fields(self, fields):
        rows = []
        for field in fields:
            code = self.names.code(" ".join(field.signature.split()), self.place, field)
            marks = "".join(f'<span id="{self.unused(names.anchor(f"{field.scope}::{name}"))}"></span>' for name in field.names)
            text = self.text(field.comment, field.scope)
            rows.append(f'<tr markdown="1"><td>{marks}<code>{code}</code></td><td markdown="block">\n\n{text}\n\n</td></tr>')
        kind = "fields values" if fields[0].kind == "enumerator" else "fields"
        return f'<table class="{kind}" markdown="1"><tbody markdown="1">\n' + "\n".join(rows) + "\n</tbody></table>"


def anchor_of(declaration):
    return names.anchor(declaration.qualified)


def grouped(declarations):
    """Overloads that follow each other are one group."""
    groups = []
    for declaration in declarations:
        last = groups[-1][0] if groups else None
        if last and declaration.kind == last.kind == "function" and (declaration.name, declaration.section) == (last.name, last.section):
            groups[-1].append(declaration)
        else:
            groups.append([declaration])
    return groups
