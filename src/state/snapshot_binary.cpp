// SPDX-License-Identifier: Apache-2.0
#include "state/snapshot_binary.hpp"

#include <fmt/format.h>

#include "scaler/snapshot_check.hpp"
#include "state/codec/little_endian.hpp"
#include "state/codec/state_codec.hpp"
#include "state/snapshot_document.hpp"
#include "support/checksum.hpp"

namespace SYCLAMP_NAMESPACE {
namespace {

constexpr std::string_view magic = "\x89syclamp";  // no text begins like this

[[noreturn]] void refuse(std::string_view why) { state_codec::refuse(in_snapshot("it"), why); }

/// Takes an integer from the front of `from`.
template <typename Integer>
Integer take_integer(std::string_view& from) {
  if (from.size() < sizeof(Integer)) refuse("is truncated; use another copy");
  const auto value = integer_at<Integer>(&from.front());
  from.remove_prefix(sizeof value);
  return value;
}

}  // namespace

bool is_binary_snapshot(std::string_view bytes) { return bytes.starts_with(magic); }

std::string to_binary(const scaler_snapshot& snapshot) {
  check(snapshot);
  json document = encode_head(snapshot);
  json& ledger = document["ledger"] = json::array();
  for (const ledger_entry& entry : snapshot.ledger) ledger.push_back(encode_entry(entry, name_encoding::bytes));
  const std::string payload = to_cbor(document);
  std::string bytes(magic);
  append_integer(bytes, newest_version);
  append_integer(bytes, std::uint64_t{payload.size()});
  bytes += payload;
  append_integer(bytes, checksum(bytes));
  return bytes;
}

scaler_snapshot snapshot_from_binary(std::string_view bytes) {
  if (!is_binary_snapshot(bytes)) refuse("is not a binary snapshot: its first bytes are wrong");
  std::string_view rest = bytes.substr(magic.size());
  state_codec::check_version(take_integer<std::uint32_t>(rest), in_snapshot("version"));
  const auto length = take_integer<std::uint64_t>(rest);
  if (rest.size() < sizeof(std::uint64_t) || length != rest.size() - sizeof(std::uint64_t))
    refuse(fmt::format(
        "should have {} bytes of content, but has another length; it is truncated or damaged, so use another copy",
        length));
  const std::string_view payload = rest.substr(0, length);
  rest.remove_prefix(length);
  if (take_integer<std::uint64_t>(rest) != checksum(bytes.substr(0, bytes.size() - sizeof(std::uint64_t))))
    refuse("is damaged: its checksum is wrong; use another copy");
  return decode_document(payload, read_cbor);
}

}  // namespace SYCLAMP_NAMESPACE
