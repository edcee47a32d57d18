// SPDX-License-Identifier: Apache-2.0
/// \file
/// The exceptions of syclamp. Each message names the problem, the value and the remedy.
///
/// Each type derives from `syclamp::error` and from the matching type of the standard library. Both of these work:
///
///     catch (const syclamp::error& problem)    // errors of this library only
///     catch (const std::exception& problem)    // every error
///
/// No public call throws `sycl::exception`. Faults of the device become `device_error` or `out_of_memory_error`.
#pragma once

#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include <syclamp/export.hpp>

namespace SYCLAMP_NAMESPACE {

/// The base of all exceptions of this library. It does not derive from `std::exception`, because each derived class
/// already has one `std::exception` base.
class SYCLAMP_API error {
 public:
  error() = default;
  error(const error&) = default;
  error& operator=(const error&) = default;
  virtual ~error() = default;

  /// The message, as `std::exception::what`.
  virtual const char* what() const noexcept = 0;
};

/// Combines an exception type of the standard library with `error`.
template <typename Standard>
class SYCLAMP_API standard_error : public Standard, public error {
 public:
  using Standard::Standard;
  const char* what() const noexcept override { return Standard::what(); }  ///< the message
};

/// Thrown if an argument cannot be used, for example an unknown profile.
class SYCLAMP_API invalid_argument : public standard_error<std::invalid_argument> {
 public:
  using standard_error::standard_error;
};

/// Thrown if a call comes at the wrong time, for example a second `step` without an `update` in between.
class SYCLAMP_API misuse_error : public standard_error<std::logic_error> {
 public:
  using standard_error::standard_error;
};

/// Thrown if no usable device was found.
class SYCLAMP_API no_device_error : public standard_error<std::runtime_error> {
 public:
  using standard_error::standard_error;
};

/// Thrown if the device or its driver reports a fault. The next call on the engine throws asynchronous faults.
class SYCLAMP_API device_error : public standard_error<std::runtime_error> {
 public:
  using standard_error::standard_error;
};

/// Thrown if a file cannot be read or written, or has the wrong content.
class SYCLAMP_API file_error : public standard_error<std::runtime_error> {
 public:
  using standard_error::standard_error;
};

/// Thrown if memory cannot be allocated.
class SYCLAMP_API out_of_memory_error : public std::bad_alloc, public error {
 public:
  explicit out_of_memory_error(const std::string& message) : message_(message) {}
  const char* what() const noexcept override { return message_.what(); }  ///< the message

 private:
  std::runtime_error message_;  // unlike a std::string, it can be copied without an exception
};

/// Thrown if a kernel does not compile for the device.
class SYCLAMP_API kernel_build_error : public standard_error<std::runtime_error> {
 public:
  kernel_build_error(const std::string& message, std::string log) : standard_error(message), log_(std::move(log)) {}

  /// The complete output of the device compiler.
  const std::string& log() const { return log_; }

 private:
  std::string log_;
};

}  // namespace SYCLAMP_NAMESPACE
