// SPDX-License-Identifier: Apache-2.0
#include "support/json_reader.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include <fmt/format.h>

#include "syclamp/error.hpp"

namespace SYCLAMP_NAMESPACE {
namespace {

constexpr std::size_t longest_problem = 200, longest_value = 60;

/// Shortens a text for a message: a file may hold a number of a million digits.
std::string shortened(std::string_view text, std::size_t longest) {
  if (text.size() <= longest) return std::string(text);
  while (longest != 0 && (static_cast<unsigned char>(text[longest]) & 0xc0) == 0x80) --longest;  // whole characters
  return std::string(text.substr(0, longest)) + "…";
}

/// Builds a value from the parser's events, within limits.
class json_builder {
 public:
  json_builder(const std::string& subject, const element_handler& handler) : what_(subject), handler_(handler) {}

  json take() { return std::move(root_); }

  // The parser's events, under its names for them.
  bool null() { return put(nullptr); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(json::number_integer_t value) { return put(value); }
  bool number_unsigned(json::number_unsigned_t value) { return put(value); }
  bool number_float(json::number_float_t value, const std::string&) { return put(value); }
  bool string(std::string& value) { return put(std::move(value)); }
  bool binary(json::binary_t& value) { return put(json::binary(std::move(value))); }
  bool start_object(std::size_t) { return open(json::object()); }
  bool end_object() { return close(); }
  bool start_array(std::size_t) { return open(json::array()); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    container& object = open_.back();
    if (object.value.size() >= max_keys) refuse(fmt::format("an object in it has more than {} keys", max_keys));
    if (object.value.contains(name)) refuse(fmt::format("it has the key {} twice; remove one of them", shown(name)));
    object.key = std::move(name);
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& problem) {
    const std::string_view text = problem.what();  // "[json.exception.…] parse error at …", with what was read last
    const auto bracket = text.find("] ");
    refuse(shortened(bracket == text.npos ? text : text.substr(bracket + 2), longest_problem));
  }

 private:
  struct container {
    json value;
    std::string key;        // of an object: where the next value goes
    std::size_t count = 0;  // of an array: elements so far
    std::size_t before;     // values that were held when it began
  };

  [[noreturn]] void refuse(std::string_view why) const { throw invalid_argument(fmt::format("{}: {}", what_, why)); }

  bool open(json empty) {
    if (open_.size() == deepest_json) refuse(fmt::format("it is nested more than {} deep", deepest_json));
    open_.push_back({std::move(empty), {}, 0, values_});
    return true;
  }

  bool close() {
    container done = std::move(open_.back());
    open_.pop_back();
    if (!done.value.is_object() || !is_handled()) return put(std::move(done.value));
    count_element();
    handler_.take(open_.front().key, open_.front().value, std::move(done.value));
    values_ = done.before;
    return true;
  }

  bool put(json value) {
    if (++values_ > max_values) refuse(fmt::format("it holds more than {} values", max_values));
    if (open_.empty()) {
      root_ = std::move(value);
      return true;
    }
    container& to = open_.back();
    if (to.value.is_object()) {
      to.value.push_back(json::object_t::value_type(std::move(to.key), std::move(value)));
      return true;
    }
    count_element();
    to.value.push_back(std::move(value));
    return true;
  }

  void count_element() {
    if (++open_.back().count > max_elements)
      refuse(fmt::format("an array in it has more than {} elements", max_elements));
  }

  bool is_handled() const {
    return open_.size() == 2 && open_.front().value.is_object() && open_.back().value.is_array() &&
           std::find(handler_.keys.begin(), handler_.keys.end(), open_.front().key) != handler_.keys.end();
  }

  const std::string& what_;
  const element_handler& handler_;
  std::vector<container> open_;
  std::size_t values_ = 0;
  json root_;
};

/// A place in a text, with the number of its line.
struct text_cursor {
  const char* at;
  const char* end;
  std::size_t line = 1;
  bool has_ended = false;  // more was wanted than there is

