// SPDX-License-Identifier: Apache-2.0
/// \file
/// The blocks of memory that the library knows, by address. Operations on a block are checked against its size, and
/// objects that use a block keep it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "syclamp/device_array.hpp"
#include "syclamp/element_type.hpp"

namespace syclamp::c {

struct engine_object;

/// A block of memory: allocated by the library, or adopted.
struct memory_block {
  std::shared_ptr<engine_object> engine;
  std::uintptr_t begin = 0;
  std::uint64_t bytes = 0;
  device_memory memory;  ///< none if the block was adopted
};

/// Keeps a block; null for memory that the library does not know.
using block_owner = std::shared_ptr<const memory_block>;

/// Enters a block.
/// \throws invalid_argument if it overlaps another block
void add_block(std::shared_ptr<const memory_block> block);

/// Removes the block that begins at `address`. Thread-safe, as all functions of this header.
/// \throws handle_error if no block begins there
void remove_block(const void* address);

/// The number of blocks.
std::size_t live_blocks();

/// Checks that the device can use `bytes` bytes at `address`, as far as that can be known.
/// \param what  the operand, for messages
/// \return the owner of the memory; null for USM memory of the caller, and for a null address
/// \throws invalid_argument if the range leaves its block, or is neither in a block nor USM memory of the engine
block_owner find_block(const engine_object& engine, const void* address, std::uint64_t bytes, const std::string& what);

/// The same for `count` elements.
block_owner find_block(const engine_object& engine, const void* address, std::uint64_t count, element_type type,
                       const std::string& what);

}  // namespace syclamp::c
