// SPDX-License-Identifier: Apache-2.0
// Calls in a forked child, which has the memory of the SYCL drivers but none of their threads.
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include "tests/c/objects.hpp"
#include "tests/c/support.hpp"

using namespace c_tests;

namespace {

/// What a forked child says. A child that hangs is ended by a signal.
template <typename Body>
std::string text_of_child(const Body& body) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(60);
    const std::string text = body();
    const bool is_written = write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
    _exit(is_written ? 0 : 1);
  }
  close(ends[1]);
  std::string text;
  char part[4096];
  for (ssize_t size; (size = read(ends[0], part, sizeof part)) > 0;) text.append(part, static_cast<std::size_t>(size));
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CAPTURE(text);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  return text;
}

/// A line per call that does not return `SYCLAMP_MISUSE` with a message about the fork.
class expect_misuse {
 public:
  void operator()(const std::string& call, syclamp_status status) {
    const std::string message = status == SYCLAMP_OK ? "" : syclamp_last_error();
    if (status != SYCLAMP_MISUSE || message.find("forked") == std::string::npos)
      failures += call + ": " + syclamp_status_name(status) + " " + message + "\n";
  }
  std::string failures;
};

}  // namespace

TEST_CASE("calls in a forked child are a misuse, and the parent continues") {
  const objects made;
  device_floats values({1, 2});
  const std::string failures = text_of_child([&] {
    expect_misuse check;
    syclamp_engine other = nullptr;
    check("engine_create", syclamp_engine_create(nullptr, &other));
    check("engine_wait", syclamp_engine_wait(engine()));
    void* address = nullptr;
    check("memory_allocate", syclamp_memory_allocate(engine(), 16, SYCLAMP_DEVICE_MEMORY, &address));
    float read[2] = {};
    check("memory_copy_out", syclamp_memory_copy_out(engine(), read, values.data(), sizeof read));
    const syclamp_tensor described = tensor(values.data(), 2);
    syclamp_tensor_list list = nullptr;
    check("tensor_list_create", syclamp_tensor_list_create(engine(), &described, 1, &list));
    syclamp_scaler scaler = nullptr;
    check("scaler_create", syclamp_scaler_create(engine(), nullptr, nullptr, &scaler));
    check("inspector_run", syclamp_inspector_run(made.inspector, 1.0f, nullptr));
    check("scaler_begin_step", syclamp_scaler_begin_step(made.scaler, nullptr));
    check("optimizer_apply", syclamp_optimizer_apply(made.optimizer));
    float scale = 0;
    check("scaler_get_scale", syclamp_scaler_get_scale(made.scaler, 0, &scale));
    return check.failures;
  });
  CHECK(failures == "");
  ok(syclamp_optimizer_apply(made.optimizer));
  CHECK(values.read() == std::vector<float>{1, 2});
}

TEST_CASE("in a forked child no function hangs, and objects are destroyed without a wait") {
  syclamp_engine own = nullptr;
  ok(syclamp_engine_create(nullptr, &own));
  syclamp_inspector inspector = nullptr;
  const objects made;
  ok(syclamp_inspector_create(made.list, SYCLAMP_INSPECT_LIST, &inspector));
  const std::string failures = text_of_child([&] {
    std::string lines;
    for (const handle_call& call : all_handle_calls(made.all()))
      for (const auto& [of_kind, handle] : made.handles()) {
        const bool is_destroyed = call.name.find("destroy") != std::string::npos;
        if (of_kind != call.expected || is_destroyed) continue;
        const syclamp_status status = call.call(handle);
        const bool is_clear = status == SYCLAMP_OK || status == SYCLAMP_MISUSE || status == SYCLAMP_INVALID_ARGUMENT ||
                              status == SYCLAMP_FILE_ERROR;  // some calls use no device, or refuse an argument first
        if (!is_clear) lines += call.name + ": " + syclamp_status_name(status) + " " + syclamp_last_error() + "\n";
      }
    for (const syclamp_status status : {syclamp_inspector_destroy(inspector), syclamp_engine_destroy(own)})
      if (status != SYCLAMP_OK) lines += std::string("destroy: ") + syclamp_status_name(status) + "\n";
    return lines;
  });
  CHECK(failures == "");
  ok(syclamp_inspector_destroy(inspector));
  ok(syclamp_engine_destroy(own));
}
