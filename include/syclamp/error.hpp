// SPDX-License-Identifier: Apache-2.0
/// \file
/// Everything that syclamp throws. Each message says what was wrong, with which value, and what to do about it.
///
/// Each type derives from `syclamp::error` and from the matching type of the standard library. Both of these work:
///
///     catch (const syclamp::error& problem)    // errors of this library only
///     catch (const std::exception& problem)    // every error
///
/// No public call throws `sycl::exception`. What the device reports comes as `device_error` or `out_of_memory_error`.
#pragma once

#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include <syclamp/export.hpp>

namespace SYCLAMP_NAMESPACE {

/// Base of all errors of this library. It is no `std::exception` itself, so that a class that derives from both has
/// one `std::exception` only.
class SYCLAMP_API error {
 public:
  error() = default;
  error(const error&) = default;
  error& operator=(const error&) = default;
  virtual ~error() = default;

  /// The message, as `std::exception::what`.
  virtual const char* what() const noexcept = 0;
};

/// An error that is also a standard one with a message.
template <typename Standard>
class SYCLAMP_API standard_error : public Standard, public error {
 public:
  using Standard::Standard;
  const char* what() const noexcept override { return Standard::what(); }
};

/// An argument that cannot be used, for example an unknown profile.
class SYCLAMP_API invalid_argument : public standard_error<std::invalid_argument> {
 public:
  using standard_error::standard_error;
};

/// A call at the wrong moment, for example a second `step` without an `update` in between.
class SYCLAMP_API misuse_error : public standard_error<std::logic_error> {
 public:
  using standard_error::standard_error;
};

/// No device was found on which the library could run.
class SYCLAMP_API no_device_error : public standard_error<std::runtime_error> {
 public:
  using standard_error::standard_error;
};

/// A fault that the device or its driver reported. Asynchronous faults come at the next call on the engine.
class SYCLAMP_API device_error : public standard_error<std::runtime_error> {
 public:
  using standard_error::standard_error;
};

/// A file that cannot be read or written, or that holds something else than it should.
class SYCLAMP_API file_error : public standard_error<std::runtime_error> {
 public:
  using standard_error::standard_error;
};

/// The device refused an allocation.
class SYCLAMP_API out_of_memory_error : public std::bad_alloc, public error {
 public:
  explicit out_of_memory_error(const std::string& message) : message_(message) {}
  const char* what() const noexcept override { return message_.what(); }

 private:
  std::runtime_error message_;  // unlike a std::string, it can be copied without an exception
};

/// A kernel did not compile for the device.
class SYCLAMP_API kernel_build_error : public standard_error<std::runtime_error> {
 public:
  kernel_build_error(const std::string& message, std::string log) : standard_error(message), log_(std::move(log)) {}

  /// What the device compiler said, in full.
  const std::string& log() const { return log_; }

 private:
  std::string log_;
};

}  // namespace SYCLAMP_NAMESPACE
