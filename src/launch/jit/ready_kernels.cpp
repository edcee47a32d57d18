// SPDX-License-Identifier: Apache-2.0
#include "launch/jit/ready_kernels.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <system_error>

#include "engine/warn.hpp"
#include "support/checksum.hpp"
#include "support/library_folders.hpp"
#include "support/whole_file.hpp"
#include "syclamp/error.hpp"

namespace syclamp::launch::jit {
namespace {

namespace fs = std::filesystem;

// A file is a header and the SPIR-V. The header has two different checksums of the key, because the key itself is long.
constexpr std::array<char, 8> magic = {'s', 'y', 'c', 'l', 'S', 'P', 'V', '1'};
constexpr std::size_t largest_file = std::size_t{1} << 28;

struct key_sums {
  std::uint64_t first, second;
  bool operator==(const key_sums&) const = default;
};

struct header {
  std::array<char, 8> magic;
  key_sums key;
  std::uint64_t content_size;
  std::uint64_t content_sum;
};

std::uint64_t sum_of(std::string_view text) {
  block_checksum sum;
  sum.add(text.data(), text.size());
  return sum.value();
}

key_sums sums_of(std::string_view key) { return {checksum(key), sum_of(key)}; }

}  // namespace

fs::path ready_kernels_name(std::string_view profile, std::string_view family) {
  std::string name(family);
  std::ranges::replace(name, '/', '-');
  return fs::path(profile) / (name + ".spirv");
}

fs::path ready_kernels_file(std::string_view profile, std::string_view family) {
  return library_file(fs::path("syclamp") / "kernels" / ready_kernels_name(profile, family));
}

std::optional<std::vector<char>> load_ready_kernels(const fs::path& file, std::string_view key) {
  std::error_code failed;
  const auto size = fs::file_size(file, failed);
  if (failed || size == 0) return {};  // an empty file: there was no device to compile for when the library was built
  const auto refuse = [&](std::string_view reason) {
    warn("ignoring {}, a file of the syclamp installation: {}; reinstall syclamp. The kernels are compiled now instead",
         file.string(), reason);
    return std::optional<std::vector<char>>{};
  };
  try {
    const std::string text = read_whole_file(file, largest_file);
    header head{};
    const bool is_whole = text.size() >= sizeof head;
    if (is_whole) std::memcpy(&head, text.data(), sizeof head);
    if (!is_whole || head.magic != magic || head.content_size != text.size() - sizeof head)
      return refuse("it is truncated or damaged");
    if (head.key != sums_of(key)) return {};
    const std::string_view content = std::string_view(text).substr(sizeof head);
    if (head.content_sum != sum_of(content)) return refuse("its checksum is wrong");
    return std::vector<char>(content.begin(), content.end());
  } catch (const error& unreadable) {
    return refuse(unreadable.what());
  }
}

void store_ready_kernels(const fs::path& file, std::string_view key, const std::vector<char>& spirv) {
  const std::string_view content(spirv.data(), spirv.size());
  const header head{magic, sums_of(key), content.size(), sum_of(content)};
  std::string text(sizeof head, '\0');
  std::memcpy(text.data(), &head, sizeof head);
  text += content;
  replace_file(file, text);
}

}  // namespace syclamp::launch::jit
