// SPDX-License-Identifier: Apache-2.0
// Results do not depend on how work is divided: by the number of compute units, or among devices that work at once.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <exception>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "launch/kernel_library.hpp"
#include "tests/support/device_buffer.hpp"
#include "tests/support/devices.hpp"

using namespace syclamp;

namespace {

/// Everything that a training leaves behind, as bits.
struct remains {
  std::vector<std::uint32_t> weights;
  std::vector<unsigned char> records, statistics;
  bool operator==(const remains&) const = default;
};

template <typename T>
void append_bytes(std::vector<unsigned char>& bytes, const T& value) {
  const auto* first = reinterpret_cast<const unsigned char*>(&value);
  bytes.insert(bytes.end(), first, first + sizeof value);
}

/// Gradients of many magnitudes, so that the order of a sum shows in its last bits.
std::vector<float> gradients_of(std::size_t count, int step) {
  std::vector<float> values(count);
  std::uint32_t state = 1000u + static_cast<std::uint32_t>(step);
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = std::bit_cast<float>((state & 0x807fffffu) | (100u + (state >> 24 & 31u)) << 23);
  }
  return values;
}

/// Steps of an optimizer, one of them skipped, with clipping and an inspection per tensor.
remains train(const engine& engine, const optimizer_settings& settings) {
  // More chunks than the largest profile has work-groups on two compute units, so that numbers of units matter.
  constexpr std::size_t sizes[] = {4'000'001, 3, 65'536, 700'000, 1};
  std::vector<std::unique_ptr<device_buffer<float>>> gradients, weights;
  std::vector<parameter> parameters;
  std::vector<tensor> tensors;
  for (const std::size_t size : sizes) {
    gradients.push_back(std::make_unique<device_buffer<float>>(engine.queue(), std::vector<float>(size)));
    weights.push_back(std::make_unique<device_buffer<float>>(engine.queue(), std::vector<float>(size, 1.0f)));
    parameters.push_back({.gradient = {gradients.back()->data(), size}, .model = {weights.back()->data(), size}});
    tensors.push_back({gradients.back()->data(), size});
  }
  fused_optimizer optimizer(engine, parameters, settings);
  loss_scaler scaler(engine, {.init_scale = 8, .growth_interval = 2});
  const inspector inspector(tensor_list(engine, tensors), inspection_level::histogram);

  remains left;
  for (int step = 0; step < 3; ++step) {
    for (std::size_t i = 0; i < std::size(sizes); ++i) {
      std::vector<float> values = gradients_of(sizes[i], step);
      if (step == 1 && i == 3) values[300'000] = std::numeric_limits<float>::infinity();
      engine.queue().memcpy(gradients[i]->data(), values.data(), values.size() * sizeof(float)).wait();
    }
    scaler.begin_step();
    scaler.step(optimizer, {.max_norm = 0.5f});
    scaler.update();
    inspector.run(scalar(8.0f));
    append_bytes(left.statistics, inspector.result());
    for (const inspection& result : inspector.tensors()) append_bytes(left.statistics, result);
    append_bytes(left.statistics, inspector.histogram());
  }
  engine.wait();
  for (const ledger_entry& entry : scaler.ledger()) append_bytes(left.records, entry.record);
  for (const auto& buffer : weights)
    for (const float weight : buffer->read()) left.weights.push_back(std::bit_cast<std::uint32_t>(weight));
  return left;
}

/// Two devices: halves of the machine's first one, or twice that device if it has no halves.
std::vector<sycl::device> two_devices() {
  const sycl::device device = all_engines().front().queue().get_device();
  constexpr auto equally = sycl::info::partition_property::partition_equally;
  const auto units = device.get_info<sycl::info::device::max_compute_units>();
  const auto ways = device.get_info<sycl::info::device::partition_properties>();
  if (units < 2 || std::find(ways.begin(), ways.end(), equally) == ways.end() ||
      device.get_info<sycl::info::device::partition_max_sub_devices>() < 2)
    return {device, device};
  auto parts = device.create_sub_devices<equally>(units / 2);
  parts.resize(2);
  return parts;
}

}  // namespace

TEST_CASE("law 9: results have the same bits on devices with other numbers of compute units", "[limits]") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const optimizer_settings settings = lamb{.lr = 0.01};  // which also needs norms of tensors
  const auto units = engine.queue().get_device().get_info<sycl::info::device::max_compute_units>();

  const remains expected = train(engine, settings);
  for (const std::uint64_t pretended : {1, 1000}) {
    CAPTURE(pretended);
    engine.kernels().set_compute_units(pretended);
    const remains found = train(engine, settings);
    CHECK((found.statistics == expected.statistics));  // millions of numbers are not printed
    CHECK((found.records == expected.records));
    CHECK((found.weights == expected.weights));
  }
  engine.kernels().set_compute_units(units);
}

TEST_CASE("two devices, two contexts and two queues work at once, from two threads", "[limits]") {
  const optimizer_settings settings = adamw{.lr = 0.01};
  const auto devices = two_devices();
  const sycl::context shared_context{devices.front()};
  const auto in_order = sycl::property_list{sycl::property::queue::in_order{}};
  const std::vector<std::vector<engine>> pairs = {
      {engine(sycl::queue{devices[0], in_order}), engine(sycl::queue{devices[1], in_order})},
      {engine(sycl::queue{sycl::context(devices[0]), devices[0], in_order}),
       engine(sycl::queue{sycl::context(devices[0]), devices[0], in_order})},
      {engine(sycl::queue{shared_context, devices[0], in_order}),
       engine(sycl::queue{shared_context, devices[0], in_order})}};

  for (std::size_t i = 0; i < pairs.size(); ++i) {
    CAPTURE(i);
    const remains expected = train(pairs[i].front(), settings);
    std::vector<remains> found(2);
    std::vector<std::exception_ptr> failures(2);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < 2; ++t)
      threads.emplace_back([&, t] {
        try {
          for (int repeat = 0; repeat < 3; ++repeat) found[t] = train(pairs[i][t], settings);
        } catch (...) {
          failures[t] = std::current_exception();
        }
      });
    for (std::thread& thread : threads) thread.join();
    for (const std::exception_ptr& failure : failures)
      if (failure) std::rethrow_exception(failure);
    CHECK((found[0] == expected));
    CHECK((found[1] == expected));
  }
}
