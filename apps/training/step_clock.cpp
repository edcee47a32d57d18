// SPDX-License-Identifier: Apache-2.0
#include "apps/training/step_clock.hpp"

#include <algorithm>

namespace syclamp::training {
namespace {

double median(std::vector<double> values) {
  if (values.empty()) return unknown;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

using nanoseconds = std::uint64_t;
nanoseconds end_of(const sycl::event& event) {
  return event.get_profiling_info<sycl::info::event_profiling::command_end>();
}
nanoseconds start_of(const sycl::event& event) {
  return event.get_profiling_info<sycl::info::event_profiling::command_start>();
}
double seconds(nanoseconds from, nanoseconds to) { return to > from ? static_cast<double>(to - from) * 1e-9 : 0.0; }

}  // namespace

step_clock::step_clock(const engine& engine)
    : takes_times_(engine.queue().has_property<sycl::property::queue::enable_profiling>()) {}

void step_clock::add(const step_events& events) {
  if (takes_times_) waiting_.push_back(events);
}

void step_clock::read() {
  for (const step_events& events : waiting_) {
    const nanoseconds loss = end_of(events.loss), backward = end_of(events.backward), apply = end_of(events.apply);
    const nanoseconds applying = start_of(events.apply);
    forward_.push_back(seconds(end_of(events.before), loss));
    backward_.push_back(seconds(loss, backward));
    inspect_.push_back(seconds(backward, applying));
    apply_.push_back(seconds(applying, apply));
    update_.push_back(seconds(apply, end_of(events.update)));
  }
  waiting_.clear();
}

step_times step_clock::medians() const {
  return {.forward = median(forward_),
          .backward = median(backward_),
          .inspect = median(inspect_),
          .apply = median(apply_),
          .update = median(update_)};
}

engine timed_engine() {
  engine plain;
  const sycl::device device = plain.queue().get_device();
  if (!device.has(sycl::aspect::queue_profiling)) return plain;
  return engine(sycl::queue(device, {sycl::property::queue::in_order{}, sycl::property::queue::enable_profiling{}}));
}

}  // namespace syclamp::training
