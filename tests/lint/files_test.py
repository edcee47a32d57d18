# SPDX-License-Identifier: Apache-2.0
"""The check of files must object to each of these, and to none of those that are right."""
from files import complaints
from planted import check

WRONG = {
    "apps/training/a.cpp": "const json all = json::from_cbor(notes);",
    "src/a.cpp": "auto x = nlohmann::ordered_json::parse(text);",
    "src/b.cpp": "nlohmann::json::sax_parse(object, &collector);",
    "src/c.cpp": "using document = nlohmann::json; auto x = document::from_msgpack(bytes);",
    "src/d.cpp": "auto x = nlohmann::basic_json<>::\n    parse(text);",
    "src/e.cpp": "if (json::accept(text)) return;",
    "apps/a.cpp": "std::ofstream stream(file);",
    "apps/b.cpp": 'auto* file = std::fopen(name, "w");',
    "apps/c.cpp": 'auto x = R"({"a": 1})"_json;',
    "src/f.cpp": "const int file = ::open(name, O_WRONLY | O_CREAT);",
    "src/support/path_walk.cpp": "auto x = json::from_bson(bytes);",
    "include/syclamp/a.hpp": "#include <vector>\nstd::fstream both(name);",
}
RIGHT = {
    "src/support/json_reader.cpp": "json::sax_parse(bytes, &builder, form);",
    "src/support/temporary_file.cpp": "file_ = open_at(folder_, name, O_WRONLY | O_CREAT | O_EXCL);",
    "apps/d.cpp": "program.parse(argc, argv);  // not json::parse(text)",
    "apps/e.cpp": "#include <fstream>\nstd::ifstream file(name);",
    "src/g.cpp": "std::from_chars(begin, end, value); parse(cell, to); from_json(from, to);",
    "tests/unit/a.cpp": "auto x = json::parse(ours);",
}

check(complaints, WRONG, RIGHT)
