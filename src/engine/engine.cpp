// SPDX-License-Identifier: Apache-2.0
#include "syclamp/engine.hpp"

#include <atomic>

#include <fmt/format.h>

#include "backends/profiles.hpp"
#include "engine/device_fault.hpp"
#include "engine/device_list.hpp"
#include "engine/device_memory.hpp"
#include "engine/event_order.hpp"
#include "engine/process_exit.hpp"
#include "engine/profile_choice.hpp"
#include "engine/recording.hpp"
#include "engine/warn.hpp"
#include "launch/kernel_library.hpp"
#include "launch/operations.hpp"
#include "syclamp/error.hpp"

namespace SYCLAMP_NAMESPACE {
namespace {

/// The profile for a device. A profile that does not fit costs one warning per device.
const profile& chosen_profile(const sycl::device& device, std::string_view requested) {
  const profile_choice choice = profile_for(device, requested);
  if (!choice.note.empty()) warn_once(fmt::format("{}: {}", device.get_info<sycl::info::device::name>(), choice.note));
  return *choice.tuning;
}

sycl::queue checked(sycl::queue queue) {
  if (const std::string why = launch::obstacle(queue.get_device()); !why.empty())
    throw no_device_error(
        fmt::format("cannot use {}: {}", queue.get_device().get_info<sycl::info::device::name>(), why));
  return queue;
}

/// A second, in-order queue for an engine that was made with an out-of-order queue.
sycl::queue in_order_queue(const sycl::queue& beside, const std::shared_ptr<fault_record>& faults) {
  using namespace sycl::property::queue;
  sycl::property_list properties{in_order{}};
  if (beside.has_property<enable_profiling>()) properties = {in_order{}, enable_profiling{}};
  return sycl::queue(beside.get_context(), beside.get_device(), fault_handler(faults), properties);
}

/// GPUs before accelerators before CPUs, devices that cannot be used left out.
sycl::queue best_queue(const std::shared_ptr<fault_record>& faults) {
  const auto rank = [](const sycl::device& device) { return device.is_gpu() ? 3 : device.is_cpu() ? 1 : 2; };
  std::vector<sycl::device> usable;
  std::string problems;
  for (const sycl::device& device : list_devices())
    if (const std::string problem = launch::obstacle(device); problem.empty())
      usable.push_back(device);
    else
      problems += fmt::format(". {}: {}", device.get_info<sycl::info::device::name>(), problem);
  if (usable.empty()) {
    const std::string hint = launch::environment_hint();
    throw no_device_error(
        fmt::format("no usable SYCL device was found{}{}{}. For a CPU, install the package intel-opencl-rt (./run "
                    "setup installs it). For a GPU, install its driver and its SYCL plugin",
                    problems, hint.empty() ? "" : ". ", hint));
  }
  const sycl::device* best = &usable.front();
  for (const sycl::device& device : usable)
    if (rank(device) > rank(*best)) best = &device;
  return sycl::queue{*best, fault_handler(faults), sycl::property::queue::in_order{}};
}

}  // namespace

struct SYCLAMP_HIDDEN engine::impl {
  /// \param reported  where the queue's handler puts faults; null if the queue has a handler of the caller
  impl(sycl::queue given, std::string_view profile_name, std::shared_ptr<fault_record> reported, bool by_events)
      : faults(std::move(reported)),
        is_ordered_by_events(by_events),
        queue(checked(std::move(given))),
        tuning(chosen_profile(queue.get_device(), profile_name)),
        kernels(launch::make_kernel_library(queue, tuning)),
        order_word(allocate_on_device<std::uint32_t>(queue, 1)) {
    watch_runtime();
  }

  /// SYCL ends the program if a fault is reported after its queue was destroyed. So the destructor waits for the
  /// library's own queue.
  ~impl() {
    if (!faults) return;
    try {
      queue.wait();
      queue.throw_asynchronous();
    } catch (...) {  // NOLINT(bugprone-empty-catch): a destructor has no caller that could handle it
    }
  }
  impl(const impl&) = delete;
  impl& operator=(const impl&) = delete;

