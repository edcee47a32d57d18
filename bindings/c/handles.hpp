// SPDX-License-Identifier: Apache-2.0
/// \file
/// The table of handles. A handle is a number that names a place of the table, never an address: a caller's handle is
/// compared with the table before anything is done with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace syclamp::c {

/// The kinds of objects that handles refer to.
enum class object_kind : std::uint8_t {
  engine = 1,
  tensor_list,
  inspector,
  unscaled,
  scaler,
  optimizer,
  spike_guard,
  recorded_step
};

/// An object of the table.
struct known_object {
  object_kind kind;
  std::shared_ptr<void> object;
};

/// The name of a kind in messages.
const char* to_string(object_kind kind);

/// Enters an object. Thread-safe, as all functions of this header.
/// \return the handle
void* add_handle(object_kind kind, std::shared_ptr<void> object);

/// The object of a handle. The caller shares it, so that another thread may destroy the handle meanwhile.
/// \throws handle_error if the handle is null, no longer exists or is of another kind
std::shared_ptr<void> find_object(const void* handle, object_kind kind);

/// The object of a handle of any kind.
/// \throws handle_error if the handle is null or no longer exists
known_object find_object(const void* handle);

/// Makes a second handle of the same object.
/// \throws handle_error if the handle does not exist
void* copy_handle(const void* handle);

/// Removes a handle. The object is destroyed if nothing else needs it. A null handle is ignored.
/// \throws handle_error if the handle does not exist
void remove_handle(const void* handle);

/// Removes a handle of the given kind.
void remove_handle(const void* handle, object_kind kind);

/// The number of handles.
std::size_t live_handles();

}  // namespace syclamp::c
