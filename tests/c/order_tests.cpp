// SPDX-License-Identifier: Apache-2.0
// The order of an engine's work with other work of the same SYCL runtime: its queue, and events.
#include <sycl/sycl.hpp>

#include "tests/c/support.hpp"
#include "tests/support/blocked_event.hpp"

using namespace c_tests;

TEST_CASE("an engine's queue is the program's own, or one that the program can use") {
  sycl::queue in_order{sycl::property::queue::in_order{}};
  auto options = sized<syclamp_engine_options>();
  options.queue = &in_order;
  owned<syclamp_engine> made;
  ok(syclamp_engine_create(&options, made.address()));
  void* queue = nullptr;
  ok(syclamp_engine_get_queue(made, &queue));
  CHECK(*static_cast<sycl::queue*>(queue) == in_order);
  ok(syclamp_engine_get_queue(engine(), &queue));
  CHECK(static_cast<sycl::queue*>(queue)->is_in_order());
  CHECK(syclamp_engine_get_queue(made, nullptr) == SYCLAMP_INVALID_ARGUMENT);
}

TEST_CASE("later work waits for events of other queues, and the host does not") {
  const device_floats values({1, 2});
  const auto list = list_of({tensor(values.data(), 2)});
  void* queue = nullptr;
  ok(syclamp_engine_get_queue(engine(), &queue));
  sycl::queue other{static_cast<sycl::queue*>(queue)->get_device()};
  blocked_event blocked(other);
  const sycl::event events[] = {sycl::event(), blocked};
  const void* addresses[] = {&events[0], &events[1]};
  ok(syclamp_engine_depend_on(engine(), addresses, 2));
  ok(syclamp_scale(list, list, 4, nullptr));
  sycl::event done;
  ok(syclamp_engine_get_event(engine(), &done));
  // Another engine gets the same work and more. If this one did not wait for `blocked`, it would be done by then.
  owned<syclamp_engine> free_engine;
  ok(syclamp_engine_create(nullptr, free_engine.address()));
  void* memory = nullptr;
  ok(syclamp_memory_allocate(free_engine, 8, SYCLAMP_DEVICE_MEMORY, &memory));
  const syclamp_tensor described = tensor(memory, 2);
  {
    owned<syclamp_tensor_list> free_list;
    ok(syclamp_tensor_list_create(free_engine, &described, 1, free_list.address()));
    for (int i = 0; i < 100; ++i) {
      ok(syclamp_scale(free_list, free_list, 4, nullptr));
      ok(syclamp_engine_wait(free_engine));
    }
  }
  ok(syclamp_memory_free(memory));
  CHECK_FALSE(is_complete(done));
  blocked.release();
  done.wait();
  CHECK(values.read() == std::vector<float>{4, 8});
}

TEST_CASE("unusable events are refused") {
  const sycl::event complete;
  const void* addresses[] = {&complete, nullptr};
  ok(syclamp_engine_depend_on(engine(), addresses, 1));
  ok(syclamp_engine_depend_on(engine(), nullptr, 0));
  CHECK(message(SYCLAMP_INVALID_ARGUMENT, syclamp_engine_depend_on(engine(), addresses, 2)).find("events[]") !=
        std::string::npos);
  CHECK(syclamp_engine_depend_on(engine(), nullptr, 1) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_engine_depend_on(engine(), addresses, ~std::size_t{0}) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_engine_get_event(engine(), nullptr) == SYCLAMP_INVALID_ARGUMENT);
}

TEST_CASE("an object knows its engine") {
  owned<syclamp_engine> own;
  ok(syclamp_engine_create(nullptr, own.address()));
  owned<syclamp_scaler> scaler;
  ok(syclamp_scaler_create(own, nullptr, nullptr, scaler.address()));
  owned<syclamp_spike_guard> guard;
  ok(syclamp_spike_guard_create(own, nullptr, guard.address()));
  void *expected = nullptr, *found = nullptr;
  ok(syclamp_engine_get_queue(own, &expected));
  for (const void* handle :
       {static_cast<void*>(static_cast<syclamp_engine>(own)), static_cast<void*>(static_cast<syclamp_scaler>(scaler)),
        static_cast<void*>(static_cast<syclamp_spike_guard>(guard))}) {
    owned<syclamp_engine> owner;
    ok(syclamp_handle_engine(handle, owner.address()));
    ok(syclamp_engine_get_queue(owner, &found));
    CHECK(found == expected);
  }
  syclamp_engine none = nullptr;
  CHECK(syclamp_handle_engine(nullptr, &none) == SYCLAMP_INVALID_HANDLE);
  CHECK(syclamp_handle_engine(static_cast<syclamp_scaler>(scaler), nullptr) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(none == nullptr);
}

TEST_CASE("profiles and devices are described, also for programs with an older header") {
  std::size_t count = 0;
  ok(syclamp_profile_count(&count));
  const char* used = nullptr;
  ok(syclamp_engine_profile(engine(), &used));
  bool is_listed = false;
  for (std::size_t i = 0; i < count; ++i) {
    char* name = nullptr;
    ok(syclamp_profile_name(i, &name));
    is_listed = is_listed || std::strcmp(name, used) == 0;
    ok(syclamp_text_free(name));
  }
  CHECK(is_listed);
  char* none = nullptr;
  CHECK(syclamp_profile_name(count, &none) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_profile_name(0, nullptr) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_profile_count(nullptr) == SYCLAMP_INVALID_ARGUMENT);

  auto info = sized<syclamp_device_info>();
  ok(syclamp_device_describe(0, &info));
  CHECK(info.platform[0] != '\0');
  CHECK(info.is_gpu + info.is_cpu + info.is_accelerator == 1);
  syclamp_device_info old;
  std::memset(&old, 0x5a, sizeof old);
  old.struct_size = offsetof(syclamp_device_info, platform);
  ok(syclamp_device_describe(0, &old));
  CHECK(std::string(old.name) == info.name);
  CHECK(old.struct_size == 704);
  CHECK(old.platform[0] == 0x5a);  // not a byte after the struct that the program knows
  CHECK(old.reserved == 0x5a5a5a5a);
}
