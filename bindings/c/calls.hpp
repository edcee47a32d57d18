// SPDX-License-Identifier: Apache-2.0
/// \file
/// The frame of every function of the C interface: no exception leaves it, and errors become a status and a message.
#pragma once

#include <stdexcept>
#include <string>
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

/// Thrown if a call inside a function of the caller has failed: its status becomes that of the outer call.
class call_error : public std::runtime_error {
 public:
  call_error(syclamp_status status, const std::string& message) : std::runtime_error(message), status_(status) {}
  syclamp_status status() const { return status_; }

 private:
  syclamp_status status_;
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
