// SPDX-License-Identifier: Apache-2.0
// Engines, memory, lists, inspections and operations on gradients. Numbers are powers of two, so results are exact.
#include <cmath>
#include <limits>
#include <thread>

#include <sycl/sycl.hpp>

#include "tests/c/support.hpp"

using namespace c_tests;

TEST_CASE("devices and engines") {
  std::size_t count = 0;
  ok(syclamp_device_count(&count));
  REQUIRE(count > 0);
  auto info = sized<syclamp_device_info>();
  ok(syclamp_device_describe(0, &info));
  CHECK(info.name[0] != '\0');
  CHECK(info.compute_units > 0);
  auto options = sized<syclamp_engine_options>();
  for (const char* device : {"0", info.is_gpu ? "gpu" : "cpu:0", static_cast<const char*>(info.name)}) {
    options.device = device;
    owned<syclamp_engine> made;
    ok(syclamp_engine_create(&options, made.address()));
    const char* profile = nullptr;
    ok(syclamp_engine_profile(made, &profile));
    CHECK(std::string(profile) == info.profile);
    char* name = nullptr;
    ok(syclamp_engine_device_name(made, &name));
    CHECK(std::string(name).find(info.name) == 0);
    ok(syclamp_text_free(name));
    ok(syclamp_engine_wait(made));
  }
  auto before = sized<syclamp_engine_statistics>(), after = before;
  ok(syclamp_engine_get_statistics(engine(), &before));
  ok(syclamp_engine_wait(engine()));
  ok(syclamp_engine_get_statistics(engine(), &after));
  CHECK(after.waits == before.waits + 1);
  CHECK(syclamp_version()[0] != '\0');
  CHECK(syclamp_bytes_per_element(SYCLAMP_FLOAT16) == 2);
  CHECK(syclamp_bytes_per_element(17) == 0);
}

TEST_CASE("an engine on a queue of the program") {
  sycl::queue in_order{sycl::property::queue::in_order{}}, out_of_order;
  auto options = sized<syclamp_engine_options>();
  options.queue = &in_order;
  owned<syclamp_engine> made;
  ok(syclamp_engine_create(&options, made.address()));
  float* memory = sycl::malloc_device<float>(2, in_order);
  const float values[] = {1, 2};
  ok(syclamp_memory_copy_in(made, memory, values, sizeof values));
  const syclamp_tensor described = tensor(memory, 2);
  owned<syclamp_tensor_list> list;
  ok(syclamp_tensor_list_create(made, &described, 1, list.address()));
  ok(syclamp_scale(list, list, 4, nullptr));
  float read[2] = {};
  ok(syclamp_memory_copy_out(made, read, memory, sizeof read));
  CHECK(read[1] == 8.0f);
  sycl::free(memory, in_order);
  options.queue = &out_of_order;
  syclamp_engine none = nullptr;
  CHECK(message(SYCLAMP_INVALID_ARGUMENT, syclamp_engine_create(&options, &none)).find("in_order") !=
        std::string::npos);
  options.queue = &in_order;
  options.device = "cpu";
  CHECK(syclamp_engine_create(&options, &none) == SYCLAMP_INVALID_ARGUMENT);
}

TEST_CASE("memory of the program can be adopted where the device reads it") {
  std::vector<float> values = {1, 2, 3, 4};
  syclamp_tensor_list none = nullptr;
  const syclamp_tensor unknown = tensor(values.data(), 4);
  CHECK(syclamp_tensor_list_create(engine(), &unknown, 1, &none) == SYCLAMP_INVALID_ARGUMENT);
  const syclamp_status status = syclamp_memory_adopt(engine(), values.data(), 16);
  if (status == SYCLAMP_INVALID_ARGUMENT) SKIP(syclamp_last_error());
  ok(status);
  {
    const auto list = list_of({tensor(values.data(), 4)});
    ok(syclamp_scale(list, list, 0.5f, nullptr));
    ok(syclamp_engine_wait(engine()));
  }
  CHECK(values == std::vector<float>{0.5f, 1, 1.5f, 2});
  ok(syclamp_memory_free(values.data()));
}

