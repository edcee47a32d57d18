// SPDX-License-Identifier: Apache-2.0
// The columns of a ledger are the fields of a record, in order, then `headroom`, which is computed and not read back,
// then the name of the first bad tensor: last, so that a line that was cut short lacks it, or has lost nothing else.
#include "syclamp/ledger.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <ostream>
#include <type_traits>

#include <fmt/format.h>

#include "state/codec/enum_names.hpp"
#include "state/codec/state_fields.hpp"
#include "support/json_reader.hpp"
#include "syclamp/error.hpp"

namespace SYCLAMP_NAMESPACE {
namespace {

constexpr const char* headroom_column = "headroom";
constexpr const char* name_column = "first_nonfinite_name";
constexpr const char* former_name_column = "first_bad_name";

// --- Writing ---------------------------------------------------------------------------------------------------------

/// The shortest text from which the same number is read; none for Inf and NaN. The sign of a zero needs a point: JSON
/// has no integer -0.
template <typename Real>
std::string text_of_real(Real value) {
  if (!std::isfinite(value)) return "";
  return value == 0 && std::signbit(value) ? "-0.0" : fmt::format("{}", value);
}

template <typename Field>
std::string text_of(const Field& column, const step_record& record) {
  const auto value = record.*column.member;
  using value_type = typename Field::value_type;
  if constexpr (std::is_enum_v<value_type>) {
    return to_string(value);
  } else if constexpr (std::is_floating_point_v<value_type>) {
    return text_of_real(value);
  } else {
    return is_none(column, value) ? "" : fmt::format("{}", value);
  }
}

std::string quoted_for_csv(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) quoted += letter == '"' ? "\"\"" : std::string(1, letter);
  return quoted + '"';
}

/// Replaces bytes that are not UTF-8, which JSON cannot hold.
std::string quoted_for_json(const std::string& text) {
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string csv_line(const ledger_entry& entry) {
  std::string line;
  for_each_field<step_record>([&](const auto& field) { line += text_of(field, entry.record) + ','; });
  return line + text_of_real(entry.record.headroom()) + ',' + quoted_for_csv(entry.first_nonfinite_name) + '\n';
}

std::string json_line(const ledger_entry& entry) {
  std::string line = "{";
  const auto add = [&](const char* name, const std::string& value) {
    line += fmt::format("\"{}\":{},", name, value.empty() ? "null" : value);
  };
  for_each_field<step_record>([&](const auto& field) {
    using value_type = typename std::decay_t<decltype(field)>::value_type;
    const std::string value = text_of(field, entry.record);
    add(field.name, std::is_enum_v<value_type> ? '"' + value + '"' : value);
  });
  add(headroom_column, text_of_real(entry.record.headroom()));
  return fmt::format("{}\"{}\":{}}}\n", line, name_column, quoted_for_json(entry.first_nonfinite_name));
}

// --- Reading: cells of either format ---------------------------------------------------------------------------------

struct cell {
  enum kind_type {
    absent,   ///< there is no such column
    plain,    ///< of CSV: a number or a text
    null,     ///< of JSON, like all that follow
    number,   ///< as it was written
    text,     ///< without its quotes
    unusable  ///< true, false, an array or an object
  };

  kind_type kind = absent;
  std::string value;
  const char* column = "";  ///< its name in the file

  bool is_empty() const { return kind == null || (kind == plain && value.empty()); }
  bool may_be_number() const { return kind == plain || kind == number; }
  bool may_be_text() const { return kind == plain || kind == text; }
};

/// The cells of a step: one for each field of a record, then the name.
constexpr std::size_t name_place = field_count<step_record>;
using cells = std::array<cell, name_place + 1>;

constexpr std::size_t no_place = std::numeric_limits<std::size_t>::max();

/// Where the values of a column go, and what the file calls it.
struct column {
  std::size_t place = no_place;
  const char* name = "";
};

/// A ledger has no version, so former names are always accepted.
column find_column(std::string_view name) {
  column found;
  for (const char* known : {name_column, former_name_column})
    if (name == known) found = {name_place, known};
  std::size_t place = 0;
  for_each_field<step_record>([&](const auto& field) {
    for (const char* known : {field.name, field.former_name})
      if (known != nullptr && name == known) found = {place, known};
    ++place;
  });
  return found;
}

[[noreturn]] void refuse(std::size_t line, std::string_view why) {
  throw invalid_argument(fmt::format("ledger, line {}: {}", line, why));
}

[[noreturn]] void refuse_value(std::size_t line, const cell& it, std::string_view must) {
  const std::string value = it.kind == cell::unusable ? "neither a number nor a text"
                            : it.is_empty()           ? "empty"
                                                      : shown(it.value);
  refuse(line, fmt::format("{} is {}; it must be {}", it.column, value, must));
}

[[noreturn]] void refuse_missing(std::size_t line, const char* column) {
  refuse(line, fmt::format("the field \"{}\" is missing; the file is incomplete or not a ledger of syclamp", column));
}

/// Reports a column that appears twice, also under its former name.
[[noreturn]] void refuse_twice(std::size_t line, std::string_view first, std::string_view second) {
  if (first == second) refuse(line, fmt::format("the field {} appears twice; remove one of them", first));
  refuse(line, fmt::format("{} and {} are the same field; remove one of them", first, second));
}

/// A file may have any length, but the number of steps is limited.
void need_room(const std::vector<ledger_entry>& entries, std::size_t line, std::size_t max_steps) {
  if (entries.size() >= max_steps)
    refuse(line, fmt::format("the ledger has more than {} steps, which is the limit; split it into several files",
                             max_steps));
}

template <typename Number>
bool parse(const std::string& text, Number& to) {
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, to);
  return problem == std::errc{} && stop == end;
}

template <typename Field>
void read_cell(const Field& column, const cell& it, std::size_t line, step_record& record) {
  using value_type = typename Field::value_type;
  value_type& to = record.*column.member;
  if (it.kind == cell::absent) {
    if (Field::kind == field_kind::essential && column.since == 1) refuse_missing(line, column.name);
    column.set_default(record);
  } else if constexpr (std::is_enum_v<value_type>) {
    const auto value = it.may_be_text() ? value_named<value_type>(it.value) : std::nullopt;
    if (!value) refuse_value(line, it, "one of " + names_of<value_type>());
    to = *value;
  } else if constexpr (std::is_floating_point_v<value_type>) {
    if (it.is_empty()) {
      to = std::numeric_limits<value_type>::quiet_NaN();  // it may have been Inf: see `flags`
    } else if (!it.may_be_number() || !parse(it.value, to)) {
      refuse_value(line, it, "a number in the range of FP32, or empty");
    }
  } else if (it.is_empty() ? !set_none(column, to) : !it.may_be_number() || !parse(it.value, to)) {
    refuse_value(line, it, fmt::format("an integer from 0 to {}", std::numeric_limits<value_type>::max()));
  }
}

ledger_entry entry_of(const cells& all, std::size_t line) {
  ledger_entry entry;
  std::size_t place = 0;
  for_each_field<step_record>([&](const auto& field) { read_cell(field, all[place++], line, entry.record); });
  const cell& name = all[name_place];
  if (name.kind == cell::absent || name.is_empty()) return entry;
  if (!name.may_be_text()) refuse_value(line, name, "a text");
  entry.first_nonfinite_name = name.value;
  return entry;
}

// --- Reading CSV -----------------------------------------------------------------------------------------------------

class csv_reader {
 public:
  explicit csv_reader(std::string_view text) : text_(text) {}

