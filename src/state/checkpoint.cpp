// SPDX-License-Identifier: Apache-2.0
// A checkpoint: magic (8 bytes), version (4), length of the file (8), length of the head (8), the head in CBOR,
// checksum of all that (8); the optimizers' weights and moments, raw (optimizer_state.hpp); checksum of all that (8).
// Numbers have their lowest byte first. The head is
//   {"format", "notes": bytes, "scaler": null or the bytes of a snapshot (snapshot_binary.hpp), "optimizers": [{…}, …]}
// Version 1 wrote notes and scaler as texts.
#include "syclamp/checkpoint.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "optimizer/optimizer_parts.hpp"
#include "state/codec/little_endian.hpp"
#include "state/codec/state_codec.hpp"
#include "state/optimizer_record.hpp"
#include "state/optimizer_state.hpp"
#include "state/snapshot_binary.hpp"
#include "support/checksum.hpp"
#include "support/whole_file.hpp"
#include "syclamp/error.hpp"
#include "tensors/list_checks.hpp"

namespace SYCLAMP_NAMESPACE {
namespace {

static_assert(std::endian::native == std::endian::little, "weights in files have their lowest byte first");

constexpr const char* format_name = "syclamp.checkpoint";
constexpr std::string_view magic =
    "\x89sckpt\r\n";  // no text begins with these bytes, and a transfer as text would change them
constexpr std::size_t sum_bytes = sizeof(std::uint64_t);
constexpr std::size_t front_bytes = magic.size() + sizeof(std::uint32_t) + 2 * sizeof(std::uint64_t);

/// Long enough for the longest ledger, a million steps of about 500 bytes. A file must really contain these bytes, and
/// reading them takes at most three times as much memory, because `max_values` limits everything that is not a string.
constexpr std::uint64_t longest_head = std::uint64_t{1} << 30;

constexpr const char* itself = "checkpoint: it";

using state_codec::refuse;

void check_parts(const checkpoint_parts& parts) {
  std::set<const fused_optimizer*> known;
  for (const fused_optimizer* optimizer : parts.optimizers) {
    check_given("checkpoint", "an optimizer", optimizer);
    if (!known.insert(optimizer).second)
      throw invalid_argument("checkpoint: the same optimizer is listed twice; pass each optimizer once");
  }
}

// --- Head ------------------------------------------------------------------------------------------------------------

struct head {
  std::string notes;
  std::optional<scaler_snapshot> scaler;
  std::vector<optimizer_record> optimizers;

