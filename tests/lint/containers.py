# SPDX-License-Identifier: Apache-2.0
"""The recipes of containers name the version of each image: without a tag, the same recipe builds something else next month."""
import pathlib
import re
import sys


def images(text):
    """(line, image) of each FROM, with the defaults of ARG put in. An argument without a default stays as it is."""
    defaults, stages = {}, set()
    for number, line in enumerate(re.sub(r"\\\n", " ", text).splitlines(), 1):
        if argument := re.match(r"\s*ARG\s+(\w+)=(\S+)", line, flags=re.I):
            defaults[argument[1]] = argument[2].strip("\"'")
        elif start := re.match(r"\s*FROM\s+(?:--\S+\s+)*(\S+)(?:\s+AS\s+(\S+))?", line, flags=re.I):
            image = re.sub(r"\$\{?(\w+)\}?", lambda name: defaults.get(name[1], name[0]), start[1])
            if image not in stages and image != "scratch":
                yield number, image
            stages.add(start[2])


def complaints(root=pathlib.Path()):
    for path in sorted((root / "packaging").rglob("*Containerfile")):
        found = list(images(path.read_text()))
        for number, image in found:
            version = re.search(r"(?:^[^@]*:([\w.-]+)|@sha256:[0-9a-f]{64})$", image)
            if "$" in image or version is None or version[1] == "latest":
                yield f"{path.relative_to(root)}:{number}: {image} has no version; write a tag, such as name:1.2, or a default of ARG with one"
        if not found:
            yield f"{path.relative_to(root)}: it has no FROM with an image"


if __name__ == "__main__":
    wrong = list(complaints())
    print("\n".join(wrong) or "every image has a version")
    sys.exit(bool(wrong))