  /// The number of the line where the last row began, from 1.
  std::size_t line() const { return line_; }

  /// The next row that is not empty; false at the end.
  bool next(std::vector<std::string>& row) {
    row.clear();
    while (at_ < text_.size() && ends_line()) end_line();
    line_ = next_line_;
    if (at_ == text_.size()) return false;
    row.push_back(field());
    while (at_ < text_.size() && text_[at_] == ',') {
      ++at_;
      row.push_back(field());
    }
    if (at_ < text_.size()) end_line();
    return true;
  }

 private:
  bool ends_line() const { return text_[at_] == '\n' || text_.substr(at_, 2) == "\r\n"; }

  void end_line() {
    at_ += text_[at_] == '\r' ? 2 : 1;
    ++next_line_;
  }

  std::string field() { return at_ < text_.size() && text_[at_] == '"' ? quoted_field() : plain_field(); }

  std::string plain_field() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != ',' && !ends_line()) {
      if (text_[at_] == '"' || text_[at_] == '\r')
        refuse(next_line_, "there is a quote or a line break in a field without quotes; put the field in quotes");
      ++at_;
    }
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::string quoted_field() {
    std::string value;
    const std::size_t begin = next_line_;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\n') ++next_line_;
      if (text_[at_] != '"') {
        value += text_[at_];
      } else if (text_.substr(at_, 2) == "\"\"") {
        value += text_[at_++];
      } else {
        ++at_;
        if (at_ < text_.size() && text_[at_] != ',' && !ends_line())
          refuse(next_line_, "there is text after a closing quote; put a comma between fields");
        return value;
      }
    }
    refuse(begin, "a quote is not closed; the file may be truncated");
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1, next_line_ = 1;
};

