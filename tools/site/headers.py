# SPDX-License-Identifier: Apache-2.0
"""Reads the public headers: every declaration with its signature and its documentation comment.

The signature is the header's own text, without the body. The reader relies on the format of the headers: clang-format's layout
and `///` comments. A comment that belongs to no declaration raises an error, so no documentation can get lost.
"""
import dataclasses
import pathlib
import re

TOKEN = re.compile(r'(?P<doc>///<?[^\n]*)|(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<directive>^[ \t]*#(?:\\\n|[^\n])*)'
                   r'|(?P<text>"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|\w+)|(?P<space>\s+)|(?P<other>.)', re.S | re.M)
SECTION = re.compile(r"// --- (.+?) -+$")
INTERNAL = "// For the library's own operations."
MACROS = re.compile(r"\bSYCLAMP_(?:API|HIDDEN)\s+")
HEAD = re.compile(r"^(?:template\s*<.*?>\s*(?:requires.*?\s)?)?(class|struct|enum(?:\s+class)?|namespace)\b\s*([\w:]*)", re.S)
OPENING, CLOSING = "([{", ")]}"


class HeaderError(Exception):
    pass


@dataclasses.dataclass(eq=False)
class Declaration:
    kind: str  # class, struct, enum, enumerator, function, variable, alias
    name: str
    signature: str
    comment: str
    scope: str = ""  # qualified name of the class or namespace around it, without syclamp::
    section: tuple = ("", "")  # heading inside the class, and the text below it
    members: list = dataclasses.field(default_factory=list)

    @property
    def qualified(self):
        return f"{self.scope}::{self.name}" if self.scope else self.name

    @property
    def names(self):
        """`int a = 0, b = 0;` declares two names."""
        return self.name.split(", ")


@dataclasses.dataclass(eq=False)
class Header:
    path: str  # as it is included: syclamp/engine.hpp
    comment: str
    declarations: list


def plain(comment_lines):
    return "\n".join(line.removeprefix("///<").removeprefix("///").removeprefix(" ").rstrip() for line in comment_lines).strip("\n")


