// SPDX-License-Identifier: Apache-2.0
// A command on another queue that runs until the test releases it: shows which commands wait for it, without sleeping.
#pragma once

#include <functional>
#include <future>
#include <memory>

#include <sycl/sycl.hpp>

/// A command of a queue of its own that does not end before `release`, and does `work` then.
class blocked_event {
 public:
  explicit blocked_event(sycl::queue queue, std::function<void()> work = [] {}) {
    event_ = queue.submit([&](sycl::handler& handler) {
      handler.host_task([released = gate_->get_future().share(), work] {
        released.wait();
        work();
      });
    });
  }
  ~blocked_event() { release(); }
  blocked_event(const blocked_event&) = delete;
  blocked_event& operator=(const blocked_event&) = delete;

  operator sycl::event() const { return event_; }

  void release() {
    if (gate_) gate_->set_value();
    gate_.reset();
    event_.wait();
  }

 private:
  std::unique_ptr<std::promise<void>> gate_ = std::make_unique<std::promise<void>>();
  sycl::event event_;
};

inline bool is_complete(const sycl::event& event) {
  return event.get_info<sycl::info::event::command_execution_status>() == sycl::info::event_command_status::complete;
}