/// Where each column of the file goes.
std::vector<column> columns_of(const std::vector<std::string>& names, std::size_t line) {
  std::vector<column> columns;
  std::array<const char*, name_place + 1> known{};
  for (const std::string& name : names) {
    const column found = find_column(name);
    columns.push_back(found);
    if (found.place == no_place) continue;
    if (known[found.place] != nullptr) refuse_twice(line, known[found.place], found.name);
    known[found.place] = found.name;
  }
  std::size_t place = 0;
  for_each_field<step_record>([&](const auto& field) {
    if (known[place++] == nullptr && field.kind == field_kind::essential && field.since == 1)
      refuse_missing(line, field.name);
  });
  return columns;
}

std::vector<ledger_entry> read_csv(std::string_view text, std::size_t max_steps) {
  csv_reader reader(text);
  std::vector<std::string> row;
  std::vector<ledger_entry> entries;
  if (!reader.next(row)) return entries;
  const std::vector<column> columns = columns_of(row, reader.line());
  while (reader.next(row)) {
    if (row.size() != columns.size())
      refuse(reader.line(), fmt::format("there are {} columns, but the first line names {}; the file may be truncated",
                                        row.size(), columns.size()));
    need_room(entries, reader.line(), max_steps);
    cells all;
    for (std::size_t i = 0; i < row.size(); ++i)
      if (columns[i].place != no_place) all[columns[i].place] = {cell::plain, std::move(row[i]), columns[i].name};
    entries.push_back(entry_of(all, reader.line()));
  }
  return entries;
}

// --- Reading JSON ----------------------------------------------------------------------------------------------------

cell::kind_type kind_of(member_kind kind) {
  switch (kind) {
    case member_kind::null: return cell::null;
    case member_kind::number: return cell::number;
    case member_kind::text: return cell::text;
    default: return cell::unusable;
  }
}

std::vector<ledger_entry> read_json_objects(std::string_view text, std::size_t max_steps) {
  std::vector<ledger_entry> entries;
  cells row;
  std::size_t row_line = 0;
  const auto begin = [&](std::size_t line) {
    need_room(entries, line, max_steps);
    row = {};
    row_line = line;
  };
  const auto add = [&](const std::string& key, member_kind kind, std::string value) {
    const column found = find_column(key);
    if (found.place == no_place) return;
    if (row[found.place].kind != cell::absent) refuse_twice(row_line, row[found.place].column, found.name);
    row[found.place] = {kind_of(kind), std::move(value), found.name};
  };
  read_objects(text, "ledger", {begin, add, [&] { entries.push_back(entry_of(row, row_line)); }});
  return entries;
}

}  // namespace

void write_ledger_header(std::ostream& to, ledger_format format) {
  if (format != ledger_format::csv) return;
  std::string line;
  for_each_field<step_record>([&](const auto& field) { line += std::string(field.name) + ','; });
  to << line + headroom_column + ',' + name_column + '\n';
}

void write_ledger_entry(std::ostream& to, const ledger_entry& entry, ledger_format format) {
  to << (format == ledger_format::csv ? csv_line(entry) : json_line(entry));
}

std::vector<ledger_entry> read_ledger(std::string_view text, std::size_t max_steps) {
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";  // spreadsheets write one
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos) return {};
  return text[first] == '{' || text[first] == '[' ? read_json_objects(text, max_steps) : read_csv(text, max_steps);
}

}  // namespace SYCLAMP_NAMESPACE
