// SPDX-License-Identifier: Apache-2.0
#include "tools/emulator/parser.hpp"

#include <algorithm>
#include <cctype>

#include "tools/emulator/fault.hpp"

namespace emulator {
namespace {

bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

/// Comments become blanks, so that lines keep their numbers.
std::string without_comments(std::string_view text) {
  std::string result(text);
  for (std::size_t i = 0; i + 1 < result.size(); ++i)
    if (result[i] == '/' && result[i + 1] == '/')
      for (; i < result.size() && result[i] != '\n'; ++i) result[i] = ' ';
  return result;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
    const auto end = std::find_if(text.begin(), text.end(), is_blank);
    words.emplace_back(text.begin(), end);
    text.remove_prefix(static_cast<std::size_t>(end - text.begin()));
  }
  return words;
}

/// `.param .align 16 .b8 name[16]`, `.param .u64 .ptr .global .align 8 name`, `.shared .align 32 .b8 name[64]`
variable declaration(std::string_view text) {
  const std::vector<std::string> words = words_of(text);
  variable result;
  std::uint32_t element = 0;
  bool is_pointer = false;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == ".ptr") is_pointer = true;  // the alignment is that of what it points to
    if (words[i] == ".align" && !is_pointer) result.alignment = static_cast<std::uint32_t>(std::stoul(words[i + 1]));
    if (element == 0 && words[i].size() > 2 && std::isdigit(static_cast<unsigned char>(words[i].back())) != 0 &&
        words[i][0] == '.')
      element = bytes_of_type(std::string_view(words[i]).substr(1));
  }
  result.name = words.back();
  std::uint32_t count = 1;
  if (const auto bracket = result.name.find('['); bracket != result.name.npos) {
    count = static_cast<std::uint32_t>(std::stoul(result.name.substr(bracket + 1)));
    result.name.erase(bracket);
  }
  result.bytes = element * count;
  result.alignment = std::max(result.alignment, element);
  return result;
}

class reader {
 public:
  explicit reader(std::string_view text) : text_(without_comments(text)) {}

  module read() {
    for (skip_blanks(); at_ < text_.size(); skip_blanks()) read_directive();
    return std::move(module_);
  }

 private:
  [[noreturn]] void stop(const std::string& problem) const {
    throw unsupported("line " + std::to_string(line_) + ": " + problem);
  }

  void skip_blanks() {
    for (; at_ < text_.size() && is_blank(text_[at_]); ++at_)
      if (text_[at_] == '\n') ++line_;
  }

  /// Everything up to one of `ends`, which is not consumed.
  std::string_view until(std::string_view ends) {
    const std::size_t end = text_.find_first_of(ends, at_);
    if (end == text_.npos) stop("the text ends in the middle of a statement");
    const std::string_view result = std::string_view(text_).substr(at_, end - at_);
    line_ += static_cast<int>(std::ranges::count(result, '\n'));
    at_ = end;
    return trimmed(result);
  }

  void read_directive() {
    const std::string_view rest = std::string_view(text_).substr(at_);
    for (const std::string_view ignored : {".version", ".target", ".address_size"})
      if (rest.starts_with(ignored)) {
        until("\n");
        return;
      }
    const std::string_view head = until("({;");
    if (head.find(".entry") != head.npos || head.find(".func") != head.npos) {
      read_function(head);
    } else if (head.find(".shared") != head.npos) {
      module_.shared.push_back(declaration(head));
      ++at_;
    } else {
      stop("cannot read \"" + std::string(head) + "\"");
    }
  }

  std::vector<variable> variables_in_parentheses() {
    ++at_;
    std::vector<variable> result;
    for (const std::string& text : split_list(until(")"))) result.push_back(declaration(text));
    ++at_;
    return result;
  }

