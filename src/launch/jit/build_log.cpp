// SPDX-License-Identifier: Apache-2.0
#include "launch/jit/build_log.hpp"

#include <optional>
#include <regex>
#include <sstream>

#include <fmt/format.h>

#include "launch/kernel_library.hpp"

namespace syclamp::launch::jit {
namespace {

/// The first header of the standard libraries that was not found. The run-time compiler brings the headers of SYCL and
/// of clang, and the kernels bring their own, but those of the C++ and C libraries are the machine's. The name tells
/// them apart: headers of SYCL and syclamp end in .hpp or .def.
std::optional<std::string> missing_library_header(const std::string& log) {
  // Never destroyed: exit handlers may compile, too.
  static const std::regex& not_found = *new std::regex("fatal error: '([^']+)' file not found");
  for (std::sregex_iterator match(log.begin(), log.end(), not_found), end; match != end; ++match)
    if (std::string name = (*match)[1]; !name.ends_with(".hpp") && !name.ends_with(".def")) return name;
  return std::nullopt;
}

/// Headers of the C++ library have no suffix, but for its private ones, as bits/c++config.h.
bool is_of_c_library(std::string_view header) {
  return header.ends_with(".h") && header.find("c++") == header.npos && !header.starts_with("ext/");
}

std::string first_error(const std::string& log) {
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);)
    if (line.find("rror") != std::string::npos) return line;
  return "no reason given";
}

}  // namespace

std::string explain_build_failure(std::string_view device, const std::string& log) {
  if (log.find("creation from source not supported") != std::string::npos)
    return fmt::format(
        "no precompiled kernel fits {}, and the run-time compiler libsycl-jit.so was not found beside libsycl. Install "
        "the complete package intel-sycl-rt, or use the release of libsycl that syclamp was built with",
        device);
  if (const auto header = missing_library_header(log))
    return fmt::format(
        "cannot compile a kernel for {}: the header <{}> of {} is missing on this machine. The run-time compiler "
        "needs the headers of g++ and of glibc where the program runs. Install the package g++ on Debian or Ubuntu "
        "(it brings libstdc++-dev and libc6-dev), gcc-c++ on Fedora (it brings libstdc++-devel and glibc-devel)",
        device, *header, is_of_c_library(*header) ? "the C library, glibc," : "g++'s library, libstdc++,");
  return fmt::format(
      "cannot compile a kernel for {} ({}): this is a defect of syclamp or of the compiler, {}; please report it with "
      "the text of kernel_build_error::log()",
      device, first_error(log), compiler());
}

}  // namespace syclamp::launch::jit
