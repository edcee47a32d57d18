// SPDX-License-Identifier: Apache-2.0
// Refuses lists that an operation cannot work on, by the name of the tensor and with the remedy.
#pragma once

#include "syclamp/tensor_list.hpp"

namespace syclamp {

/// Both lists have the same queue and sizes, and nothing that is written overlaps anything else: `out` neither itself
/// nor `in`, but for tensors that are the very same in both. Costs next to nothing while the addresses stay as they
/// are.
void check_pair(const char* operation, const tensor_list& in, const tensor_list& out);

/// Every tensor is FP32.
void check_float32(const char* operation, const tensor_list& list, const char* remedy);

}  // namespace syclamp
