# SPDX-License-Identifier: Apache-2.0
"""The text that people read in a file of the repository: pages, comments, docstrings and string literals."""
import dataclasses
import io
import os
import pathlib
import re
import tokenize

GENERATED = re.compile(r"^(\.git|\.syclamp|build|build-.*|report)$")  # folders at the top, as in .gitignore
CPP = (".hpp", ".cpp", ".h", ".inc", ".def")
PLAIN = (".cmake", ".sh", ".j2", ".f90")  # read whole, code included
PLAIN_NAMES = ("CMakeLists.txt", "run")

CPP_TOKEN = re.compile(
    r'(?P<comment>//[^\n]*(?:\n[ \t]*//[^\n]*)*|/\*.*?\*/)'
    r'|R"(?P<tag>[^(\s]*)\((?P<raw>.*?)\)(?P=tag)"'
    r'|(?P<string>"(?:\\.|[^"\\\n])*"(?:\s*"(?:\\.|[^"\\\n])*")*)'
    r"|(?<!\w)'(?:\\[^'\n]+|[^'\\\n]|\\')'", flags=re.S)


@dataclasses.dataclass
class passage:
    """A paragraph, a comment or a string. `text` keeps its line breaks; `line` is the number of its first line."""
    line: int
    text: str
    is_comment: bool = False


def blank(text):
    """Spaces instead of `text`. Line breaks stay, so that line numbers stay right."""
    return re.sub(r"[^\n]", " ", text)


def paragraphs(line, text, is_comment=False):
    """Splits at empty lines and before items of a list."""
    start = 0
    for gap in (*re.finditer(r"\n(?=[ \t]*(?:\n|[-*•] |\d+\. ))", text), None):
        end = gap.start() if gap else len(text)
        if text[start:end].strip():
            body = text[start:end]
            skipped = len(body) - len(body.lstrip())
            yield passage(line + text.count("\n", 0, start + skipped), body.strip(), is_comment)
        start = end


def in_page(text):
    text = re.sub(r"^(```|~~~).*?^\1", lambda match: blank(match[0]), text, flags=re.S | re.M)
    text = re.sub(r"(?:(?<=\n\n)|\A)(?:(?: {4}|\t)[^\n]*\n)+", lambda match: blank(match[0]), text)
    text = re.sub(r"`[^`\n]*`", lambda match: "x" * len(match[0]), text)
    text = re.sub(r"\]\([^)\n]*\)", lambda match: "]" + " " * (len(match[0]) - 1), text)
    number = 1
    for block in re.split(r"(?m)^([#|][^\n]*\n?)", text):  # headings and rows of tables are paragraphs
        yield from paragraphs(number, block)
        number += block.count("\n")


def in_cpp(text):
    for match in CPP_TOKEN.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if match["comment"]:
            body = re.sub(r"(?m)^\s*(?:/{2,3}<?|\*)|/\*+|\*/", lambda marker: " " * len(marker[0]), match["comment"])
            yield from paragraphs(line, body, is_comment=True)
        elif match["string"] or match["raw"]:
            body = re.sub(r'\\n|\\"|"', lambda marker: " " * len(marker[0]), match["string"] or match["raw"])
            yield from paragraphs(line, body)


def in_python(text):
    comments = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        kind = tokenize.tok_name[token.type]
        if kind == "COMMENT":
            if comments and comments[-1].line + comments[-1].text.count("\n") + 1 == token.start[0]:
                comments[-1].text += "\n" + token.string.lstrip("# ")
            else:
                comments.append(passage(token.start[0], token.string.lstrip("# "), is_comment=True))
        elif kind in ("STRING", "FSTRING_MIDDLE"):
            yield from paragraphs(token.start[0], token.string.replace('"', " "))
    yield from comments


def passages(path, text):
    """What people read in the file `path`, whose content is `text`."""
    if path.suffix == ".md":
        return in_page(text)
    if path.suffix in CPP:
        return in_cpp(text)
    if path.suffix == ".py":
        return in_python(text)
    return paragraphs(1, text)


def is_read_whole(path):
    """True if the passages of a file contain code, so that sentences cannot be told apart."""
    return path.suffix in PLAIN or path.name in PLAIN_NAMES


def prose_files(root):
    """The files of the repository that have text for people, as paths from the root."""
    for folder, folders, names in os.walk(root):
        here = pathlib.Path(folder).relative_to(root)
        folders[:] = sorted(name for name in folders if name != "__pycache__" and (here.parts or not GENERATED.match(name)))
        for name in sorted(names):
            path = here / name
            if path.suffix in (".md", ".py", *CPP) or is_read_whole(path):
                yield path