  void read_function(std::string_view head) {
    function made;
    made.is_entry = head.find(".entry") != head.npos;
    if (head.ends_with(".func") && text_[at_] == '(') {
      made.results = variables_in_parentheses();
      head = until("({;");
    }
    made.name = words_of(head).back();
    if (text_[at_] == '(') made.parameters = variables_in_parentheses();
    until("{;");                      // directives such as .maxntid
    if (text_[at_++] == ';') return;  // declared only
    read_body(made);
    module_.functions[made.name] = std::move(made);
  }

  void read_body(function& into) {
    for (int depth = 1; depth > 0;) {
      skip_blanks();
      if (at_ >= text_.size()) stop("the function " + into.name + " has no end");
      if (text_[at_] == '{' || text_[at_] == '}') {
        depth += text_[at_++] == '{' ? 1 : -1;
        continue;
      }
      const int line = line_;
      const std::size_t colon =
          text_.find_first_not_of("$_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", at_);
      if (colon != text_.npos && text_[colon] == ':' && text_.compare(colon, 2, "::") != 0) {
        statement label;
        label.what = statement::kind::label;
        label.line = line;
        label.name = text_.substr(at_, colon - at_);
        at_ = colon + 1;
        skip_blanks();
        if (text_.compare(at_, 14, ".branchtargets") == 0) {
          at_ += 14;
          label.what = statement::kind::branch_targets;
          label.operands = split_list(until(";"));
          ++at_;
        }
        into.body.push_back(label);
        continue;
      }
      const std::string_view text = until(";");
      ++at_;
      if (!text.empty()) read_statement(into, text, line);
    }
  }

  void read_statement(function& into, std::string_view text, int line) {
    statement made;
    made.line = line;
    if (const std::string first = words_of(text)[0]; first == ".pragma" || first == ".loc") return;
    if (text.front() == '.') {
      if (text.starts_with(".reg")) {
        made.what = statement::kind::registers;
        made.name = words_of(text).back();  // %r<12> or %SP
      } else {
        made.what = text.starts_with(".param")    ? statement::kind::parameter
                    : text.starts_with(".shared") ? statement::kind::shared
                                                  : statement::kind::local;
        if (made.what == statement::kind::local && !text.starts_with(".local"))
          stop("cannot read \"" + std::string(text) + "\"");
        made.declared = declaration(text);
      }
      into.body.push_back(made);
      return;
    }
    if (text.front() == '@') {
      made.is_guard_negated = text[1] == '!';
      const auto end = std::find_if(text.begin(), text.end(), is_blank);
      made.guard.assign(text.begin() + (made.is_guard_negated ? 2 : 1), end);
      text = trimmed(text.substr(static_cast<std::size_t>(end - text.begin())));
    }
    const auto end = std::find_if(text.begin(), text.end(), is_blank);
    made.name.assign(text.begin(), end);
    made.operands = split_list(text.substr(static_cast<std::size_t>(end - text.begin())));
    into.body.push_back(made);
  }

  std::string text_;
  std::size_t at_ = 0;
  int line_ = 1;
  module module_;
};

}  // namespace

module parse(std::string_view text) { return reader(text).read(); }

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts;
  int depth = 0;
  std::string part;
  const auto finish = [&] {
    if (!trimmed(part).empty()) parts.emplace_back(trimmed(part));
    part.clear();
  };
  for (const char c : text) {
    if (c == '{' || c == '[' || c == '(') ++depth;
    if (c == '}' || c == ']' || c == ')') --depth;
    if (c == ',' && depth == 0)
      finish();
    else
      part += c;
  }
  finish();
  return parts;
}

std::uint32_t bytes_of_type(std::string_view type) {
  if (type == "pred") return 1;
  if (type == "bf16") return 2;
  for (const auto& [bits, bytes] : {std::pair{"8", 1u}, {"16", 2u}, {"32", 4u}, {"64", 8u}})
    if (type.size() > 1 && type.substr(1) == bits) return bytes;
  throw unsupported("there is no type \"" + std::string(type) + "\"");
}

}  // namespace emulator
