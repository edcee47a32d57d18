// SPDX-License-Identifier: Apache-2.0
#include "engine.hpp"

#include <string>
#include <utility>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <syclamp/error.hpp>
#include <syclamp/log.hpp>
#include <syclamp/system_info.hpp>

#include "module.hpp"
#include "queues.hpp"

namespace nb = nanobind;

namespace syclamp::python {

namespace {

/// Barriers are needed only if the caller's queue is out-of-order.
std::optional<sycl::queue> unordered(const sycl::queue& queue) {
  if (queue.is_in_order()) return {};
  return queue;
}

bool has_system_memory(const engine& engine) {
  return engine.queue().get_device().has(sycl::aspect::usm_system_allocations);
}

}  // namespace

engine_handle::engine_handle() : reads_host_memory_(has_system_memory(engine_)) {}

engine_handle::engine_handle(const sycl::queue& queue, std::string_view profile)
    : engine_(queue, profile), callers_queue_(unordered(queue)), reads_host_memory_(has_system_memory(engine_)) {}

engine_handle::~engine_handle() {
  if (in_use_.empty()) return;
  try {
    wait();
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): a destructor has no caller that could handle it
  }
}

bool engine_handle::serves(const sycl::queue& queue) const {
  return queue == engine_.queue() || (callers_queue_ && queue == *callers_queue_);
}

std::vector<sycl::event> engine_handle::dependencies() {
  if (!callers_queue_) return {};
  return {callers_queue_->ext_oneapi_submit_barrier()};
}

// By the engine's own queue. The event of a step may be of another context, on which no command of this one may depend.
void engine_handle::order_caller() {
  if (callers_queue_) callers_queue_->ext_oneapi_submit_barrier({engine_.queue().ext_oneapi_submit_barrier()});
}

void engine_handle::finish(const sycl::event& done, std::vector<std::shared_ptr<void>> owners, bool writes_host) {
  order_caller();
  release_complete();
  keep_until(done, std::move(owners));
  if (writes_host && deferrals_ == 0) wait();
}

void engine_handle::keep_until(const sycl::event& done, std::vector<std::shared_ptr<void>> owners) {
  in_use_.push_back({done, std::move(owners)});
}

// Owners are destroyed only after they have left `in_use_`. Their finalizers may call Python, which may call this
// engine.

void engine_handle::release_complete() {
  using status = sycl::info::event_command_status;
  std::deque<submitted_work> complete;
  while (!in_use_.empty() &&
         in_use_.front().done.get_info<sycl::info::event::command_execution_status>() == status::complete) {
    complete.push_back(std::move(in_use_.front()));
    in_use_.pop_front();
  }
}

void engine_handle::wait() {
  engine_.wait();
  std::deque<submitted_work> complete = std::exchange(in_use_, {});
  for (submitted_work& work : complete) work.done.wait();  // it may be of another queue
}

void engine_handle::defer() { ++deferrals_; }

void engine_handle::end_deferral() {
  if (deferrals_ == 0) throw misuse_error("end_deferral: no deferral is open; call defer first");
  if (--deferrals_ == 0) wait();
}

namespace {

sycl::queue queue_from(const nb::object& object) {
  if (auto queue = find_queue(object)) return *std::move(queue);
  throw nb::type_error("queue: a dpctl.SyclQueue, or a capsule \"SyclQueueRef\" with a sycl::queue, is needed");
}

/// A queue on the device that `selector` names: an index of `devices()`, or a kind of device.
sycl::queue queue_on(const std::string& selector) {
  const std::vector<sycl::device> devices = sycl::device::get_devices();
  const sycl::property_list in_order{sycl::property::queue::in_order()};
  std::size_t index = 0;
  for (const sycl::device& device : devices) {
    const bool is_named = (selector == "gpu" && device.is_gpu()) || (selector == "cpu" && device.is_cpu()) ||
                          (selector == "accelerator" && device.is_accelerator()) || selector == std::to_string(index);
    if (is_named) return sycl::queue(device, in_order);
    ++index;
  }
  throw invalid_argument("device: there is no device \"" + selector +
                         "\"; use gpu, cpu, accelerator or a number below " + std::to_string(devices.size()) +
                         ", the number of SYCL devices");
}

std::shared_ptr<engine_handle> make_engine(const std::optional<std::string>& device, const nb::object& queue,
                                           const std::string& profile) {
  if (!queue.is_none() && device) throw invalid_argument("device and queue: give one of them; a queue has its device");
  if (!queue.is_none()) return std::make_shared<engine_handle>(queue_from(queue), profile);
  if (device) return std::make_shared<engine_handle>(queue_on(*device), profile);
  if (!profile.empty()) return std::make_shared<engine_handle>(engine().queue(), profile);
  return std::make_shared<engine_handle>();
}

std::string device_name(const engine_handle& engine) {
  return engine.native().queue().get_device().get_info<sycl::info::device::name>();
}

}  // namespace

void register_engine(nb::module_& module) {
  nb::class_<engine_handle>(module, "Engine")
      .def(nb::new_(&make_engine), nb::arg("device").none() = nb::none(), nb::kw_only(),
           nb::arg("queue").none() = nb::none(), nb::arg("profile") = "")
      .def("wait", [](engine_handle& engine) { engine.call([&] { engine.wait(); }); })
      .def("defer", [](engine_handle& engine) { engine.call([&] { engine.defer(); }); })
      .def("end_deferral", [](engine_handle& engine) { engine.call([&] { engine.end_deferral(); }); })
      .def("compile_all", [](engine_handle& engine) { engine.call([&] { engine.native().compile_all(); }); })
      .def(
          "serves",
          [](const engine_handle& engine, const nb::object& queue) {
            const std::optional<sycl::queue> known = find_queue(queue);
            return known && engine.serves(*known);
          },
          nb::arg("queue"))
      .def_prop_ro("is_deferred", &engine_handle::is_deferred)
      .def_prop_ro("reads_host_memory", &engine_handle::reads_host_memory)
      .def_prop_ro("profile", [](const engine_handle& engine) { return std::string(engine.native().profile_name()); })
      .def_prop_ro("device_name", &device_name)
      .def_prop_ro("kernels_submitted",
                   [](const engine_handle& engine) { return engine.native().statistics().kernels_submitted; })
      .def_prop_ro("waits", [](const engine_handle& engine) { return engine.native().statistics().waits; });
  module.attr("version") = library_version();
  module.def("profile_names", &profile_names);
}

}  // namespace syclamp::python
