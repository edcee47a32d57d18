// SPDX-License-Identifier: Apache-2.0
// The description of an optimizer in a checkpoint, without its weights and moments.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/json_reader.hpp"
#include "syclamp/element_type.hpp"
#include "syclamp/export.hpp"
#include "syclamp/hyper_parameters.hpp"

namespace SYCLAMP_NAMESPACE {

struct optimizer_parts;

/// One group of parameters. Weights and moments follow each other in the order of the parameters, as if they were one
/// tensor, so how that is cut does not matter.
struct group_record {
  hyper_parameters hyper = {};
  lr_schedule schedule = {};
  std::uint64_t applied = 0;         ///< steps
  std::uint64_t elements = 0;        ///< of all tensors together
  std::vector<std::uint64_t> sizes;  ///< of each tensor, if there are moments per tensor; else empty
};

struct optimizer_record {
  std::string kind, kernel;  ///< `adamw`, and by which of its kernels it steps
  std::uint32_t states = 0;
  element_type moments = element_type::float32;
  bool has_copies = false;  ///< copies cannot be computed from the weights, because they were rounded at random
  bool is_stochastic = false;
  std::uint64_t seed = 0;
  std::vector<group_record> groups;

  /// The number of bytes of weights and moments that follow.
  std::uint64_t bytes() const;
};

/// The record of an optimizer's present state. Waits.
/// \throws invalid_argument if there is something that could not be loaded
optimizer_record record_of(const optimizer_parts& parts);

json encode(const optimizer_record& record);

/// \param path     how messages call it
/// \param version  of the file
/// \throws invalid_argument
optimizer_record decode_optimizer(const json& from, const std::string& path, std::uint32_t version);

/// \throws invalid_argument that names the difference if `saved` cannot be loaded into `here`
void check_fits(const optimizer_record& saved, const optimizer_record& here, const std::string& path);

}  // namespace SYCLAMP_NAMESPACE
