# SPDX-License-Identifier: Apache-2.0
"""The check of prose must object to each of these, and to none of those that are right."""
import pathlib
import sys

from planted import check
from prose import BANNED, RULES, complaints
from prose_text import passages

WRONG = {
    # One for each phrase, in the order of BANNED.
    "docs/phrase0.md": "The records, one a tensor.",
    "docs/phrase1.md": "A file with a line\na step.",
    "docs/phrase2.md": "Who wants more calls `step`.",
    "docs/phrase3.md": "For those who train by hand.",
    "docs/phrase4.md": "Training goes on from the file.",
    "docs/phrase5.md": "What is beyond the range becomes Inf.",
    "docs/phrase6.md": "Rests of killed processes.",
    "docs/phrase7.md": "Files of others are left in peace.",
    "docs/phrase8.md": "The same weights, bit by bit.",
    "docs/phrase9.md": "The scale shall grow.",
    "docs/phrase10.md": "It warms up for so many steps.",
    "docs/phrase11.md": "The run ends with what there is.",
    "docs/phrase12.md": "It tests every profile, as ever.",
    "docs/phrase13.md": "The file is written anew.",
    "docs/phrase14.md": "The handler hears of the step.",
    "docs/phrase15.md": "The device gives its verdict.",
    "docs/phrase16.md": "Any finding means skip.",
    "docs/phrase17.md": "A refusal changes nothing.",
    "docs/phrase18.md": "The draft of a record.",
    "docs/phrase19.md": "Other peers do the same.",
    # Every place that is read.
    "README.md": "| file | goes on |",
    "docs/list.md": "- first\n- a run that goes\n  on",
    "docs/name.md": "Call `scaled_by_caller`.",
    "include/a.hpp": "int a;  ///< one a tensor",
    "include/b.hpp": "/* one\n * a tensor */",
    "src/a.cpp": "// The run\n// goes on.\nint x;",
    "src/b.cpp": 'throw error("the run " \n "goes on");',
    "src/c.cpp": 'const char* text = R"(the run goes on)";',
    "src/d.cpp": "constexpr int million = 1'000'000;  // one a tensor",
    "src/e.cpp": "const char quote = '\"';  // one a tensor",
    "src/f.cpp": "/// Anything.",
    "src/g.cpp": "int x;  // Where nothing ever is.",
    "src/operations.def": "// one a tensor",
    "tests/a.py": '"""The run\ngoes on."""',
    "tests/b.py": "# The run\n# goes on.",
    "tests/c.py": 'print(f"the run {name} goes on")',
    "run": "say 'the run goes on'",
    "setup/a.sh": "# goes on",
    "cmake/a.cmake": 'message(STATUS "the run goes on")',
}
RIGHT = {
    "docs/right.md": "One record per tensor. The sea lies beyond the hills. `goes on` is code.\n\n    goes on\n\n```\ngoes on\n```\nText.",
    "docs/page.md": "To count them, call `inspect`. Training resumes. [A link](https://a.org/goes-on) and a [second](verdict.md).",
    "docs/verdict.md": "The rest of the list is read, and a step begins.",
    "CHANGELOG.md": "- `step_verdict` became `step_decision`.",
    "docs/checkpoints.md": "In version 3 `first_bad` got another name.",
    "src/right.cpp": 'int verdict = judge(peers);  // one record per tensor\nauto a = "findings", b = "a is one"; // i < n\n',
    "src/right.hpp": "}  // namespace\n// Inf and NaN\n// = a\nint x;",
    "tests/right.py": "verdict = goes(on)\n",
    "build/x.md": "goes on",
    ".syclamp/x.md": "goes on",
}

unused = [pattern for number, (pattern, _) in enumerate(BANNED) if not RULES[number][0].search(WRONG[f"docs/phrase{number}.md"])]
if unused:
    sys.exit(f"no fault is planted for {unused}")

# The line that is reported is the line of the phrase.
placed = {"a.md": "# Title\n\nText\nand text.\n\n- item", "a.cpp": "int x;\n// one\n//\n// two\n", "a.py": "x = 1\n# one\n# two\n"}
lines = {name: [passage.line for passage in passages(pathlib.Path(name), text)] for name, text in placed.items()}
if lines != {"a.md": [1, 3, 6], "a.cpp": [2, 4], "a.py": [2]}:
    sys.exit(f"passages begin at other lines than they should: {lines}")

check(complaints, WRONG, RIGHT)