class Reader:
    def __init__(self, path, text):
        self.path = path
        self.tokens = [(match.lastgroup, match.group(), text.count("\n", 0, match.start()) + 1) for match in TOKEN.finditer(text)]
        self.at = 0
        self.file_comment = ""

    def fail(self, what):
        line = self.tokens[min(self.at, len(self.tokens) - 1)][2]
        raise HeaderError(f"{self.path}:{line}: {what}")

    def peek(self):
        return self.tokens[self.at][:2] if self.at < len(self.tokens) else ("end", "")

    def comment_block(self):
        """The lines of `///` from here on; lines of `///<` are a block of their own."""
        lines = []
        trailing = self.peek()[1].startswith("///<")
        while self.peek()[0] == "doc" and self.peek()[1].startswith("///<") == trailing:
            lines.append(self.peek()[1])
            self.at += 1
            if self.peek()[0] == "space" and self.peek()[1].count("\n") == 1 and self.tokens[self.at + 1:self.at + 2]:
                if self.tokens[self.at + 1][0] == "doc":
                    self.at += 1
        return plain(lines)

    def comment_lines(self):
        """The text of `//` comments on the very next lines."""
        lines = []
        while self.peek()[0] == "space" and self.peek()[1].count("\n") == 1 and self.tokens[self.at + 1][0] == "comment":
            lines.append(self.tokens[self.at + 1][1].removeprefix("//").strip())
            self.at += 2
        return "\n".join(lines)

    def trailing_comment(self):
        """What `///<` says about the declaration before it."""
        at = self.at
        while self.peek()[0] == "space" or self.peek()[1] == ",":
            self.at += 1
        if self.peek()[1].startswith("///<"):
            return self.comment_block()
        self.at = at
        return ""

    def skip_body(self):
        """From `{` to behind the `}` that closes it."""
        depth = 0
        while True:
            kind, text = self.peek()
            if kind == "end":
                self.fail("a brace is not closed")
            depth += (text == "{") - (text == "}")
            self.at += 1
            if depth == 0:
                return

    def statement(self):
        """The text up to `;` or to the brace that opens a body; and which of both."""
        parts, depth, has_value = [], 0, False
        while True:
            kind, text = self.peek()
            if kind == "end":
                self.fail(f"the file ends inside a declaration: {''.join(parts)[:60]}")
            if kind == "doc":
                self.fail("a documentation comment stands inside a declaration")
            if depth == 0 and text == ";":
                self.at += 1
                return "".join(parts), ";"
            if depth == 0 and text == "{" and not has_value:
                return "".join(parts), "{"
            if depth == 0 and text == "=" and not re.search(r"operator\s*\W?$", "".join(parts)):
                has_value = True  # braces that follow are part of it
            depth += (text in OPENING) - (text in CLOSING)
            if kind not in ("comment", "directive"):
                parts.append(text)
            self.at += 1

    def declarations(self, scope, kind):
        """Those of a namespace or a class (`kind`), up to the end of the file or the closing brace."""
        found, comment, section, visible, internal = [], "", ("", ""), kind != "class", False
        while True:
            token, text = self.peek()
            if token == "end" or text == "}":
                if comment:
                    self.fail("a documentation comment is followed by no declaration")
                return found
            if token == "doc":
                if comment or text.startswith("///<"):
                    self.fail("this documentation comment belongs to no declaration")
                comment = self.comment_block()
                if comment.startswith("\\file"):
                    self.file_comment, comment = comment.removeprefix("\\file").strip("\n"), ""
            elif token == "comment":
                internal = internal or text == INTERNAL
                self.at += 1
                if match := SECTION.match(text):
                    section, internal = (match[1], self.comment_lines()), False
            elif token in ("space", "directive"):
                if token == "directive" and text.lstrip().startswith("#define"):
                    comment = ""  # macros are no part of the reference
                    self.trailing_comment()
                self.at += token == "space" or self.peek() == (token, text)
            elif text in ("public", "protected", "private"):
                visible, internal, section = text == "public", False, ("", "")
                self.at += 1
                while self.peek()[1] == ":" or self.peek()[0] == "space":
                    self.at += 1
            elif text == ";":
                self.at += 1
            else:
                made = self.declaration(scope, comment)
                for item in made:
                    item.section = section
                if visible and not internal:
                    found += made
                comment = ""

    def declaration(self, scope, comment):
        text, end = self.statement()
        text = MACROS.sub("", text).strip()
        head = HEAD.match(text)
        if head and end == "{" and "(" not in text[head.end():]:
            return self.body(text, head, scope, comment)
        if end == "{":
            self.skip_body()
            if self.peek()[1] == ",":
                self.fail("initializers of a constructor are written in parentheses here")
            text = re.sub(r"\)\s*((?:const|noexcept)\s*)*\s:\s.*", ")", text, flags=re.S)  # initializers of a constructor
        comment = "\n".join(filter(None, (comment, self.trailing_comment())))
        return self.simple(text, scope, comment)

    def body(self, text, head, scope, comment):
        kind, name = head[1].split()[0], head[2].replace("SYCLAMP_NAMESPACE", "syclamp")
        self.at += 1
        if kind == "namespace":
            inner = name.removeprefix("syclamp").removeprefix("::")
            found = self.declarations(f"{scope}::{inner}".strip(":"), "namespace")
            self.at += 1
            return [] if inner.split("::")[-1] in ("detail", "launch") else found
        made = Declaration(kind, name, text, comment, scope)
        made.members = self.enumerators(made.qualified) if kind == "enum" else self.declarations(made.qualified, kind)
        if self.peek()[1] != "}":
            self.fail(f"{name} does not end where it should")
        self.at += 1
        return [made]

    def enumerators(self, scope):
        found, comment, parts = [], "", []
        while True:
            token, text = self.peek()
            if token == "doc" and not text.startswith("///<"):
                comment = self.comment_block()
            elif text in (",", "}"):
                self.at += text == ","
                if signature := "".join(parts).strip():
                    comment = "\n".join(filter(None, (comment, self.trailing_comment())))
                    found.append(Declaration("enumerator", signature.split()[0], signature, comment, scope))
                comment, parts = "", []
                if text == "}":
                    return found
            elif token == "doc":
                comment = self.comment_block()  # of the last one, which has no comma
            else:
                parts += [text] if token not in ("comment", "directive") else []
                self.at += 1

    def simple(self, text, scope, comment):
        """A function, variable or alias. Not in the reference: declarations without a definition, and what every class has."""
        owner = scope.split("::")[-1]
        copies = rf"(?:{owner}|{owner}& operator=)\((?:const {owner}&|{owner}&&)(?: \w+)?\)"
        if re.match(r"static_assert\b|using [\w:]+::\w+$|using namespace|(?:class|struct|enum class|namespace) [\w:]+$", text) or (
                re.match(rf"(?:{copies}|(?:virtual )?~{owner}\(\))", text) and not comment) or "->" in text and text.startswith("template"):
            if comment:
                self.fail(f"documented, but not part of the reference: {text[:60]}")
            return []
        if match := re.match(r"using (\w+) =", text):
            return [Declaration("alias", match[1], text, comment, scope)]
        bare = re.sub(r"^template\s*<[^{}]*?>\s*(?=\w)(?:requires\s*\(.*?\)\s*\n\s*|requires[^\n]*\n\s*)?", "", text, flags=re.S)
        before_value = re.split(r"(?<!operator)(?<![=!<>])=(?!=)|(?<!operator)\{", bare, maxsplit=1)[0]
        if match := re.search(r"(operator\s*(?:\(\)|\[\]|[^\s\w(]+|[\w:&* ]+?)|\w+)\s*\(", before_value):
            if not re.search(r"std::function<[^;]*$", before_value[:match.start()]):
                return [Declaration("function", " ".join(match[1].split()), text, comment, scope)]
        shortened = re.sub(r"\{.*\}", "{}", re.sub(r"<.*>", "", bare), flags=re.S)
        names = re.findall(r"(\w+)(?:\[\w*\])?\s*(?:=[^,]*|\{[^}]*\})?(?:,|$)", shortened)
        if not names:
            self.fail(f"not understood: {text[:80]}")
        return [Declaration("variable", ", ".join(names), text, comment, scope)]


def read(root, path):
    """The header `path` below the folder `root`."""
    reader = Reader(path, (root / path).read_text(encoding="utf-8"))
    declarations = reader.declarations("", "namespace")
    if reader.peek()[0] != "end":
        reader.fail("more braces are closed than were opened")
    return Header(path, reader.file_comment, declarations)


def read_all(root):
    root = pathlib.Path(root)
    return [read(root, path.relative_to(root).as_posix()) for path in sorted(root.rglob("*.hpp"))]
