// SPDX-License-Identifier: Apache-2.0
// The text that the run-time compiler gets.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launch/operation.hpp"

namespace syclamp::launch::jit {

/// Where the embedded headers appear to the compiler. An absolute path that cannot exist on disk. A relative path would
/// first be searched in the working directory, where another user could replace the kernels.
inline constexpr std::string_view embedded_root = "/dev/null/syclamp/";

/// A kernel header as it was when the library was built, under the path by which kernels include it.
struct embedded_file {
  std::string_view path;
  std::string_view text;
};

/// All files of sycl_kernels/ and the public headers that they include. Defined in a source that the build writes.
std::span<const embedded_file> embedded_files();

/// Symbol of the instance of `op` that `tuning` asks for.
std::string symbol(const operation_base& op, const profile& tuning);

/// A source file with one entry for each operation of `family`, instantiated as `tuning` asks.
std::string family_source(std::string_view family, const profile& tuning);

/// The embedded headers that `source` includes, and those that they include.
std::vector<const embedded_file*> included_files(std::string_view source);

/// All text that the compiler reads for `family`, except SYCL's own headers. Equal text means equal kernels.
std::string family_text(std::string_view family, const profile& tuning);

}  // namespace syclamp::launch::jit
