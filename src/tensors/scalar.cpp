// SPDX-License-Identifier: Apache-2.0
#include "syclamp/scalar.hpp"

#include <fmt/format.h>

#include "syclamp/error.hpp"
#include "tensors/address_checks.hpp"
#include "tensors/scalar_arguments.hpp"

namespace SYCLAMP_NAMESPACE {

device_value::device_value(const engine& engine, const float* address) : address_(address) {
  if (address == nullptr)
    throw invalid_argument("device_value: its address is null; pass the address of a float in device memory");
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  if (number % alignof(float) != 0)
    throw invalid_argument(
        fmt::format("device_value: its address {} is not aligned to a float; it must be a multiple of 4 bytes",
                    static_cast<const void*>(address)));
  check_address(engine.queue(), "device_value", address);
}

kernels::scalar_argument limit_argument(const char* operation, const char* name, const std::optional<scalar>& limit) {
  if (!limit) return {nullptr, kernels::no_scalar};
  if (limit->address() == nullptr && !(limit->value() >= 0.0f))
    throw invalid_argument(
        fmt::format("{}: {} is {}; it must be 0 or more, or infinity for no limit", operation, name, limit->value()));
  return {limit->address(), limit->value()};
}

kernels::scalar_argument scale_argument(const char* operation, const scalar& scale) {
  if (scale.address() == nullptr && !(scale.value() > 0.0f && scale.value() <= max_finite(element_type::float32)))
    throw invalid_argument(fmt::format("{}: scale is {}; it must be positive and finite", operation, scale.value()));
  return {scale.address(), scale.value()};
}

kernels::scalar_argument scale_argument(const char* operation, const std::optional<scalar>& scale) {
  return scale ? scale_argument(operation, *scale) : kernels::scalar_argument{nullptr, kernels::no_scalar};
}

}  // namespace SYCLAMP_NAMESPACE
