# SPDX-License-Identifier: Apache-2.0
"""What the API reference reads from headers, and how it writes it."""
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/site"))
import github_markdown  # noqa: E402
import headers  # noqa: E402
import reference  # noqa: E402

SAMPLE = '''\
/// \\file
/// A sample.
#pragma once
#include <vector>

namespace SYCLAMP_NAMESPACE::part {

struct forward;

/// Kinds.
enum class kind : int {
  first,       ///< one
  second = 2,  ///< two,
               ///< in two lines
};

inline constexpr std::size_t limit = std::size_t{1} << 20;  ///< a limit

/// Options.
struct options {
  int a = 0, b = 0;
  std::function<void(int, float)> call = {};  ///< a function
};

/// A class.
template <typename T>
class SYCLAMP_API thing : public base<T> {
  int hidden_;

 public:
  /// Makes one.
  explicit thing(const options& options = {}) : hidden_(options.a) { f("}"); }
  thing(const thing&) = default;
  thing& operator=(thing&& other) noexcept { return *this; }
  ~thing();

  // --- Reading ------------------------------------------------------------------
  // May wait.

  int get() const { return hidden_; }  ///< the value
  T operator[](std::size_t index) const;
  explicit operator bool() const;
  bool operator==(const thing& other) const = default;

  // For the library's own operations.
  void internal();

 private:
  void hidden();
};

/// A function.
/// \\throws invalid_argument if it
///         must
template <typename T>
  requires std::integral<T>
SYCLAMP_API sycl::event run(T value, const options& options = {});

}  // namespace SYCLAMP_NAMESPACE::part
'''


def read(text):
    reader = headers.Reader("sample.hpp", text)
    return reader.declarations("", "namespace"), reader


class Reading(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.declarations, cls.reader = read(SAMPLE)
        cls.named = {each.name: each for each in cls.declarations}

    def test_finds_every_declaration(self):
        self.assertEqual([(each.kind, each.qualified) for each in self.declarations], [
            ("enum", "part::kind"), ("variable", "part::limit"), ("struct", "part::options"), ("class", "part::thing"),
            ("function", "part::run")])
        self.assertEqual(self.reader.file_comment, "A sample.")

    def test_members_are_those_that_users_call(self):
        self.assertEqual([each.name for each in self.named["thing"].members],
                         ["thing", "get", "operator[]", "operator bool", "operator=="])
        self.assertEqual(self.named["thing"].members[1].section, ("Reading", "May wait."))
        self.assertEqual([each.names for each in self.named["options"].members], [["a", "b"], ["call"]])

    def test_comments_stay_with_their_declaration(self):
        self.assertEqual([each.comment for each in self.named["kind"].members], ["one", "two,\nin two lines"])
        self.assertEqual(self.named["limit"].comment, "a limit")
        self.assertEqual(self.named["thing"].members[1].comment, "the value")

    def test_signatures_have_no_body(self):
        self.assertEqual(self.named["thing"].signature, "template <typename T>\nclass thing : public base<T>")
        self.assertEqual(self.named["thing"].members[0].signature, "explicit thing(const options& options = {})")
        self.assertEqual(self.named["limit"].signature, "inline constexpr std::size_t limit = std::size_t{1} << 20")

    def test_refuses_to_lose_a_comment(self):
        for text in ("/// Lost.\n", "/// Lost.\n\n/// Also.\nint a;", "struct a {\n  int b;\n  /// Lost.\n};",
                     "/// Lost.\nstruct forward;"):
            with self.subTest(text=text), self.assertRaises(headers.HeaderError):
                read(text)


class Writing(unittest.TestCase):
    def test_long_signatures_have_one_parameter_per_line(self):
        self.assertEqual(reference.layout("int f(int a,\n      int b)"), "int f(int a, int b)")
        self.assertEqual(reference.layout(f"int f(const std::map<int, int>& a,\n      int {'b' * 60} = g(1, 2)) const"),
                         f"int f(\n    const std::map<int, int>& a,\n    int {'b' * 60} = g(1, 2)) const")

    def test_commands_become_a_list(self):
        self.assertEqual(reference.markdown("Does.\n\\param a  the\n  first\n\\return more\n\\throws some_error if not"),
                         "Does.\n\n- `a`: the first\n- **Returns** more\n- **Throws** `some_error` if not")

    def test_code_keeps_its_letters_and_text_is_no_html(self):
        self.assertEqual(reference.markdown("a<b> * `c<d>`\n\n    e<f> * g;"), "a&lt;b> \\* `c<d>`\n\n\n```cpp\ne<f> * g;\n```")

    def test_lists_and_tables_get_a_blank_line(self):
        self.assertEqual(github_markdown.separate_blocks("a:\n- b\n  c\n- d\n\n| e |\n"), "a:\n\n- b\n  c\n- d\n\n| e |\n")
        self.assertEqual(github_markdown.separate_blocks("a\n| b |\n| - |"), "a\n\n| b |\n| - |")
        self.assertEqual(github_markdown.separate_blocks("a:\n  - b\nc"), "a:\n\n  - b\n\nc")
        self.assertEqual(github_markdown.separate_blocks("```\na\n- b\n```"), "```\na\n- b\n```")


if __name__ == "__main__":
    unittest.main()
