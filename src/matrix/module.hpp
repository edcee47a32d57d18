// SPDX-License-Identifier: Apache-2.0
// Paths whose code is in a module beside this library. A module is loaded at first use, so programs that do not
// multiply matrices do not load the vendor's library.
#pragma once

#include <mutex>

#include <fmt/format.h>

#include "engine/process_exit.hpp"
#include "matrix/path.hpp"
#include "syclamp/error.hpp"

namespace SYCLAMP_NAMESPACE::matrix {

/// What a module exports as `syclamp_matrix_module`. It does not link to syclamp, and does products only: bias and
/// activation are a kernel of ours.
struct module_functions {
  static constexpr unsigned current_version = 2;  ///< of this structure and of `problem`

  unsigned version;
  const char* note;
  std::string (*obstacle)(const sycl::device&);
  std::string (*refusal)(const problem&);
  bool (*is_worthwhile)(const sycl::device&, const problem&);  ///< null: always
  sycl::event (*submit)(sycl::queue&, const problem&);
};

class module_path final : public path {
 public:
  module_path(std::string_view name, const char* file) : name_(name), file_(file) {}

  std::string_view name() const override { return name_; }
  std::string_view note() const override {
    return load() != nullptr ? std::string_view(load()->note) : std::string_view(problem_);
  }
  std::string obstacle(const engine& engine) const override {
    return load() != nullptr ? load()->obstacle(engine.queue().get_device()) : problem_;
  }
  std::string refusal(const problem& product) const override { return load()->refusal(product); }
  bool is_worthwhile(const engine& engine, const problem& product) const override {
    return load()->is_worthwhile == nullptr || load()->is_worthwhile(engine.queue().get_device(), product);
  }
  bool has_epilogue() const override { return false; }
  sycl::event submit(const engine& engine, const problem& product) const override {
    need_thread();  // because the vendor's library launches kernels
    try {
      return load()->submit(engine.queue(), product);
    } catch (const sycl::exception&) {
      throw;  // gemm translates it
    } catch (const std::exception& failed) {
      throw device_error(fmt::format("gemm: {} failed (\"{}\"); use the path \"portable\" (SYCLAMP_GEMM=portable)",
                                     name_, failed.what()));
    }
  }

 private:
  const module_functions* load() const;  ///< null if it cannot be loaded; then `problem_` says why

  std::string_view name_;
  const char* file_;
  mutable std::once_flag once_;
  mutable const module_functions* loaded_ = nullptr;
  mutable std::string problem_;
};

}  // namespace SYCLAMP_NAMESPACE::matrix
