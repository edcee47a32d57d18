# SPDX-License-Identifier: Apache-2.0
"""The frame of every page: a template, the style sheet inside it, nothing that has to be loaded."""
import os
import pathlib
import secrets

import jinja2
from markupsafe import Markup

from . import words

_FOLDER = pathlib.Path(__file__).parent


def render(template, **values):
    """A page as text. Every value is escaped but what charts made."""
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(_FOLDER), autoescape=True, trim_blocks=True,
                                     lstrip_blocks=True, undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    environment.filters.update(count=words.count, percent=words.percent)
    sheet = Markup((_FOLDER / "style.css").read_text(encoding="utf-8"))
    return environment.get_template(template).render(style=sheet, **values)


def write(file, text):
    """The old page or the whole new one, whatever happens. Follows no link: one with this name is replaced itself."""
    file.parent.mkdir(parents=True, exist_ok=True)
    # A name that nobody can guess, and a file that was not there before: nobody else's link is written through.
    unfinished = file.with_name(f".{file.name}.{secrets.token_hex(8)}.new")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
    try:
        with open(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
        os.replace(unfinished, file)
    finally:
        unfinished.unlink(missing_ok=True)
