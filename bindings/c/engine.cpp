// SPDX-License-Identifier: Apache-2.0
#include "syclamp/c/engine.h"

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sycl/sycl.hpp>

#include "bindings/c/call_notes.hpp"
#include "bindings/c/devices.hpp"
#include "bindings/c/objects.hpp"
#include "bindings/c/structs.hpp"
#include "bindings/c/texts.hpp"

using namespace syclamp::c;

namespace {

/// An engine on a new queue. Failures of submitted work are kept for the next call.
std::shared_ptr<engine_object> make_on_device(const sycl::device& device, std::string_view profile) {
  auto faults = std::make_shared<queue_faults>();
  const auto keep = [faults](const sycl::exception_list& problems) {
    for (const std::exception_ptr& problem : problems) try {
        std::rethrow_exception(problem);
      } catch (const std::exception& fault) {
        const std::lock_guard lock(faults->mutex);
        if (faults->message.empty()) faults->message = fault.what();
      }
  };
  sycl::queue queue(device, keep, sycl::property::queue::in_order{});
  return std::make_shared<engine_object>(syclamp::engine(std::move(queue), profile), std::move(faults));
}

std::shared_ptr<engine_object> make_on_queue(const sycl::queue& queue, std::string_view profile) {
  if (!queue.is_in_order())
    throw syclamp::invalid_argument(
        "options.queue is out-of-order, so nothing would order the engine's work with yours; make the queue with the "
        "property in_order");
  return std::make_shared<engine_object>(syclamp::engine(queue, profile), nullptr);
}

std::string_view text_or_empty(const char* text) { return text == nullptr ? "" : text; }

}  // namespace

syclamp_status syclamp_engine_create(const syclamp_engine_options* options, syclamp_engine* engine) {
  return guarded(__func__, [&] {
    need(engine, "engine");
    const syclamp_engine_options wanted = read_options(options, "options");
    const std::string_view device = text_or_empty(wanted.device), profile = text_or_empty(wanted.profile);
    std::shared_ptr<engine_object> made;
    if (wanted.queue != nullptr) {
      if (!device.empty())
        throw syclamp::invalid_argument("options.queue and options.device are both set; a queue has its device");
      made = make_on_queue(*static_cast<sycl::queue*>(wanted.queue), profile);
    } else if (device.empty()) {
      made = std::make_shared<engine_object>(syclamp::engine(), nullptr);
      if (!profile.empty()) made = make_on_device(made->engine.queue().get_device(), profile);
    } else {
      made = make_on_device(select_device(device), profile);
    }
    *engine = make_handle<syclamp_engine>(std::move(made));
  });
}

syclamp_status syclamp_engine_destroy(syclamp_engine engine) {
  return guarded(__func__, [&] { remove_handle(engine, object_kind::engine); });
}

syclamp_status syclamp_engine_profile(syclamp_engine engine, const char** profile) {
  return guarded(__func__, [&] {
    const auto object = get<engine_object>(engine);
    need(profile, "profile");
    *profile = object->engine.profile_name().data();  // a literal
  });
}

syclamp_status syclamp_engine_device_name(syclamp_engine engine, char** name) {
  return guarded(__func__, [&] {
    const auto object = get<engine_object>(engine);
    need(name, "name");
    *name = make_text(object->engine.queue().get_device().get_info<sycl::info::device::name>());
  });
}

syclamp_status syclamp_engine_get_statistics(syclamp_engine engine, syclamp_engine_statistics* statistics) {
  return guarded(__func__, [&] {
    const auto object = get<engine_object>(engine);
    const size_t size = checked_size(statistics, "statistics");
    const syclamp::engine_statistics counters = object->engine.statistics();
    write_struct(statistics,
                 {.struct_size = size, .kernels_submitted = counters.kernels_submitted, .waits = counters.waits}, size);
  });
}

syclamp_status syclamp_engine_compile_all(syclamp_engine engine) {
  return guarded(__func__, [&] {
    const auto object = get<engine_object>(engine);
    const call_order order{object.get()};
    object->engine.compile_all();
  });
}

syclamp_status syclamp_engine_wait(syclamp_engine engine) {
  return guarded(__func__, [&] {
    const auto object = get<engine_object>(engine);
    const call_order order{object.get()};
    object->engine.wait();
    object->raise_faults();
  });
}

syclamp_status syclamp_engine_get_queue(syclamp_engine engine, void** queue) {
  return guarded(__func__, [&] {
    const auto object = get<engine_object>(engine);
    need(queue, "queue");
    *queue = &object->engine.queue();
  });
}

syclamp_status syclamp_engine_depend_on(syclamp_engine engine, const void* const* events, size_t count) {
  return guarded(__func__, [&] {
    const auto object = get<engine_object>(engine);
    constexpr size_t max_events = 65536;
    if (count > max_events)
      throw syclamp::invalid_argument(
          fmt::format("the argument count is {}; a call takes at most {} events", count, max_events));
    need_no_recording("call it before each run of the recorded step");
    if (count == 0) return;
    need(events, "events");
    std::vector<sycl::event> dependencies;
    for (size_t i = 0; i < count; ++i) {
      need(events[i], "events[]");
      dependencies.push_back(*static_cast<const sycl::event*>(events[i]));
    }
    const call_order order{object.get()};
    object->engine.order_after(dependencies);
  });
}

syclamp_status syclamp_engine_get_event(syclamp_engine engine, void* event) {
  return guarded(__func__, [&] {
    const auto object = get<engine_object>(engine);
    need(event, "event");
    need_no_recording("call it after a run of the recorded step");
    const call_order order{object.get()};
    // A command that depends on nothing follows all earlier commands of the in-order queue.
    *static_cast<sycl::event*>(event) = object->engine.order_after({sycl::event()});
  });
}