TEST_CASE("lists and their addresses") {
  const device_floats first({1, 2}), second({4, 8});
  auto absent = tensor(nullptr, 3);
  absent.group = 2;
  const auto list = list_of({tensor(first.data(), 2), absent});
  auto info = sized<syclamp_tensor_list_info>();
  ok(syclamp_tensor_list_describe(list, &info));
  CHECK(info.tensors == 2);
  CHECK(info.elements == 5);
  CHECK(info.groups == 3);
  ok(syclamp_tensor_list_set_address(list, 0, second.data()));
  ok(syclamp_scale(list, list, 2, nullptr));
  CHECK(first.read() == std::vector<float>{1, 2});
  CHECK(second.read() == std::vector<float>{8, 16});
  void* const addresses[] = {first.data(), nullptr};
  ok(syclamp_tensor_list_set_addresses(list, addresses, 2));
  ok(syclamp_clear(list, nullptr));
  CHECK(first.read() == std::vector<float>{0, 0});
  void* const too_small[] = {first.data(), second.data()};  // the second tensor has three elements
  CHECK(syclamp_tensor_list_set_addresses(list, too_small, 2) == SYCLAMP_INVALID_ARGUMENT);
  auto read_only = tensor(first.data(), 2);
  read_only.read_only = 1;
  CHECK(syclamp_clear(list_of({read_only}), nullptr) == SYCLAMP_INVALID_ARGUMENT);
}

TEST_CASE("an inspection counts, and measures") {
  const float inf = std::numeric_limits<float>::infinity();
  device_floats values({3, -4, 0, 0});
  const device_floats more({1});
  const auto list = list_of({tensor(values.data(), 4), tensor(more.data(), 1)});
  owned<syclamp_inspector> inspector;
  ok(syclamp_inspector_create(list, SYCLAMP_INSPECT_HISTOGRAM, inspector.address()));
  ok(syclamp_inspector_run(inspector, 2, nullptr));
  syclamp_inspection both[2] = {sized<syclamp_inspection>()};
  ok(syclamp_inspector_tensors(inspector, both, 2));
  CHECK(both[0].norm_l2 == 5.0);
  CHECK(both[0].norm_l1 == 7.0);
  CHECK(both[0].zero_count == 2);
  CHECK(both[0].amax == 4.0f);
  CHECK(both[0].unscaled_amax == 2.0f);
  CHECK(both[0].first_nonfinite == SYCLAMP_NO_ELEMENT);
  CHECK(both[1].elements == 1);
  CHECK(std::fabs(both[0].headroom - std::log2(65504.0 / 4)) < 1e-12);
  double headroom = 0;
  ok(syclamp_inspection_headroom(&both[0], 448, &headroom));
  CHECK(std::fabs(headroom - std::log2(448.0 / 4)) < 1e-12);
  std::uint64_t counts[256];
  ok(syclamp_inspector_histogram(inspector, counts));
  CHECK(counts[127] == 1);  // 1
  CHECK(counts[128] == 1);  // 3
  CHECK(counts[129] == 1);  // 4
  values.write({3, inf, 0, std::nanf("")});
  ok(syclamp_inspector_run(inspector, 1, nullptr));
  auto whole = sized<syclamp_inspection>();
  ok(syclamp_inspector_result(inspector, &whole));
  CHECK(whole.flags == (SYCLAMP_FOUND_INF | SYCLAMP_FOUND_NAN));
  CHECK(whole.inf_count == 1);
  CHECK(whole.nan_count == 1);
  CHECK(whole.first_nonfinite == 1);
  ok(syclamp_inspector_tensor(inspector, 1, &whole));
  CHECK(whole.flags == 0);
  ok(syclamp_inspector_group(inspector, 0, &whole));
  CHECK(whole.elements == 5);
}

