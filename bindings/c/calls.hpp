// SPDX-License-Identifier: Apache-2.0
/// \file
/// The frame of every function of the C interface: no exception leaves it, and errors become a status and a message.
#pragma once

#include <stdexcept>
#include <utility>

#include "syclamp/c/base.h"
#include "syclamp/error.hpp"

namespace syclamp::c {

/// Thrown if a handle, an address or a text of the caller does not exist.
class handle_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Thrown if a function of the caller reports a failure.
class callback_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Turns the exception that is being handled into a status, and keeps its message for `syclamp_last_error`.
/// \param function  name of the C function
syclamp_status record_exception(const char* function) noexcept;

/// Calls `body` and returns the status.
template <typename Body>
syclamp_status guarded(const char* function, Body&& body) noexcept {
  try {
    std::forward<Body>(body)();
    return SYCLAMP_OK;
  } catch (...) {
    return record_exception(function);
  }
}

/// Refuses a null pointer.
/// \throws invalid_argument that names the argument
void need(const void* pointer, const char* argument);

}  // namespace syclamp::c
