// SPDX-License-Identifier: Apache-2.0
// Weights and moments on their way between device memory and a file, in blocks: the host never holds more than one.
//
// For each group: the weights in FP32; each moment, in FP32 or BF16; if copies are rounded at random, these, in FP32;
// if there is a moment a tensor, these. Each of them is one sequence in the order of the parameters.
#pragma once

#include <cstddef>
#include <functional>

#include "state/optimizer_record.hpp"
#include "syclamp/export.hpp"

namespace SYCLAMP_NAMESPACE {

using byte_sink = std::function<void(const void* data, std::size_t bytes)>;
using byte_source = std::function<void(void* data, std::size_t bytes)>;

/// Writes `record.bytes()` bytes, of an optimizer whose record that is. Waits.
void write_state(const optimizer_parts& parts, const optimizer_record& record, const byte_sink& to);

/// Reads as many. The record has been found to fit. Copies are made again, hyper-parameters and numbers of steps set.
/// Waits.
void read_state(const optimizer_parts& parts, const optimizer_record& record, const byte_source& from);

}  // namespace SYCLAMP_NAMESPACE
