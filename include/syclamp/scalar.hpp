// SPDX-License-Identifier: Apache-2.0
/// \file
/// Numbers that operations depend on, such as a clip limit: given by value, or read from device memory.
#pragma once

#include <syclamp/engine.hpp>
#include <syclamp/export.hpp>

namespace SYCLAMP_NAMESPACE {

/// A number in memory that the device can read. Kernels read it when they run, so an earlier kernel may write it.
class SYCLAMP_API device_value {
 public:
  /// \throws invalid_argument if the address is null, misaligned, or memory that the engine's device cannot read
  device_value(const engine& engine, const float* address);

  const float* address() const { return address_; }

 private:
  const float* address_;
};

/// A number: a value that is fixed when the operation is submitted, or a `device_value`. A recorded step repeats the
/// value that it was recorded with.
class scalar {
 public:
  scalar(float value) : value_(value) {}                              // NOLINT(google-explicit-constructor)
  scalar(const device_value& number) : address_(number.address()) {}  // NOLINT(google-explicit-constructor)

  /// Null if the number was given by value.
  const float* address() const { return address_; }
  float value() const { return value_; }

 private:
  const float* address_ = nullptr;
  float value_ = 0.0f;
};

}  // namespace SYCLAMP_NAMESPACE
