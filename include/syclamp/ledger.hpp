// SPDX-License-Identifier: Apache-2.0
/// \file
/// The ledger of a scaler as text.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include <syclamp/export.hpp>
#include <syclamp/step_record.hpp>

namespace SYCLAMP_NAMESPACE {

/// A record of a step, with the name of the first tensor that overflowed.
struct ledger_entry {
  step_record record;                ///< the record
  std::string first_nonfinite_name;  ///< name of the first tensor with an Inf or NaN; empty if all were finite
};

/// Text formats of a ledger.
enum class ledger_format {
  csv,        ///< a line of column names, then one line per step
  json_lines  ///< one JSON object per line
};

/// Writes the line of column names for CSV, and nothing for JSON lines. Call it once, before the first entry.
SYCLAMP_API void write_ledger_header(std::ostream& to, ledger_format format);
/// Writes an entry as one line. FP32 numbers round-trip. Inf and NaN are empty in CSV and null in JSON.
SYCLAMP_API void write_ledger_entry(std::ostream& to, const ledger_entry& entry, ledger_format format);

/// Default limit of `read_ledger`: records of all scales together. They take about 1 GB of memory.
inline constexpr std::size_t max_ledger_steps = std::size_t{1} << 22;

/// Reads a ledger in either format, or a JSON array of such objects. Inf is read as NaN.
/// \param text       the whole text
/// \param max_steps  largest number of records
/// \return the entries, in the order of the text
/// \throws invalid_argument that names the line, if it cannot be read or exceeds `max_steps`
SYCLAMP_API std::vector<ledger_entry> read_ledger(std::string_view text, std::size_t max_steps = max_ledger_steps);

}  // namespace SYCLAMP_NAMESPACE
