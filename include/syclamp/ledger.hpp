// SPDX-License-Identifier: Apache-2.0
/// \file
/// The ledger of a scaler, as people and programs read it.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include <syclamp/export.hpp>
#include <syclamp/step_record.hpp>

namespace SYCLAMP_NAMESPACE {

/// A record with the name of the tensor that overflowed first.
struct ledger_entry {
  step_record record;
  std::string first_nonfinite_name;  ///< empty if all gradients were finite
};

/// Forms of a ledger in text.
enum class ledger_format {
  csv,        ///< a line of column names, then a line a step
  json_lines  ///< an object a line
};

/// Writes entries as lines; `write_header` first, once, for CSV. Numbers are such that FP32 round-trips; Inf and NaN
/// are empty in CSV and null in JSON.
SYCLAMP_API void write_ledger_header(std::ostream& to, ledger_format format);
SYCLAMP_API void write_ledger_entry(std::ostream& to, const ledger_entry& entry, ledger_format format);

/// How many steps `read_ledger` takes if nothing else is said, of all scales together: about 1 GB of memory.
inline constexpr std::size_t max_ledger_steps = std::size_t{1} << 22;

/// Reads what was written, in either format, or a JSON array of such objects. (Inf comes back as NaN.)
/// \throws invalid_argument with the line that cannot be read, or is one too many
SYCLAMP_API std::vector<ledger_entry> read_ledger(std::string_view text, std::size_t max_steps = max_ledger_steps);

}  // namespace SYCLAMP_NAMESPACE