  std::uint64_t payload_bytes() const {
    std::uint64_t sum = 0;
    for (const optimizer_record& record : optimizers) sum += record.bytes();
    return sum;
  }
};

head head_of(const checkpoint_parts& parts, std::string_view notes) {
  head made{std::string(notes), {}, {}};
  if (parts.scaler != nullptr) made.scaler = parts.scaler->state();
  for (const fused_optimizer* optimizer : parts.optimizers) made.optimizers.push_back(record_of(optimizer->parts()));
  return made;
}

json encode(const head& from) {
  json document = json::object();
  document["format"] = format_name;
  document["notes"] = state_codec::encode_bytes(from.notes);
  document["scaler"] = from.scaler ? state_codec::encode_bytes(to_binary(*from.scaler)) : json();
  json& optimizers = document["optimizers"] = json::array();
  for (const optimizer_record& record : from.optimizers) optimizers.push_back(encode(record));
  if (const std::size_t values = values_in(document); values > max_values)
    throw invalid_argument(fmt::format(
        "checkpoint: its head has {} values, and the limit is {}; use fewer parameter groups, or several checkpoints",
        values, max_values));
  return document;
}

head decode_head(std::string_view bytes, std::uint32_t version) {
  const json document = read_cbor(bytes, "checkpoint");
  const auto member = [&](const char* key) -> const json& { return state_codec::member_of(document, key, itself); };
  if (!document.is_object() || member("format") != format_name)
    refuse(itself, fmt::format("is not a checkpoint: there is no \"format\": \"{}\"", format_name));
  state_codec::refuse_unknown(document, itself, [](const std::string& key) {
    return key == "format" || key == "notes" || key == "scaler" || key == "optimizers";
  });
  head made;
  made.notes = state_codec::bytes_of(member("notes"), "checkpoint: notes", version);
  if (made.notes.size() > max_notes_bytes)
    refuse("checkpoint: notes",
           fmt::format("has {} bytes; it must have at most {}", made.notes.size(), max_notes_bytes));
  if (const json& scaler = member("scaler"); !scaler.is_null())
    made.scaler = snapshot_from_binary(state_codec::bytes_of(scaler, "checkpoint: scaler", version));
  const json& optimizers = member("optimizers");
  if (!optimizers.is_array()) refuse("checkpoint: optimizers", optimizers, "an array");
  for (const json& value : optimizers)
    made.optimizers.push_back(
        decode_optimizer(value, fmt::format("checkpoint: optimizer {}", made.optimizers.size()), version));
  return made;
}

void check_fits(const head& saved, const checkpoint_parts& parts) {
  if (saved.optimizers.size() != parts.optimizers.size())
    refuse(itself, fmt::format("holds {} optimizers, but {} were given; pass the same optimizers in the same order",
                               saved.optimizers.size(), parts.optimizers.size()));
  if (saved.scaler && parts.scaler == nullptr)
    refuse(itself, "holds the state of a scaler, but no scaler was given; pass a scaler");
  if (!saved.scaler && parts.scaler != nullptr)
    refuse(itself, "holds no state of a scaler, but a scaler was given; load it without a scaler");
  for (std::size_t i = 0; i < parts.optimizers.size(); ++i)
    check_fits(saved.optimizers[i], record_of(parts.optimizers[i]->parts()),
               fmt::format("checkpoint: optimizer {}", i));
}

// --- Files -----------------------------------------------------------------------------------------------------------

std::uint64_t sum_at(const file_reader& file, std::uint64_t offset) {
  std::array<char, sum_bytes> bytes;
  file.read(offset, bytes.data(), bytes.size());
  return integer_at<std::uint64_t>(bytes.data());
}

std::uint64_t sum_of(std::string_view bytes) {
  block_checksum sum;
  sum.add(bytes.data(), bytes.size());
  return sum.value();
}

/// The bytes before the weights, with their checksum.
std::string front_of(const head& from) {
  const std::string document = to_cbor(encode(from));
  if (document.size() > longest_head)
    throw invalid_argument(fmt::format(
        "checkpoint: its head has {} bytes, and the limit is {}; use a shorter ledger (scaler_options::ledger)",
        document.size(), longest_head));
  std::string front(magic);
  append_integer(front, newest_version);
  append_integer(front, front_bytes + document.size() + sum_bytes + from.payload_bytes() + sum_bytes);
  append_integer(front, std::uint64_t{document.size()});
  front += document;
  append_integer(front, sum_of(front));
  return front;
}

/// A file with the length that it declares and an intact head.
struct opened_checkpoint {
  explicit opened_checkpoint(const std::filesystem::path& path) : file(path) {
    std::array<char, front_bytes> front;
    if (file.size() < front.size() + 2 * sum_bytes) refuse(itself, "is truncated, or not a checkpoint");
    file.read(0, front.data(), front.size());
    if (!std::string_view(front.data(), front.size()).starts_with(magic))
      refuse(itself, "is not a checkpoint: its first bytes are wrong");
    const char* numbers = front.data() + magic.size();
    const auto version = integer_at<std::uint32_t>(numbers);
    state_codec::check_version(version, "checkpoint: version");
    const auto length = integer_at<std::uint64_t>(numbers + sizeof version);
    if (length != file.size())
      refuse(itself, fmt::format("should have {} bytes, but has {}; it is truncated or damaged, so use another copy",
                                 length, file.size()));
    const auto head_bytes = integer_at<std::uint64_t>(numbers + sizeof version + sizeof length);
    if (head_bytes > longest_head || head_bytes > file.size() - front.size() - 2 * sum_bytes)
      refuse(itself,
             fmt::format("should have a head of {} bytes, which is too long; it is damaged, so use another copy",
                         head_bytes));
    payload_begin = front.size() + head_bytes + sum_bytes;
    // In blocks: a damaged file is rejected before its head takes memory.
    if (!is_right_until(payload_begin - sum_bytes))
      refuse(itself, "is damaged: the checksum of its head is wrong; use another copy");
    std::string bytes(head_bytes, '\0');
    file.read(front.size(), bytes.data(), bytes.size());
    content = decode_head(bytes, version);
  }

