// SPDX-License-Identifier: Apache-2.0
// What a checkpoint says of an optimizer, apart from its weights and moments.
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
  std::vector<std::uint64_t> sizes;  ///< of each, if there is a moment a tensor; else empty
};

struct optimizer_record {
  std::string kind, kernel;  ///< `adamw`, and by which of its kernels it steps
  std::uint32_t states = 0;
  element_type moments = element_type::float32;
  bool has_copies = false;  ///< what the forward pass reads is not a function of the weights
  bool is_stochastic = false;
  std::uint64_t seed = 0;
  std::vector<group_record> groups;

  /// How many bytes of weights and moments follow.
  std::uint64_t bytes() const;
};

/// Of an optimizer as it is now. Waits.
/// \throws invalid_argument if there is something that could not be loaded
optimizer_record record_of(const optimizer_parts& parts);

json encode(const optimizer_record& record);

/// \param path     how messages call it
/// \param version  of the file
/// \throws invalid_argument
optimizer_record decode_optimizer(const json& from, const std::string& path, std::uint32_t version);

/// \throws invalid_argument that says in what they differ if `saved` cannot go on as `here`
void check_fits(const optimizer_record& saved, const optimizer_record& here, const std::string& path);

}  // namespace SYCLAMP_NAMESPACE
