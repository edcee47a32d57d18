// SPDX-License-Identifier: Apache-2.0
// The path that always works: our own kernel, on every device, for every combination of types.
#include "matrix/tiles.hpp"

namespace SYCLAMP_NAMESPACE::matrix {
namespace {

class portable final : public path {
 public:
  std::string_view name() const override { return "portable"; }
  std::string_view note() const override { return "tiles in local memory, FP32 multiply-add"; }
  std::string obstacle(const engine&) const override { return {}; }
  std::string refusal(const problem&) const override { return {}; }
  bool has_epilogue() const override { return true; }
  sycl::event submit(const engine& engine, const problem& product) const override {
    return submit_tiles(engine, launch::gemm_tiles, product);
  }
};

}  // namespace

const path& portable_path() {
  static const portable only;
  return only;
}

}  // namespace SYCLAMP_NAMESPACE::matrix
