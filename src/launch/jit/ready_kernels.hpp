// SPDX-License-Identifier: Apache-2.0
// Kernels that were compiled to SPIR-V when the library was built, so that a user needs no compiler.
//
// They lie beside the library, in `syclamp/kernels/<profile>/`, one file per family. A file is used only if it was made
// from the same kernels, by the same compiler, with the same options as the run-time compiler would use here.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace syclamp::launch::jit {

/// The file of a family below a folder of ready kernels.
std::filesystem::path ready_kernels_name(std::string_view profile, std::string_view family);

/// The file of a family beside this library; for a program that the library is linked into, in the `lib` beside its
/// folder.
std::filesystem::path ready_kernels_file(std::string_view profile, std::string_view family);

/// Nothing if there is no such file, or if it has another key. A damaged file costs a warning.
std::optional<std::vector<char>> load_ready_kernels(const std::filesystem::path& file, std::string_view key);

/// \throws error that names the file and the reason
void store_ready_kernels(const std::filesystem::path& file, std::string_view key, const std::vector<char>& spirv);

}  // namespace syclamp::launch::jit