TEST_CASE("unscale, accumulate, clip and cast") {
  device_floats scaled({8, 0, 0, 6});
  const device_floats unscaled({0, 0, 0, 0}), factor({2});
  const auto in = list_of({tensor(scaled.data(), 4)}), out = list_of({tensor(unscaled.data(), 4)});
  owned<syclamp_inspector> inspector;
  ok(syclamp_inspector_create(in, SYCLAMP_INSPECT_TENSORS, inspector.address()));
  owned<syclamp_unscaled> gradients;
  ok(syclamp_inspector_unscale(inspector, out, 0, factor.data(), gradients.address()));
  CHECK(unscaled.read() == std::vector<float>{4, 0, 0, 3});
  ok(syclamp_clip(inspector, gradients, 2.5f, nullptr, SYCLAMP_NORM_L2));
  float norm = 0, coefficient = 0;
  ok(syclamp_clip_result(inspector, 0, &norm, &coefficient));
  CHECK(norm == 5.0f);
  CHECK(std::fabs(coefficient - 0.5f) < 1e-6f);
  CHECK(std::fabs(unscaled.read()[0] - 2.0f) < 1e-5f);
  ok(syclamp_unscale(in, out, 2, nullptr, nullptr));
  ok(syclamp_clip_by_group(inspector, gradients, 3, nullptr, SYCLAMP_NORM_L_INFINITY));
  CHECK(std::fabs(unscaled.read()[0] - 3.0f) < 1e-5f);
  ok(syclamp_unscale(in, out, 2, nullptr, nullptr));
  ok(syclamp_clip_by_value(gradients, 1, nullptr));
  CHECK(unscaled.read() == std::vector<float>{1, 0, 0, 1});
  ok(syclamp_accumulate(in, out, 2, nullptr, nullptr, nullptr));
  CHECK(unscaled.read() == std::vector<float>{5, 0, 0, 4});
  scaled.write({std::numeric_limits<float>::infinity(), 1, 1, 1});
  ok(syclamp_inspector_run(inspector, 1, nullptr));
  ok(syclamp_accumulate(in, out, 2, nullptr, inspector, nullptr));  // dropped as a whole
  CHECK(unscaled.read() == std::vector<float>{5, 0, 0, 4});
  ok(syclamp_clear(out, inspector));
  CHECK(unscaled.read() == std::vector<float>{0, 0, 0, 0});

  scaled.write({1, 65504, 100000, -2});
  const device_values<std::uint16_t> halves(std::vector<std::uint16_t>(4));
  const device_values<std::uint64_t> outside({0});
  auto options = sized<syclamp_cast_options>();
  options.saturate = 1;
  options.device_saturated = outside.data();
  ok(syclamp_cast(in, list_of({tensor(halves.data(), 4, SYCLAMP_FLOAT16)}), &options));
  CHECK(halves.read() == std::vector<std::uint16_t>{0x3c00, 0x7bff, 0x7bff, 0xc000});
  CHECK(outside.read()[0] == 1);
}

TEST_CASE("numbers are rounded and widened on the host") {
  const float values[] = {1.0f, 65504.0f, 65520.0f, 0x1p-24f, 1.0f + 0x1p-11f, std::nanf("")};
  const std::uint16_t halves[] = {0x3c00, 0x7bff, 0x7c00, 0x0001, 0x3c00};
  std::uint16_t bits[6];
  ok(syclamp_host_round(values, SYCLAMP_FLOAT16, bits, 6));
  for (int i = 0; i < 5; ++i) CHECK(bits[i] == halves[i]);
  float back[6];
  ok(syclamp_host_widen(bits, SYCLAMP_FLOAT16, back, 6));
  CHECK(back[3] == 0x1p-24f);
  CHECK(std::isnan(back[5]));
  const float ties[] = {1.0f + 0x1p-8f, 1.0f + 0x3p-8f, 0x1.fffp127f, -std::numeric_limits<float>::infinity(),
                        std::nanf("")};
  ok(syclamp_host_round(ties, SYCLAMP_BFLOAT16, bits, 5));
  CHECK(bits[0] == 0x3f80);
  CHECK(bits[1] == 0x3f82);
  CHECK(bits[2] == 0x7f80);
  CHECK(bits[3] == 0xff80);
  ok(syclamp_host_widen(bits, SYCLAMP_BFLOAT16, back, 5));
  CHECK(back[1] == 1.0f + 0x1p-6f);
  CHECK(std::isnan(back[4]));
}

