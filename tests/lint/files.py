# SPDX-License-Identifier: Apache-2.0
"""Files are not trusted: JSON and CBOR are parsed in one place, and files are written in one place, which are guarded."""
import pathlib
import re
import sys

from sources import cpp_files

FOLDERS = ("include", "src", "apps", "bindings")
PARSER = pathlib.Path("src/support/json_reader.cpp")
WRITERS = tuple(pathlib.Path("src/support", name)
                for name in ("path_walk.cpp", "temporary_file.cpp", "whole_file.cpp"))
STREAMS = pathlib.Path("apps/support/standard_streams.cpp")  # opens /dev/null

RULES = (
    (r"(::|\.|->)\s*(sax_parse|from_(cbor|msgpack|ubjson|bson|bjdata))\b", (PARSER,), "read it by support/json_reader.hpp"),
    (r"\w*json\w*\s*(<[^;]*>)?\s*::\s*(parse|accept)\b", (PARSER,), "read it by support/json_reader.hpp"),
    (r"\boperator\s*\"\"\s*_json|\"_json\b", (), "build it of values, or read it by support/json_reader.hpp"),
    (r"\b(ofstream|fstream|filebuf|freopen|fopen|creat|mkstemp|mkostemp|tmpfile|tmpnam)\b(?!>)", (),
     "write it by support/whole_file.hpp, which follows no link of others"),
    (r"\bO_(WRONLY|RDWR|CREAT)\b", (*WRITERS, STREAMS), "write it by support/whole_file.hpp, which follows no link of others"),
)


def code_of(text):
    """The text without comments, lines kept."""
    text = re.sub(r"/\*.*?\*/", lambda comment: "\n" * comment[0].count("\n"), text, flags=re.S)
    return re.sub(r"//[^\n]*", "", text)


def complaints(root=pathlib.Path()):
    for path in cpp_files(root):
        path = path.relative_to(root)
        if path.parts[0] not in FOLDERS:
            continue
        text = code_of((root / path).read_text())
        for pattern, allowed, remedy in RULES:
            for match in re.finditer(pattern, text):
                if path not in allowed:
                    number = text.count("\n", 0, match.start()) + 1
                    yield f"{path}:{number}: {match[0]}: {remedy}"


if __name__ == "__main__":
    found = list(complaints())
    print("\n".join(found) or "files are read and written in the guarded places")
    sys.exit(bool(found))
