# SPDX-License-Identifier: Apache-2.0
"""The pages are also read on GitHub, where a list or a table may follow other text directly. Python-Markdown wants a blank line."""
import re

FENCE = re.compile(r" *(```+|~~~+)")
ITEM = re.compile(r"( {0,3})(?:[-*+]|\d+\.) +\S")


def separate_blocks(text):
    out, fence, item, previous = [], None, None, ""
    for line in text.split("\n"):
        begins = ends = False
        if match := FENCE.match(line):
            fence = match[1] if fence is None else None if fence == match[1] else fence
        elif fence is None and (match := ITEM.match(line)):
            begins, item = item is None, match
        elif fence is None:
            begins = line.startswith("|") and not previous.startswith("|")
            ends = item and (line.startswith("#") or (item[1] and line.strip() and not line.startswith(" ")))
            item = None if ends or not line.strip() else item
        if (begins or ends) and previous.strip():
            out.append("")
        out.append(line)
        previous = line
    return "\n".join(out)