TEST_CASE("messages belong to a thread, and threads may share an engine") {
  CHECK(syclamp_scaler_update(nullptr) == SYCLAMP_INVALID_HANDLE);
  const std::string here = syclamp_last_error();
  engine();  // made before objects are counted
  const std::size_t live = syclamp_live_objects();
  std::vector<std::thread> threads;
  std::vector<int> failures(4, 0);
  for (std::size_t t = 0; t < failures.size(); ++t)
    threads.emplace_back([&failures, t] {
      failures[t] += syclamp_last_error()[0] != '\0';  // nothing has failed on this thread
      for (int i = 0; i < 25; ++i) {
        void* memory = nullptr;
        syclamp_tensor_list list = nullptr;
        float values[64] = {};
        failures[t] += syclamp_memory_allocate(engine(), sizeof values, SYCLAMP_DEVICE_MEMORY, &memory) != SYCLAMP_OK;
        failures[t] += syclamp_memory_fill(engine(), memory, 0, sizeof values) != SYCLAMP_OK;
        const syclamp_tensor described = tensor(memory, 64);
        failures[t] += syclamp_tensor_list_create(engine(), &described, 1, &list) != SYCLAMP_OK;
        failures[t] += syclamp_scale(list, list, 2, nullptr) != SYCLAMP_OK;
        failures[t] += syclamp_memory_copy_out(engine(), values, memory, sizeof values) != SYCLAMP_OK;
        failures[t] += syclamp_memory_free(memory) != SYCLAMP_OK;
        failures[t] += syclamp_tensor_list_destroy(list) != SYCLAMP_OK;
        failures[t] += syclamp_tensor_list_destroy(list) != SYCLAMP_INVALID_HANDLE;
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(failures == std::vector<int>(4, 0));
  CHECK(here == syclamp_last_error());
  CHECK(syclamp_live_objects() == live);
}

TEST_CASE("the handler of warnings can be set") {
  ok(syclamp_on_warning([](void* user, const char*) { ++*static_cast<int*>(user); }, nullptr));
  ok(syclamp_on_warning(nullptr, nullptr));
}

TEST_CASE("a list describes its tensors") {
  device_floats values({1, 2, 3});
  auto first = tensor(values.data(), 2), second = tensor(nullptr, 7, SYCLAMP_BFLOAT16);
  first.name = "layer.weight";
  first.group = 1;
  first.read_only = 1;
  second.replicated = 1;
  const auto list = list_of({first, second});
  auto found = sized<syclamp_tensor>();
  ok(syclamp_tensor_list_tensor(list, 0, &found));
  CHECK(found.address == values.data());
  CHECK(found.count == 2);
  CHECK(found.type == SYCLAMP_FLOAT32);
  CHECK(found.group == 1);
  CHECK(std::string(found.name) == "layer.weight");
  CHECK(found.replicated == 0);
  CHECK(found.read_only == 1);
  ok(syclamp_tensor_list_tensor(list, 1, &found));
  CHECK(found.address == nullptr);
  CHECK(found.count == 7);
  CHECK(found.type == SYCLAMP_BFLOAT16);
  CHECK(found.name[0] == '\0');
  CHECK(found.replicated == 1);
  CHECK(found.read_only == 0);
  CHECK(syclamp_tensor_list_tensor(list, 2, &found) == SYCLAMP_INVALID_ARGUMENT);
  ok(syclamp_tensor_list_set_address(list, 0, values.data() + 1));
  ok(syclamp_tensor_list_tensor(list, 0, &found));
  CHECK(found.address == values.data() + 1);
  CHECK(found.read_only == 0);  // a new address is writable
}

TEST_CASE("results of an inspection are in device memory as well") {
  const device_floats values({3, -4, 0, 8});
  auto second = tensor(values.data() + 3, 1);
  second.group = 1;
  const auto list = list_of({tensor(values.data(), 3), second});
  owned<syclamp_inspector> inspector, plain;
  ok(syclamp_inspector_create(list, SYCLAMP_INSPECT_HISTOGRAM, inspector.address()));
  ok(syclamp_inspector_create(list, SYCLAMP_INSPECT_LIST, plain.address()));
  ok(syclamp_inspector_run(inspector, 2, nullptr));
  const syclamp_device_inspection *whole = nullptr, *tensors = nullptr, *groups = nullptr;
  const std::uint64_t* histogram = nullptr;
  ok(syclamp_inspector_device_results(inspector, &whole, &tensors, &groups, &histogram));
  syclamp_device_inspection read[2];
  ok(syclamp_memory_copy_out(engine(), read, whole, sizeof read[0]));
  CHECK(read[0].elements == 4);
  CHECK(read[0].zero_count == 1);
  CHECK(read[0].amax == 8.0f);
  CHECK(read[0].amax_bits == 0x4020000000000000);  // 8 as an FP64
  CHECK(read[0].unscaled_amax == 4.0f);
  CHECK(read[0].scale == 2.0f);
  CHECK(read[0].sum_of_squares == 89.0f);
  CHECK(read[0].squares_exponent == 0);
  CHECK(read[0].first_nonfinite == SYCLAMP_NO_ELEMENT);
  ok(syclamp_memory_copy_out(engine(), read, tensors, sizeof read));
  CHECK(read[0].abs_sum == 7.0f);
  CHECK(read[1].abs_sum == 8.0f);
  ok(syclamp_memory_copy_out(engine(), read, groups, sizeof read));
  CHECK(read[1].elements == 1);
  std::uint64_t counts[256];
  ok(syclamp_memory_copy_out(engine(), counts, histogram, sizeof counts));
  CHECK(counts[130] == 1);  // 8
  ok(syclamp_inspector_device_results(plain, &whole, &tensors, &groups, &histogram));
  CHECK(whole != nullptr);
  CHECK(tensors == nullptr);
  CHECK(groups == nullptr);
  CHECK(histogram == nullptr);

  owned<syclamp_tensor_list> inspected;
  ok(syclamp_inspector_list(inspector, inspected.address()));
  auto described = sized<syclamp_tensor>();
  ok(syclamp_tensor_list_tensor(inspected, 1, &described));
  CHECK(described.address == values.data() + 3);
  CHECK(syclamp_inspector_list(inspector, nullptr) == SYCLAMP_INVALID_ARGUMENT);
}

TEST_CASE("one array is inspected without an inspector") {
  const device_floats values({3, -4, std::numeric_limits<float>::infinity()});
  auto found = sized<syclamp_inspection>();
  ok(syclamp_inspect(engine(), values.data(), 2, SYCLAMP_FLOAT32, &found));
  CHECK(found.norm_l2 == 5.0);
  CHECK(found.flags == 0);
  ok(syclamp_inspect(engine(), values.data(), 3, SYCLAMP_FLOAT32, &found));
  CHECK(found.first_nonfinite == 2);
  ok(syclamp_inspect(engine(), nullptr, 0, SYCLAMP_FLOAT16, &found));
  CHECK(found.elements == 0);
  CHECK(syclamp_inspect(engine(), values.data(), 4, SYCLAMP_FLOAT32, &found) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_inspect(engine(), values.data(), ~0ull, SYCLAMP_FLOAT32, &found) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_inspect(engine(), values.data(), 1, 6, &found) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_inspect(engine(), nullptr, 1, SYCLAMP_FLOAT32, &found) == SYCLAMP_INVALID_ARGUMENT);
}
