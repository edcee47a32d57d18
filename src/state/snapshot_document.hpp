// SPDX-License-Identifier: Apache-2.0
// A snapshot as a document: {"format", "version", "policy": {…}, "scales": [{…}, …], "ledger": [{…}, …]}. It is written
// as JSON (scaler_snapshot.cpp) or as CBOR (snapshot_binary.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "support/json_reader.hpp"
#include "syclamp/export.hpp"
#include "syclamp/scaler_snapshot.hpp"

namespace SYCLAMP_NAMESPACE {

/// Names of tensors may be any bytes. CBOR has byte strings; JSON has texts only, which must be UTF-8.
enum class name_encoding { text, bytes };

/// How messages call a part of a snapshot.
std::string in_snapshot(std::string_view path);

/// All but the ledger.
json encode_head(const scaler_snapshot& snapshot);
json encode_entry(const ledger_entry& entry, name_encoding names);

/// `read_json` or `read_cbor`.
using document_reader = json (*)(std::string_view bytes, const std::string& subject, const element_handler& handler);

/// Reads a document of any version up to the newest.
/// \throws invalid_argument that names the field
scaler_snapshot decode_document(std::string_view bytes, document_reader read);

}  // namespace SYCLAMP_NAMESPACE