  static std::shared_ptr<impl> make(sycl::queue given, std::string_view profile_name) {
    need_runtime();
    return translated("engine", [&] {
      if (given.is_in_order()) return make_state<impl>(std::move(given), profile_name, nullptr, false);
      const auto faults = std::make_shared<fault_record>();
      return make_state<impl>(in_order_queue(given, faults), profile_name, faults, true);
    });
  }

  static std::shared_ptr<impl> make_on_best_device() {
    need_runtime();
    return translated("engine", [] {
      const auto faults = std::make_shared<fault_record>();
      return make_state<impl>(best_queue(faults), std::string_view{}, faults, false);
    });
  }

  /// Throws asynchronous faults of the library's own queue at the next call. The check costs about 10 ns.
  void raise_faults() {
    if (!faults) return;
    queue.throw_asynchronous();
    faults->raise();
  }

  std::shared_ptr<fault_record> faults;
  bool is_ordered_by_events;
  sycl::queue queue;
  const profile& tuning;
  std::unique_ptr<launch::kernel_library> kernels;
  usm_array<std::uint32_t> order_word;  ///< written by the commands that wait for events
  std::atomic<std::uint64_t> waits = 0;
  std::atomic<std::uint32_t> ordered_calls = 0;  ///< whose dependencies were given to a recorded step
};

engine::engine() : impl_(impl::make_on_best_device()) {}

engine::engine(sycl::queue queue, std::string_view profile) : impl_(impl::make(std::move(queue), profile)) {}

sycl::queue& engine::queue() const {
  need_runtime();
  impl_->raise_faults();
  return impl_->queue;
}
bool engine::is_ordered_by_events() const { return impl_->is_ordered_by_events; }
std::string_view engine::profile_name() const { return impl_->tuning.name; }
launch::kernel_library& engine::kernels() const {
  need_runtime();
  return *impl_->kernels;
}

sycl::event engine::order_after(const std::vector<sycl::event>& dependencies) const {
  need_runtime();  // also without dependencies: a call that submits nothing itself is a misuse, too
  if (dependencies.empty()) return {};
  return submit_after(queue(), impl_->order_word.get(), dependencies);
}

/// \param events  which events are meant, for the message
void engine::need_dependencies(const char* call, const std::vector<sycl::event>& dependencies,
                               const char* events) const {
  if (!impl_->is_ordered_by_events || !dependencies.empty() || impl_->ordered_calls != 0) return;
  throw misuse_error(fmt::format(
      "{}: no dependencies were given, but the engine was made with an out-of-order queue, so only events order its "
      "operations; pass {}",
      call, events));
}

std::shared_ptr<void> engine::order_calls() const {
  ++impl_->ordered_calls;
  return {impl_.get(), [kept = impl_](impl* held) { --held->ordered_calls; }};
}

void engine::compile_all() const {
  for (const launch::operation_base* op : launch::operations)
    if (!op->is_optional) kernels().prepare(*op);
}

void engine::wait() const {
  need_runtime();
  need_no_recording(impl_->queue);
  impl_->waits.fetch_add(1, std::memory_order_relaxed);
  translated("wait", [&] { impl_->queue.wait_and_throw(); });
  impl_->raise_faults();
}

void engine::wait_for(const std::vector<sycl::event>& events) const {
  need_no_recording(queue());
  impl_->waits.fetch_add(1, std::memory_order_relaxed);
  translated("wait", [&] { sycl::event::wait_and_throw(events); });
  impl_->raise_faults();
}

engine_statistics engine::statistics() const {
  return {.kernels_submitted = impl_->kernels->submitted(), .waits = impl_->waits.load(std::memory_order_relaxed)};
}

std::vector<std::string> profile_names() {
  std::vector<std::string> names;
  names.reserve(backends::profiles.size());
  for (const profile& profile : backends::profiles) names.emplace_back(profile.name);
  return names;
}

}  // namespace SYCLAMP_NAMESPACE
