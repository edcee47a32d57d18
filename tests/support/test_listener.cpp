// SPDX-License-Identifier: Apache-2.0
// Runs around the cases of every test program: fresh device memory is full of NaNs, and a warning of the library
// fails the case. A case that expects warnings installs a handler of its own (`on_warning`) and puts the previous one
// back.
#include <string>
#include <string_view>

#include <catch2/catch_test_macros.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>

#include "engine/device_memory.hpp"
#include "syclamp/log.hpp"

namespace {

class test_listener final : public Catch::EventListenerBase {
 public:
  using EventListenerBase::EventListenerBase;

  void testRunStarting(const Catch::TestRunInfo&) override { syclamp::poison_fresh_memory() = true; }

  void testCaseStarting(const Catch::TestCaseInfo&) override {
    previous_ = syclamp::on_warning(
        [](std::string_view line) { FAIL_CHECK("the library warned, which this case does not expect: " << line); });
  }

  void testCaseEnded(const Catch::TestCaseStats&) override { syclamp::on_warning(previous_); }

 private:
  syclamp::warning_handler previous_;
};

CATCH_REGISTER_LISTENER(test_listener)

}  // namespace
