// SPDX-License-Identifier: Apache-2.0
// A snapshot in binary, as checkpoints hold it: magic (8 bytes), version (4), length of the document (8), the document
// in CBOR, checksum of all that (8). Numbers have their lowest byte first. Names of tensors are byte strings; version 1
// wrote them as texts.
#pragma once

#include <string>
#include <string_view>

#include "syclamp/export.hpp"
#include "syclamp/scaler_snapshot.hpp"

namespace SYCLAMP_NAMESPACE {

/// \throws invalid_argument that says what is wrong
std::string to_binary(const scaler_snapshot& snapshot);
scaler_snapshot snapshot_from_binary(std::string_view bytes);

/// Whether some bytes begin like a snapshot in binary.
bool is_binary_snapshot(std::string_view bytes);

}  // namespace SYCLAMP_NAMESPACE