  bool is_at_end() const { return at == end; }

  void advance() {
    if (*at++ == '\n') ++line;
  }

  void skip_space() {
    while (!is_at_end() && std::string_view(" \t\r\n").find(*at) != std::string_view::npos) advance();
  }
};

/// Lets the parser move a cursor. The parser takes no character after the brace or bracket that ends a value.
class cursor_iterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  explicit cursor_iterator(text_cursor* cursor = nullptr) : cursor_(cursor) {}

  reference operator*() const { return *cursor_->at; }
  cursor_iterator& operator++() {
    cursor_->advance();
    return *this;
  }
  void operator++(int) { cursor_->advance(); }

  /// An iterator without a cursor is the end of the text.
  bool operator==(const cursor_iterator& other) const { return is_at_end() == other.is_at_end(); }

 private:
  bool is_at_end() const {
    if (cursor_ == nullptr) return true;
    cursor_->has_ended = cursor_->is_at_end();
    return cursor_->has_ended;
  }

  text_cursor* cursor_;
};

/// Passes on the members of objects, which are the elements of an array or stand alone.
class object_reader {
 public:
  object_reader(const std::string& subject, const text_cursor& cursor, const object_handler& handler)
      : what_(subject), cursor_(cursor), handler_(handler) {}

  // The parser's events, under its names for them.
  bool null() { return put(member_kind::null, ""); }
  bool boolean(bool) { return put(member_kind::other, ""); }
  bool number_integer(json::number_integer_t value) { return put(member_kind::number, std::to_string(value)); }
  bool number_unsigned(json::number_unsigned_t value) { return put(member_kind::number, std::to_string(value)); }
  bool number_float(json::number_float_t, const std::string& written) { return put(member_kind::number, written); }
  bool string(std::string& value) { return put(member_kind::text, std::move(value)); }
  bool binary(json::binary_t&) { return put(member_kind::other, ""); }

  bool start_object(std::size_t) {
    if (depth_ != 0) return open();
    line_ = cursor_.line;
    keys_ = 0;
    depth_ = 1;
    handler_.begin(line_);
    return true;
  }

  bool end_object() {
    if (--depth_ == 0) handler_.end();
    return true;
  }

  bool start_array(std::size_t) {
    if (depth_ != 0) return open();
    if (is_array_) refuse_stranger();
    is_array_ = true;
    return true;
  }

  bool end_array() {
    if (depth_ != 0) --depth_;
    return true;
  }

  bool key(std::string& name) {
    if (depth_ != 1) return true;
    if (++keys_ > max_keys) refuse(line_, fmt::format("an object in it has more than {} keys", max_keys));
    key_ = std::move(name);
    return true;
  }

  bool parse_error(std::size_t, const std::string& token, const nlohmann::detail::exception&) {
    if (cursor_.has_ended)
      refuse(depth_ == 0 ? cursor_.line : line_,
             fmt::format("the {} is not closed; the file may be truncated", depth_ == 0 ? "array" : "object"));
    if (depth_ == 0) refuse_stranger();
    refuse(line_, "not a JSON object: the parser stops at " + shown(token));
  }

  /// Reports text at a position where an object should begin.
  [[noreturn]] void refuse_stranger() const {
    refuse(cursor_.line, "a JSON object must begin here; put commas between the objects of an array");
  }

  [[noreturn]] void refuse(std::size_t line, std::string_view why) const {
    throw invalid_argument(fmt::format("{}, line {}: {}", what_, line, why));
  }

 private:
  bool put(member_kind kind, std::string value) {
    if (depth_ == 0) refuse_stranger();
    if (depth_ == 1) handler_.member(key_, kind, std::move(value));
    return true;
  }

  bool open() {
    put(member_kind::other, "");
    if (++depth_ > deepest_json) refuse(line_, fmt::format("it is nested more than {} deep", deepest_json));
    return true;
  }

