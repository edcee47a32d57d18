// SPDX-License-Identifier: Apache-2.0
// Rejects lists that an operation cannot work on. The message names the tensor and the remedy.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "syclamp/error.hpp"
#include "syclamp/export.hpp"
#include "syclamp/tensor_list.hpp"

namespace SYCLAMP_NAMESPACE {

/// Both lists have the same queue and sizes, and nothing that is written overlaps anything else: `out` neither itself
/// nor `in`, but for tensors that are the very same in both. Costs next to nothing while the addresses stay as they
/// are.
/// \return whether some tensors are the very same in both
bool check_pair(const char* operation, const tensor_list& in, const tensor_list& out);

/// Both lists have the same queue and sizes, and `out` can be written.
void check_sizes(const char* operation, const tensor_list& in, const tensor_list& out);

/// Every tensor may be written.
void check_writable(const char* operation, const tensor_list& list);

/// \throws invalid_argument: a tensor that would be written was given as a pointer to const
[[noreturn]] void refuse_read_only(const char* operation, const tensor_list& list, std::size_t index);

/// Finds a tensor of each list that overlap each other, if there are any.
std::optional<std::pair<std::size_t, std::size_t>> shared_memory_of(const tensor_list& first, const tensor_list& other);

/// Every tensor is FP32.
void check_float32(const char* operation, const tensor_list& list, const char* remedy);

/// check_pair and check_float32, for an operation that unscales.
void check_unscaling(const tensor_list& in, const tensor_list& out);

/// A pointer that an operation cannot do without is not null. Inline, because modules call it, and it is not exported.
inline void check_given(const char* operation, const char* parameter, const void* pointer) {
  if (pointer == nullptr)
    throw invalid_argument(std::string(operation) + ": " + parameter + " is null; give it an address in device memory");
}

/// Names a tensor in a message: its index, and its name if it has one.
std::string described(std::size_t index, const std::string& name);
std::string described(const tensor_list& list, std::size_t index);

}  // namespace SYCLAMP_NAMESPACE