  /// Compares the length of the file with the length of its declared content.
  void check_length() const {
    const std::uint64_t needed = payload_begin + content.payload_bytes() + sum_bytes;
    if (needed != file.size())
      refuse(itself, fmt::format("should have {} bytes for its content, but has {}; it is damaged, so use another copy",
                                 needed, file.size()));
  }

  void check_sum() const {
    if (!is_right_until(file.size() - sum_bytes)) refuse(itself, "is damaged: its checksum is wrong; use another copy");
  }

  file_reader file;
  head content;
  std::uint64_t payload_begin = 0;

 private:
  /// Whether all that stands before `end` has the checksum that stands there.
  bool is_right_until(std::uint64_t end) const {
    constexpr std::size_t block = std::size_t{4} << 20;
    std::string bytes(std::min<std::uint64_t>(block, end), '\0');
    block_checksum sum;
    for (std::uint64_t at = 0; at < end; at += bytes.size()) {
      const std::size_t part = std::min<std::uint64_t>(bytes.size(), end - at);
      file.read(at, bytes.data(), part);
      sum.add(bytes.data(), part);
    }
    return sum_at(file, end) == sum.value();
  }
};

/// Loading reads the file a second time, so the checksum is verified again: the file may have changed meanwhile.
void load_optimizers(const opened_checkpoint& from, const checkpoint_parts& parts) {
  std::uint64_t at = from.payload_begin;
  block_checksum sum;
  std::string front(from.payload_begin, '\0');
  from.file.read(0, front.data(), front.size());
  sum.add(front.data(), front.size());
  const byte_source next = [&](void* data, std::size_t bytes) {
    from.file.read(at, data, bytes);
    sum.add(data, bytes);
    at += bytes;
  };
  for (std::size_t i = 0; i < parts.optimizers.size(); ++i)
    read_state(parts.optimizers[i]->parts(), from.content.optimizers[i], next);
  if (sum_at(from.file, at) != sum.value())
    refuse(itself, "has changed while it was being read; load it again when nobody writes to it");
}

}  // namespace

void save_checkpoint(const std::filesystem::path& file, const checkpoint_parts& parts, std::string_view notes) {
  check_parts(parts);
  if (notes.size() > max_notes_bytes)
    throw invalid_argument(
        fmt::format("checkpoint: the notes have {} bytes, and the limit is {}; keep larger notes in a file of your own",
                    notes.size(), max_notes_bytes));
  const head content = head_of(parts, notes);
  file_replacement fresh(file);
  block_checksum sum;
  const byte_sink write = [&](const void* data, std::size_t bytes) {
    sum.add(data, bytes);
    fresh.write(data, bytes);
  };
  const std::string front = front_of(content);
  write(front.data(), front.size());
  for (std::size_t i = 0; i < parts.optimizers.size(); ++i)
    write_state(parts.optimizers[i]->parts(), content.optimizers[i], write);
  std::string all;
  append_integer(all, sum.value());
  fresh.write(all.data(), all.size());
  fresh.commit();
}

std::string load_checkpoint(const std::filesystem::path& file, const checkpoint_parts& parts) {
  check_parts(parts);
  bool has_begun = false;
  try {
    const opened_checkpoint saved(file);
    check_fits(saved.content, parts);
    saved.check_length();
    saved.check_sum();
    if (parts.scaler != nullptr) parts.scaler->load(*saved.content.scaler);  // which checks before it changes anything
    has_begun = true;
    load_optimizers(saved, parts);
    return saved.content.notes;
  } catch (const std::exception& problem) {
    if (!has_begun && dynamic_cast<const invalid_argument*>(&problem) == nullptr) throw;
    if (!has_begun) throw file_error(fmt::format("cannot load {}: {}", file.string(), problem.what()));
    throw file_error(fmt::format(
        "cannot load {}: {}; a part of it has already been loaded, so load another checkpoint or start again",
        file.string(), problem.what()));
  }
}

}  // namespace SYCLAMP_NAMESPACE
