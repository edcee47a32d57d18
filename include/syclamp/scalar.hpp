// SPDX-License-Identifier: Apache-2.0
/// \file
/// Numbers as arguments of operations, such as a clip limit: by value, or in device memory.
#pragma once

#include <syclamp/engine.hpp>
#include <syclamp/export.hpp>

namespace SYCLAMP_NAMESPACE {

/// A number in memory that the device can read. Kernels read it when they run, so an earlier kernel may write it. The
/// caller owns the memory.
class SYCLAMP_API device_value {
 public:
  /// Refers to the number at `address`.
  /// \throws invalid_argument if the address is null, misaligned, or memory that the engine's device cannot read
  device_value(const engine& engine, const float* address);

  const float* address() const { return address_; }  ///< the address of the number

 private:
  const float* address_;
};

/// A number as an argument: a value, which is fixed when the operation is submitted, or a `device_value`. A recorded
/// step repeats the value from its recording.
class scalar {
 public:
  scalar(float value) : value_(value) {}                              // NOLINT(google-explicit-constructor)
  scalar(const device_value& number) : address_(number.address()) {}  // NOLINT(google-explicit-constructor)

  /// The address of a `device_value`; null for a value.
  const float* address() const { return address_; }
  float value() const { return value_; }  ///< the value; 0 for a `device_value`

 private:
  const float* address_ = nullptr;
  float value_ = 0.0f;
};

}  // namespace SYCLAMP_NAMESPACE
