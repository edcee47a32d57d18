// SPDX-License-Identifier: Apache-2.0
/// \file
/// Everything that syclamp throws. Each message says what was wrong, with which value, and what to do about it.
#pragma once

#include <stdexcept>
#include <string>

#include <syclamp/export.hpp>

namespace SYCLAMP_NAMESPACE {

/// Base of all errors of this library.
class SYCLAMP_API error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An argument that cannot be used, for example a queue that is not in-order or an unknown profile.
class SYCLAMP_API invalid_argument : public error {
 public:
  using error::error;
};

/// A call at the wrong moment, for example a second `step` without an `update` in between.
class SYCLAMP_API misuse_error : public error {
 public:
  using error::error;
};

/// No device was found on which the library could run.
class SYCLAMP_API no_device_error : public error {
 public:
  using error::error;
};

/// The device refused an allocation.
class SYCLAMP_API out_of_memory_error : public error {
 public:
  using error::error;
};

/// A kernel did not compile for the device.
class SYCLAMP_API kernel_build_error : public error {
 public:
  kernel_build_error(const std::string& message, std::string log) : error(message), log_(std::move(log)) {}

  /// What the device compiler said, in full.
  const std::string& log() const { return log_; }

 private:
  std::string log_;
};

}  // namespace SYCLAMP_NAMESPACE
