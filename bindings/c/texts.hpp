// SPDX-License-Identifier: Apache-2.0
/// \file
/// Texts that the C interface gives to its callers. The library knows them, so that freeing one twice is an error.
#pragma once

#include <cstddef>
#include <string_view>

namespace syclamp::c {

/// Makes a copy of a text, which ends with a 0. The caller of the C interface frees it.
char* make_text(std::string_view text);

/// Frees a text. Null is ignored. Thread-safe.
/// \throws handle_error if the address is no text of `make_text`
void free_text(const char* text);

/// The number of texts.
std::size_t live_texts();

}  // namespace syclamp::c
