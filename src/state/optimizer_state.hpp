// SPDX-License-Identifier: Apache-2.0
// Copies weights and moments between device memory and a file, in blocks. The host holds one block at a time.
//
// For each group: the weights in FP32; each moment, in FP32 or BF16; if copies are rounded at random, these, in FP32;
// moments per tensor, if there are any. Each of them is one sequence in the order of the parameters.
#pragma once

#include <cstddef>
#include <functional>

#include "state/optimizer_record.hpp"
#include "syclamp/export.hpp"

namespace SYCLAMP_NAMESPACE {

using byte_sink = std::function<void(const void* data, std::size_t bytes)>;
using byte_source = std::function<void(void* data, std::size_t bytes)>;

/// Writes `record.bytes()` bytes of the optimizer that the record describes. Waits.
void write_state(const optimizer_parts& parts, const optimizer_record& record, const byte_sink& to);

/// Reads `record.bytes()` bytes into an optimizer that fits the record. Makes the copies again, and sets
/// hyper-parameters and step counts. Waits.
void read_state(const optimizer_parts& parts, const optimizer_record& record, const byte_source& from);

}  // namespace SYCLAMP_NAMESPACE
