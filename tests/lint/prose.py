# SPDX-License-Identifier: Apache-2.0
"""Finds phrases that a newcomer has to read twice, in pages, comments and messages. Each phrase has its remedy here.

    python3 tests/lint/prose.py                  # ends with 1 if a banned phrase is found
    python3 tests/lint/prose.py --long [PATH…]   # lists sentences of more than 30 words; ends with 0
"""
import pathlib
import re
import sys

from prose_text import is_read_whole, passages, prose_files

SHOWS_WRONG_ONES = ("tests/lint/prose.py", "tests/lint/prose_test.py")
HISTORY = ("CHANGELOG.md", "docs/checkpoints.md")  # may use names of earlier versions
MAX_WORDS = 30

UNIT = (r"(?:tensors?|steps?|scales?|groups?|chunks?|elements?|ranks?|work-items?|work-groups?|layers?|rows?|lists?|channels?|"
        r"epochs?|updates?|samples?|batch|kernels?|pieces?|lanes?|packs?|optimizers?|keys?|second)")
COUNTED = r"(?:lines?|records?|results?|kernels?|elements?|moments?|numbers?|bytes?|bits?|values?|words?|entry|entries|rows?|files?)"

# A space stands for any white space, line breaks included. Capital letters do not matter.
BANNED = (
    (rf"(?:one|two|three|once) an? {UNIT}", "write «per», as in «one per tensor»"),
    (rf"(?:an?|one|\d+) {COUNTED} an? {UNIT}", "write «per», as in «one line per step»"),
    (r"who(?:ever)? wants?", "write «to do this, call that»"),
    (r"for those who", "address the reader: «if you …», «to …, call …»"),
    (r"go(?:es|ing)? on|went on", "write «resume» or «continue»"),
    (r"(?:what|is|are|was|were) beyond", "write «values outside the range», or «above» and the limit"),
    (r"rests", "write «leftover files», or name what remains"),
    (r"left in peace", "write «not touched»"),
    (r"bit by bit", "write «bit for bit» or «bit-identical»"),
    (r"shall", "write «must», «should» or «will»"),
    (r"(?:for|after|been|every|of) so many", "write «this many», or name the number"),
    (r"what there is", "name the things"),
    (r"as ever", "write «as always», or name the rule"),
    (r"anew", "write «again»"),
    (r"hears? of", "write «receives» or «is called for»"),
    (r"verdicts?|ballots?|evidence|judg(?:e[sd]?|ing|e?ments?)|vot(?:es?|ed|ing)",
     "write «flags» (what was found), «decision» or «record»"),
    (r"(?:an?|any|the|no|each|every|this|these|its|their) findings?", "write «flag», or name what was found"),
    (r"refusals?", "write «error», or say what is refused"),
    (r"drafts?", "write «open record»"),
    (r"(?-i:[Pp]eers?)", "write «framework», or name the other rank or process"),
)
RULES = tuple((re.compile(rf"\b(?:{pattern})\b".replace(" ", r"\s+"), re.I), remedy) for pattern, remedy in BANNED)

# Names of version 0.1. Pages must not teach them.
OLD_NAME = re.compile(r"\b(?:scaled_by_caller|current_scale|policy_named|name_of|size_of|kernels_submitted|largest_of|step_verdict|"
                      r"first_bad|worst_bits|sum_of_magnitudes|reset_findings|skipped_with_others)\b")

# A comment made of these words alone names nothing, so it cannot be understood without the code.
EMPTY_WORDS = frozenset(
    "a all also an and any anything are as at be been both but by did do does done else ever every everything for from had has "
    "have here how if in into is it its itself later neither never no nobody none not nothing now of on one only or other others "
    "rest same so some something such than that the their them then there these they this those to too was were what whatever "
    "when where which who why with".split())

SENTENCE_END = re.compile(r"(?<=[.!?])[\"')*]*\s+(?=[A-Z`\"«*\[x])|\s\|\s|\n\s*\n")


def is_riddle(text):
    words = re.findall(r"\w+", text.lower())
    return bool(words) and all(word in EMPTY_WORDS for word in words) and not re.search(r"[=<>+*/(){}\[\]]", text)


def complaints(root=pathlib.Path()):
    for path in prose_files(root):
        if str(path) in SHOWS_WRONG_ONES:
            continue
        text = (root / path).read_text(encoding="utf-8")
        for passage in passages(path, text):
            for pattern, remedy in RULES:
                for match in pattern.finditer(passage.text):
                    phrase = re.sub(r"\s+", " ", match[0])
                    yield f"{path}:{passage.line + passage.text.count(chr(10), 0, match.start())}: «{phrase}»: {remedy}"
            if passage.is_comment and is_riddle(passage.text):
                riddle = " ".join(passage.text.split())
                yield f"{path}:{passage.line}: «{riddle}»: this comment names nothing; say what it is about, or remove it"
        if path.suffix == ".md" and str(path) not in HISTORY:
            for match in OLD_NAME.finditer(text):
                yield f"{path}:{text.count(chr(10), 0, match.start()) + 1}: «{match[0]}» is a name of version 0.1; write today's name"


def long_sentences(root, chosen):
    for path in prose_files(root):
        if is_read_whole(path) or (chosen and str(path) not in chosen):
            continue
        for passage in passages(path, (root / path).read_text(encoding="utf-8")):
            for sentence in SENTENCE_END.split(passage.text):
                words = [word for word in sentence.split() if re.search(r"\w", word)]
                if len(words) > MAX_WORDS:
                    line = passage.line + passage.text.count("\n", 0, passage.text.find(sentence))
                    yield f"{path}:{line}: {len(words)} words: {re.sub('x{3,}', '`…`', ' '.join(words[:12]))} …"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--long"]:
        print("\n".join(long_sentences(pathlib.Path(), sys.argv[2:])) or f"no sentence has more than {MAX_WORDS} words")
        sys.exit(0)
    found = list(complaints())
    print("\n".join(found) or "no banned phrase was found")
    sys.exit(bool(found))
