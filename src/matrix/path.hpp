// SPDX-License-Identifier: Apache-2.0
// A way to multiply matrices. `gemm` chooses one; each is a file of this folder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "syclamp/matrix/gemm.hpp"

namespace SYCLAMP_NAMESPACE::matrix {

/// A product that has been checked: sizes fit, nothing is empty but perhaps the inner dimension, nothing overlaps.
struct problem {
  const_matrix_view a, b;
  matrix_view c;
  std::uint32_t m, n, k;
  std::uint64_t batch;
  std::uint64_t a_step, b_step, c_step;  ///< from one matrix of the batch to the next; 0 for one that is used for all
  float alpha, beta;
  const_array_view bias;
  activation function;

  bool has_epilogue() const { return bias.count() != 0 || function != activation::none; }
};

class path {
 public:
  virtual ~path() = default;

  virtual std::string_view name() const = 0;
  virtual std::string_view note() const = 0;  ///< what it is, for people

  /// Why the path cannot be used on the device with its profile; empty if it can. Called once per device and profile.
  virtual std::string obstacle(const engine& engine) const = 0;

  /// Why it cannot do this product, although it can be used; empty if it can.
  virtual std::string refusal(const problem& product) const = 0;

  /// False if another path is likely to be faster. `gemm` then uses this path only on request.
  virtual bool is_worthwhile(const engine&, const problem&) const { return true; }

  /// True if `submit` does bias and activation as well; if not, another kernel follows.
  virtual bool has_epilogue() const = 0;

  virtual sycl::event submit(const engine& engine, const problem& product) const = 0;
};

// Each is made at first use and lives until the process ends.
const path& joint_matrix_path();
const path& portable_path();

}  // namespace SYCLAMP_NAMESPACE::matrix
