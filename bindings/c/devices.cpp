// SPDX-License-Identifier: Apache-2.0
#include "bindings/c/devices.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "bindings/c/structs.hpp"
#include "bindings/c/texts.hpp"
#include "syclamp/c/engine.h"
#include "syclamp/system_info.hpp"

namespace syclamp::c {
namespace {

/// The devices do not change while the process runs, and their self-tests take time. So they are described once.
const std::vector<device_report>& devices() {
  static const std::vector<device_report>& all = *new std::vector<device_report>(describe_system().devices);
  return all;
}

std::optional<std::size_t> as_number(std::string_view text) {
  std::size_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return lower;
}

bool is_kind(std::string_view text) { return text == "gpu" || text == "cpu" || text == "accelerator"; }

/// The usable device number `place` of a kind, or with a name; null if there are not as many.
const device_report* find(std::string_view text, std::size_t place) {
  const std::string wanted = lower_case(text);
  for (const device_report& device : devices()) {
    const bool fits =
        is_kind(wanted) ? device.kind == wanted : lower_case(device.name).find(wanted) != std::string::npos;
    if (fits && device.usable && place-- == 0) return &device;
  }
  return nullptr;
}

const device_report* find(std::string_view text) {
  if (const auto index = as_number(text)) return *index < devices().size() ? &devices()[*index] : nullptr;
  const std::size_t colon = text.rfind(':');
  if (colon != std::string_view::npos)
    if (const auto place = as_number(text.substr(colon + 1))) return find(text.substr(0, colon), *place);
  return find(text, 0);
}

}  // namespace

sycl::device select_device(std::string_view text) {
  if (const device_report* found = find(text)) return found->device;
  std::string names;
  for (std::size_t i = 0; i < devices().size(); ++i)
    names += fmt::format("{}{} ({}, {})", i == 0 ? "" : "; ", i, devices()[i].kind, devices()[i].name);
  throw no_device_error(fmt::format("options.device \"{}\" selects no usable device; the devices are: {}", text,
                                    names.empty() ? "none" : names));
}

}  // namespace syclamp::c

using namespace syclamp::c;

syclamp_status syclamp_device_count(size_t* count) {
  return guarded(__func__, [&] {
    need(count, "count");
    *count = devices().size();
  });
}

syclamp_status syclamp_device_describe(size_t index, syclamp_device_info* info) {
  return guarded(__func__, [&] {
    const size_t size = checked_size(info, "info");
    if (index >= devices().size())
      throw syclamp::invalid_argument(
          fmt::format("there is no device {}; the number of devices is {}", index, devices().size()));
    const syclamp::device_report& device = devices()[index];
    syclamp_device_info made{};
    copy_text(made.name, device.name);
    copy_text(made.vendor, device.vendor);
    copy_text(made.driver, device.driver);
    copy_text(made.profile, device.profile);
    copy_text(made.problem, device.problem);
    made.global_memory_bytes = device.memory_bytes;
    made.compute_units = device.compute_units;
    made.is_gpu = device.kind == "gpu";
    made.is_cpu = device.kind == "cpu";
    made.usable = device.usable;
    copy_text(made.platform, device.platform);
    copy_text(made.profile_note, device.profile_note);
    made.is_accelerator = device.kind == "accelerator";
    made.has_fp16 = device.has_fp16;
    made.has_fp64 = device.has_fp64;
    write_struct(info, made, size);
  });
}

syclamp_status syclamp_profile_count(size_t* count) {
  return guarded(__func__, [&] {
    need(count, "count");
    *count = syclamp::profile_names().size();
  });
}

syclamp_status syclamp_profile_name(size_t index, char** name) {
  return guarded(__func__, [&] {
    need(name, "name");
    const std::vector<std::string> names = syclamp::profile_names();
    if (index >= names.size())
      throw syclamp::invalid_argument(
          fmt::format("there is no profile {}; the number of profiles is {}", index, names.size()));
    *name = make_text(names[index]);
  });
}
