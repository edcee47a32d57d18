// SPDX-License-Identifier: Apache-2.0
#include "syclamp/scaler_snapshot.hpp"

#include <fmt/format.h>

#include "scaler/scale_numbers.hpp"
#include "scaler/snapshot_check.hpp"
#include "state/snapshot_binary.hpp"
#include "state/snapshot_document.hpp"
#include "support/json_reader.hpp"
#include "support/whole_file.hpp"
#include "syclamp/error.hpp"

namespace SYCLAMP_NAMESPACE {
namespace {

constexpr std::size_t longest_file = std::size_t{1} << 30;

}  // namespace

scaler_snapshot scaler_snapshot::fresh(const scaling_policy& policy, std::size_t scales) {
  policy.validate();
  if (scales == 0 || scales > max_elements)
    throw invalid_argument(
        fmt::format("scaler_snapshot: the number of scales must be from 1 to {}, but it is {}", max_elements, scales));
  scale_number number = to_scale_number(policy.mode == scaling_mode::disabled ? 1.0 : policy.init_scale);
  if (policy.replay.arithmetic != scale_arithmetic::float64) number = kernels::rounded_to_float32(number);
  scale_state state;
  state.exact = state.next = number;
  state.scale = kernels::to_float(number);
  return {policy, std::vector<scale_state>(scales, state), {}};
}

std::string to_json(const scaler_snapshot& snapshot) {
  check(snapshot);
  std::string text = encode_head(snapshot).dump(2);
  text.resize(text.rfind("\n}"));
  text += ",\n  \"ledger\": [";
  const char* separator = "\n    ";
  for (const ledger_entry& entry : snapshot.ledger) {  // one line per entry, so that a long ledger stays readable
    // Names may be any bytes; those that are no UTF-8 cannot be in JSON.
    text += separator + encode_entry(entry, name_encoding::text).dump(-1, ' ', false, json::error_handler_t::replace);
    separator = ",\n    ";
  }
  return text + (snapshot.ledger.empty() ? "]\n}\n" : "\n  ]\n}\n");
}

scaler_snapshot snapshot_from_json(std::string_view text) { return decode_document(text, read_json); }

void save_snapshot(const scaler_snapshot& snapshot, const std::filesystem::path& file) {
  replace_file(file, to_json(snapshot));
}

scaler_snapshot load_snapshot(const std::filesystem::path& file) {
  const std::string bytes = read_whole_file(file, longest_file);
  try {
    // Versions 1 and 2 could save a snapshot in binary, too.
    return is_binary_snapshot(bytes) ? snapshot_from_binary(bytes) : snapshot_from_json(bytes);
  } catch (const invalid_argument& problem) {
    throw file_error(fmt::format("cannot load {}: {}", file.string(), problem.what()));
  }
}

}  // namespace SYCLAMP_NAMESPACE
