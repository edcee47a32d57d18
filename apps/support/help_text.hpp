// SPDX-License-Identifier: Apache-2.0
// Texts of --help.
#pragma once

#include <string>
#include <vector>

namespace syclamp::program {

/// Names separated by commas, in indented lines of at most 110 characters.
inline std::string wrapped(const std::vector<std::string>& names) {
  constexpr std::size_t longest = 110;
  std::string text, line;
  for (const std::string& name : names) {
    if (!line.empty() && line.size() + name.size() + 3 > longest) {
      text += line + ",\n";
      line.clear();
    }
    line += (line.empty() ? "  " : ", ") + name;
  }
  return text + line;
}

}  // namespace syclamp::program