  const std::string& what_;
  const text_cursor& cursor_;
  const object_handler& handler_;
  std::string key_;
  std::size_t line_ = 1;   // where the object began
  std::size_t depth_ = 0;  // 1 among the members of an object
  std::size_t keys_ = 0;
  bool is_array_ = false;
};

json read(std::string_view bytes, const std::string& subject, const element_handler& handler,
          json::input_format_t form) {
  json_builder builder(subject, handler);
  json::sax_parse(bytes, &builder, form);
  return builder.take();
}

/// Visits the heads of all items in order, at any depth. The decoder calls itself for tags and for strings of
/// indefinite length, so a malicious file could overflow the stack. syclamp writes neither, so both are rejected.
void check_cbor(std::string_view bytes, const std::string& subject) {
  constexpr unsigned byte_string = 2, text = 3, tag = 6;
  for (std::size_t at = 0; at < bytes.size();) {
    const auto head = static_cast<unsigned char>(bytes[at++]);
    const unsigned type = head >> 5, extra = head & 31u;
    if (extra > 27 || type == tag)
      throw invalid_argument(fmt::format(
          "{}: byte {} of its CBOR is {:#x}, which syclamp never writes; the file is damaged", subject, at - 1, head));
    const std::size_t argument_size = extra < 24 ? 0 : std::size_t{1} << (extra - 24);
    std::uint64_t argument = extra;
    if (extra >= 24) argument = 0;
    for (std::size_t i = 0; i < argument_size && at < bytes.size(); ++i)
      argument = argument << 8 | static_cast<unsigned char>(bytes[at++]);
    if (type != text && type != byte_string) continue;
    if (argument > bytes.size() - at)
      throw invalid_argument(fmt::format("{}: a string in its CBOR is truncated; the file is damaged", subject));
    at += argument;
  }
}

}  // namespace

json read_json(std::string_view text, const std::string& subject, const element_handler& handler) {
  return read(text, subject, handler, json::input_format_t::json);
}

json read_cbor(std::string_view bytes, const std::string& subject, const element_handler& handler) {
  check_cbor(bytes, subject);
  return read(bytes, subject, handler, json::input_format_t::cbor);
}

void read_objects(std::string_view text, const std::string& subject, const object_handler& handler) {
  text_cursor cursor{text.data(), text.data() + text.size()};
  object_reader reader(subject, cursor, handler);
  cursor.skip_space();
  const bool is_array = !cursor.is_at_end() && *cursor.at == '[';
  while (!cursor.is_at_end()) {
    if (!is_array && *cursor.at != '{') reader.refuse_stranger();
    constexpr bool is_all = false;  // more objects may follow
    json::sax_parse(cursor_iterator(&cursor), cursor_iterator(), &reader, json::input_format_t::json, is_all);
    cursor.skip_space();
    if (is_array && !cursor.is_at_end()) reader.refuse(cursor.line, "text follows the array");
  }
}

std::string to_cbor(const json& document) {
  std::string bytes;
  json::to_cbor(document, nlohmann::detail::output_adapter<char, std::string>(bytes));
  return bytes;
}

std::size_t values_in(const json& document) {
  std::size_t count = 1;
  if (document.is_structured())
    for (const json& value : document) count += values_in(value);
  return count;
}

std::string shown(const json& value) {
  if (value.is_binary()) return "a byte string";
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  const auto dump = [](const json& it) { return it.dump(-1, ' ', true, json::error_handler_t::replace); };
  if (!value.is_string()) return shortened(dump(value), longest_value);
  const auto& text = value.get_ref<const std::string&>();  // cut before it is written out: it may be long
  return text.size() <= longest_value ? dump(value) : dump(json(text.substr(0, longest_value))) + "…";
}

}  // namespace SYCLAMP_NAMESPACE
