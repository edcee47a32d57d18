// SPDX-License-Identifier: Apache-2.0
#include "engine/device_fault.hpp"

#include <fmt/format.h>

#include "syclamp/error.hpp"

namespace SYCLAMP_NAMESPACE {
namespace {

/// The words of a runtime, in one line.
std::string in_one_line(std::string_view text) {
  std::string line(text.substr(0, text.find_last_not_of(" \t\n.") + 1));
  for (char& c : line)
    if (c == '\n') c = ' ';
  return line;
}

const char* remedy(const sycl::exception& fault) {
  if (fault.code() == sycl::errc::invalid)
    return "check that every address is memory of the engine's context and has not been freed";
  return "values in device memory are no longer reliable: end the process and resume from a checkpoint. If it happens "
         "again, run `syclamp info` to test the device and its driver";
}

}  // namespace

void throw_device_error(std::string_view operation, const sycl::exception& fault) {
  const std::string words = in_one_line(fault.what());
  if (fault.code() == sycl::errc::memory_allocation)
    throw out_of_memory_error(fmt::format(
        "{}: the device is out of memory (\"{}\"); free device memory or use a smaller problem", operation, words));
  throw device_error(fmt::format("{}: the device reported \"{}\"; {}", operation, words, remedy(fault)));
}

void fault_record::add(const sycl::exception_list& faults) noexcept {
  for (const std::exception_ptr& fault : faults) {
    std::string words;
    try {
      std::rethrow_exception(fault);
    } catch (const std::exception& failed) {
      words = in_one_line(failed.what());
    } catch (...) {
      words = "an exception of an unknown type";
    }
    const std::lock_guard lock(mutex_);
    if (first_.empty())
      first_ = words.empty() ? "no reason given" : std::move(words);
    else
      ++others_;
    has_fault_.store(true, std::memory_order_release);
  }
}

void fault_record::raise_fault() {
  const std::lock_guard lock(mutex_);
  const std::string first = std::exchange(first_, {});
  const std::size_t others = std::exchange(others_, 0);
  has_fault_.store(false, std::memory_order_relaxed);
  throw device_error(
      fmt::format("a command submitted earlier has failed: \"{}\"{}; its results are missing. The cause is among the "
                  "commands submitted since the last wait. End the process and resume from a checkpoint",
                  first, others == 0 ? "" : fmt::format(" (and {} more)", others)));
}

}  // namespace SYCLAMP_NAMESPACE
