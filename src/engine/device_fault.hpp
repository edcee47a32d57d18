// SPDX-License-Identifier: Apache-2.0
// Faults that SYCL reports, as errors of this library.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <sycl/sycl.hpp>

#include "syclamp/export.hpp"

namespace SYCLAMP_NAMESPACE {

/// Exported for the modules.
/// \throws out_of_memory_error if the fault says so, else device_error; its message has the operation, the device's
///         words and a remedy
[[noreturn]] SYCLAMP_API void throw_device_error(std::string_view operation, const sycl::exception& fault);

/// Calls `function` and turns a `sycl::exception` into an error of this library. Costs nothing if none is thrown.
template <typename Function>
decltype(auto) translated(std::string_view operation, Function&& function) {
  try {
    return std::forward<Function>(function)();
  } catch (const sycl::exception& fault) {
    throw_device_error(operation, fault);
  }
}

/// Keeps the asynchronous faults of a queue that the library made, until the user's next call throws them.
class fault_record {
 public:
  /// Keeps the first fault and counts the others. Does not throw, because the runtime calls it from destructors, too.
  void add(const sycl::exception_list& faults) noexcept;

  /// \throws device_error once, if a fault was added since the last call
  void raise() {
    if (has_fault_.load(std::memory_order_acquire)) raise_fault();
  }

 private:
  [[noreturn]] void raise_fault();

  std::atomic<bool> has_fault_ = false;
  std::mutex mutex_;
  std::string first_;
  std::size_t others_ = 0;
};

/// The handler for every queue that the library makes.
inline sycl::async_handler fault_handler(std::shared_ptr<fault_record> record) {
  return [record = std::move(record)](const sycl::exception_list& faults) { record->add(faults); };
}

}  // namespace SYCLAMP_NAMESPACE
