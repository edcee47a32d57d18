// SPDX-License-Identifier: Apache-2.0
#include "engine/profile_choice.hpp"

#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/device_facts.hpp"
#include "syclamp/engine.hpp"
#include "syclamp/error.hpp"

namespace SYCLAMP_NAMESPACE {
namespace {

profile_choice forced_profile(const sycl::device& device, std::string_view name, std::string_view origin) {
  const profile* found = backends::find(name);
  if (found == nullptr)
    throw invalid_argument(fmt::format("the profile \"{}\" (from {}) does not exist; choose one of {}", name, origin,
                                       fmt::join(profile_names(), ", ")));
  if (const std::string problem = misfit(*found, limits_of(device)); !problem.empty())
    throw invalid_argument(fmt::format("the profile \"{}\" (from {}) does not fit {}: {}; choose another profile", name,
                                       origin, device.get_info<sycl::info::device::name>(), problem));
  return {found};
}

}  // namespace

device_limits limits_of(const sycl::device& device) {
  return {.max_group_size = device.get_info<sycl::info::device::max_work_group_size>(),
          .local_memory = device.get_info<sycl::info::device::local_mem_size>()};
}

std::string misfit(const profile& tuning, const device_limits& limits) {
  if (const std::uint32_t size = max_group_size(tuning); size > limits.max_group_size)
    return fmt::format("its work-groups have up to {} work-items, but the device allows {}", size,
                       limits.max_group_size);
  if (tuning.local_memory > limits.local_memory)
    return fmt::format("its work-groups need up to {} bytes of local memory, but the device has {}",
                       tuning.local_memory, limits.local_memory);
  return {};
}

profile_choice choose_profile(const backends::device_facts& facts, const device_limits& limits,
                              std::span<const profile> profiles) {
  std::string problems;
  for (const bool must_match : {true, false})
    for (const profile& candidate : profiles) {
      if (candidate.matches(facts) != must_match) continue;
      const std::string problem = misfit(candidate, limits);
      if (problem.empty())
        return {&candidate,
                problems.empty() ? "" : fmt::format("{}; \"{}\" is used instead", problems, candidate.name)};
      problems +=
          fmt::format("{}the profile \"{}\" does not fit: {}", problems.empty() ? "" : "; ", candidate.name, problem);
    }
  throw no_device_error(fmt::format("no tuning profile fits the device: {}. Use another device", problems));
}

profile_choice profile_for(const sycl::device& device, std::string_view requested) {
  if (!requested.empty()) return forced_profile(device, requested, "the argument of the engine");
  if (const char* name = std::getenv("SYCLAMP_PROFILE"); name != nullptr && *name != '\0')
    return forced_profile(device, name, "SYCLAMP_PROFILE");
  return choose_profile(facts_of(device), limits_of(device));
}

}  // namespace SYCLAMP_NAMESPACE
