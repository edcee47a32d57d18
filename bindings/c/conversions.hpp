// SPDX-License-Identifier: Apache-2.0
/// \file
/// Conversions between structs of the C interface and types of the library.
#pragma once

#include <optional>

#include "bindings/c/objects.hpp"
#include "syclamp/c/inspector.h"
#include "syclamp/c/optimizer.h"
#include "syclamp/c/policy.h"
#include "syclamp/c/scaler.h"
#include "syclamp/c/step_record.h"
#include "syclamp/element_type.hpp"
#include "syclamp/ledger.hpp"
#include "syclamp/optimizer_settings.hpp"
#include "syclamp/scalar.hpp"
#include "syclamp/scaling_policy.hpp"
#include "syclamp/simulation.hpp"
#include "syclamp/step_options.hpp"

namespace syclamp::c {

inline constexpr element_type last_element_type = element_types[sizeof element_types / sizeof element_types[0] - 1];

/// An element type of the caller.
element_type to_element_type(std::int32_t type, const char* name);

/// A number by value, or in device memory if `address` is not null.
/// \param name  the argument, for messages
scalar to_scalar(const engine_object& engine, float value, const float* address, const char* name);

/// A policy; null: the default policy.
scaling_policy to_policy(const syclamp_policy* given);
/// Writes a policy into a caller's struct.
void write_policy(const scaling_policy& policy, syclamp_policy* given);

/// Options of a step; null: none.
step_options to_step_options(const engine_object& engine, const syclamp_step_options* given);

/// Settings of an optimizer.
/// \throws invalid_argument if a field that the kind does not have is set
optimizer_settings to_settings(const syclamp_optimizer_settings& given);
/// Settings as a struct of the C interface.
syclamp_optimizer_settings from_settings(const optimizer_settings& settings);
/// The default settings of a kind.
optimizer_settings default_settings(std::int32_t kind);

/// The record of a step as a struct of the C interface.
syclamp_step_record from_record(const step_record& record, std::string_view first_nonfinite_name);

/// The result of a simulated step as a struct of the C interface.
syclamp_simulated_step from_simulated(const simulated_result& result);

/// The result of an inspection as a struct of the C interface.
syclamp_inspection from_inspection(const inspection& result);

}  // namespace syclamp::c
