// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "engine/device_memory.hpp"
#include "syclamp/syclamp.hpp"
#include "tensors/address_checks.hpp"
#include "tensors/tensor_table.hpp"
#include "tests/reference/inspect.hpp"
#include "tests/support/device_buffer.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/formats.hpp"

using namespace syclamp;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

inspection inspect_list(const engine& engine, std::vector<tensor> tensors) {
  const inspector inspector(tensor_list(engine, std::move(tensors)));
  inspector.run();
  return inspector.result();
}

/// Tensors of all types and of sizes round every boundary, cut from one piece of memory that is full of canaries.
struct mixed_tensors {
  explicit mixed_tensors(const engine& engine, bool aligned) : memory(engine.queue(), make(aligned)) {
    for (std::size_t i = 0; i < places.size(); ++i)
      tensors.push_back({{memory.data() + places[i].offset, places[i].type}, places[i].count, "t" + std::to_string(i)});
  }

  struct place {
    std::size_t offset;
    std::uint64_t count;
    element_type type;
  };

  std::vector<std::uint8_t> make(bool aligned) {
    std::mt19937 random(11);
    std::vector<std::uint8_t> bytes;
    for (const std::uint64_t count :
         {0, 1, 2, 15, 16, 17, 63, 64, 65, 127, 129, 4095, 4097, 65535, 65536, 65537, 70000})
      for (const element_type type : element_types) {
        const std::size_t step = aligned ? 64 : bytes_per_element(type);
        bytes.resize((bytes.size() + step - 1) / step * step + (aligned ? 0 : bytes_per_element(type)), 0xff);
        places.push_back({bytes.size(), count, type});
        for (std::uint64_t i = 0; i < count; ++i) append(bytes, type, random());
        if (!aligned) bytes.resize(bytes.size() + 3, 0xff);
      }
    bytes.resize(bytes.size() + 256, 0xff);
    content = bytes;
    return bytes;
  }

  /// Finite numbers not far from 1, one in eight a zero or a subnormal.
  static void append(std::vector<std::uint8_t>& bytes, element_type type, std::uint64_t draw) {
    const auto format = format_of(type);
    const int bias = (1 << (format.exponent_bits - 1)) - 1;
    const std::uint64_t fraction = draw & ((std::uint64_t{1} << format.fraction_bits) - 1);
    const std::uint64_t exponent = static_cast<std::uint64_t>(std::max(bias - 13, 1)) + (draw >> 10) % 14;
    const std::uint64_t sign = draw >> 31 << (format.fraction_bits + format.exponent_bits);
    const std::uint64_t bits = sign | fraction | (draw % 8 == 0 ? 0 : exponent << format.fraction_bits);
    const auto* raw = reinterpret_cast<const std::uint8_t*>(&bits);
    bytes.insert(bytes.end(), raw, raw + bytes_per_element(type));
  }

  reference::statistics expected(std::size_t index) const {
    const place& place = places[index];
    return reference::inspect(place.count, format_of(place.type), [&](std::uint64_t i) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, content.data() + place.offset + i * bytes_per_element(place.type),
                  bytes_per_element(place.type));
      return bits;
    });
  }

  std::vector<place> places;
  std::vector<std::uint8_t> content;
  device_buffer<std::uint8_t> memory;
  std::vector<tensor> tensors;
};

}  // namespace

TEST_CASE("a list of all types and sizes is inspected as one, aligned or not") {
  const engine& engine = any_engine();
  const bool aligned = GENERATE(true, false);
  CAPTURE(engine.profile_name(), aligned);
  const mixed_tensors given(engine, aligned);
  reference::statistics truth;
  std::uint64_t elements = 0;
  for (std::size_t i = 0; i < given.tensors.size(); ++i) {
    const auto entry = given.expected(i);
    elements += given.places[i].count;
    truth.zero_count += entry.zero_count;
    truth.subnormal_count += entry.subnormal_count;
    truth.amax = std::max(truth.amax, entry.amax);
    truth.sum_of_squares += entry.sum_of_squares;
  }

  const inspection result = inspect_list(engine, given.tensors);

  CHECK(result.elements == elements);
  CHECK(result.zero_count == truth.zero_count);
  CHECK(result.subnormal_count == truth.subnormal_count);
  CHECK(std::bit_cast<double>(result.amax_bits) == truth.amax);
  CHECK(result.all_finite());
  // As for one array (inspect_tests.cpp), but a chunk holds up to 1024 pieces, each of which ends a block.
  CHECK(std::abs(static_cast<double>(result.sum_of_squares) - truth.sum_of_squares) <=
        (64 + 1024 + 31 + 6 + 10 + 4 + 2) * 0x1p-24 * truth.sum_of_squares);
}

TEST_CASE("the first bad tensor and its element are named, the lowest of several") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const mixed_tensors given(engine, true);
  const auto poison = [&](std::size_t index, std::uint64_t element, std::uint32_t bits) {
    const auto& place = given.places[index];
    engine.queue()
        .memcpy(given.memory.data() + place.offset + element * bytes_per_element(place.type), &bits,
                bytes_per_element(place.type))
        .wait();
  };

  const auto last_of = [&](element_type type) {
    std::size_t index = given.places.size() - 1;
    while (given.places[index].type != type) --index;
    return index;
  };
  const std::size_t last = last_of(element_type::float32), middle = last_of(element_type::float16),
                    earlier = middle - std::size(element_types);
  poison(last, given.places[last].count - 1, 0xff800000);  // -Inf in FP32
  inspection result = inspect_list(engine, given.tensors);
  CHECK(result.first_nonfinite_tensor == last);
  CHECK(result.first_nonfinite == given.places[last].count - 1);
  CHECK(result.flags == found_inf);

  poison(middle, 64000, 0x7c01);  // a signalling NaN
  poison(middle, 64001, 0x7c00);  // Inf
  result = inspect_list(engine, given.tensors);
  CHECK(result.first_nonfinite_tensor == middle);
  CHECK(result.first_nonfinite == 64000);

  poison(earlier, 0, 0xfc00);  // the very first element of its tensor
  result = inspect_list(engine, given.tensors);
  CHECK(result.first_nonfinite_tensor == earlier);
  CHECK(result.first_nonfinite == 0);
}

TEST_CASE("many small tensors give what one large one gives") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  // Transformer Engine ran out of handles at this number: https://github.com/NVIDIA/TransformerEngine/pull/3418
  const std::size_t count = 20'321;
  std::vector<float> data(count * 7);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i % 5);
  const device_buffer<float> memory(engine.queue(), data);
  std::vector<tensor> tensors;
  for (std::size_t i = 0; i < count; ++i) tensors.push_back({memory.data() + 7 * i, 7});

  const inspection small = inspect_list(engine, tensors), large = inspect(engine, {memory.data(), data.size()});

  CHECK(small.elements == large.elements);
  CHECK(small.zero_count == large.zero_count);
  CHECK(small.amax == large.amax);
  CHECK(small.sum_of_squares == large.sum_of_squares);  // integers below 2^24: exact in any order
}

TEST_CASE("an empty list, empty tensors, absent tensors and repeated ones are all right") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const device_buffer<float> memory(engine.queue(), std::vector<float>(1000, 2.0f));
  float* const absent = nullptr;

  CHECK(inspect_list(engine, {}).elements == 0);
  CHECK(inspect_list(engine, {{absent, 0}, {memory.data(), 0}}).elements == 0);
  const inspection result = inspect_list(
      engine, {{absent, 1000}, {memory.data(), 10}, {memory.data(), 0}, {memory.data(), 10}, {absent, 70'000}});
  CHECK(result.elements == 20);
  CHECK(result.sum_of_squares == 80.0f);
}

TEST_CASE("addresses change between steps without waiting, and a tensor may come and go") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const device_buffer<float> ones(engine.queue(), std::vector<float>(100, 1.0f));
  const device_buffer<float> twos(engine.queue(), std::vector<float>(100, 2.0f));
  tensor_list list(engine, {{ones.data(), 100, "first"}, {ones.data(), 100, "second"}});
  const inspector inspector(list);

  for (int i = 0; i < 10; ++i) {
    list.set_address(0, i % 2 == 0 ? twos.data() : nullptr);
    inspector.run();
    CHECK(inspector.result().sum_of_squares == (i % 2 == 0 ? 500.0f : 100.0f));
  }
  for (int i = 0; i < 10; ++i) {  // without a look in between: later uploads must not overtake earlier kernels
    list.set_address(0, i % 2 == 0 ? twos.data() : ones.data());
    inspector.run();
  }
  CHECK(inspector.result().sum_of_squares == 200.0f);
}

TEST_CASE("all addresses are set in one call, or none of them") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const device_buffer<float> ones(engine.queue(), std::vector<float>(100, 1.0f));
  const device_buffer<float> twos(engine.queue(), std::vector<float>(100, 2.0f));
  tensor_list list(engine, {{ones.data(), 10, "first"}, {ones.data() + 10, 20, "second"}, {ones.data(), 0, "third"}});
  const inspector inspector(list);
  const auto sum = [&] {
    inspector.run();
    return inspector.result().sum_of_squares;
  };
  CHECK(sum() == 30.0f);
  list.set_addresses(std::vector<void*>{twos.data() + 50, twos.data(), nullptr});
  CHECK(sum() == 120.0f);
  list.set_addresses(std::vector<void*>{nullptr, twos.data(), nullptr});
  CHECK(sum() == 80.0f);

  auto* crooked = reinterpret_cast<std::byte*>(ones.data()) + 1;
  const std::vector<void*> bad{ones.data(), crooked, nullptr};
  CHECK_THROWS_MATCHES(list.set_addresses(bad), invalid_argument,
                       MessageMatches(ContainsSubstring("tensor 1 (\"second\")")));
  CHECK_THROWS_MATCHES(list.set_addresses(std::vector<void*>{ones.data()}), invalid_argument,
                       MessageMatches(ContainsSubstring("1 addresses, but the list has 3")));
  CHECK(list[0].data() == nullptr);
  CHECK(list[1].data() == twos.data());
  CHECK(sum() == 80.0f);

  const device_buffer<float> halves(engine.queue(), std::vector<float>(100, 0.5f));
  for (int i = 0; i < 10; ++i) {  // faster than the device: later uploads must not overtake earlier kernels
    float* const data = i % 2 == 0 ? ones.data() : halves.data();
    list.set_addresses(std::vector<void*>{data, data + 10, nullptr});
    inspector.run();
  }
  CHECK(inspector.result().sum_of_squares == 7.5f);
}

TEST_CASE("overlaps are found whatever the order of the addresses, again when they change") {
  const engine& engine = all_engines().front();
  constexpr std::size_t count = 1000, size = 8;
  const device_buffer<float> from(engine.queue(), std::vector<float>(count * size)),
      to(engine.queue(), std::vector<float>(count * size));
  std::mt19937 random(3);
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), random);
  std::vector<tensor> inputs, outputs;
  for (std::size_t i = 0; i < count; ++i) {
    inputs.push_back({from.data() + i * size, size});
    outputs.push_back({to.data() + order[i] * size, size});
  }
  const tensor_list in(engine, inputs);
  tensor_list out(engine, outputs);
  CHECK_NOTHROW(cast(in, out));
  for (const std::size_t i : {std::size_t{0}, count / 2, count - 1}) {
    CAPTURE(i);
    void* const place = out.writable(i).data();
    out.set_address(i, to.data() + order[(i + 1) % count] * size + size / 2);  // half on another output
    CHECK_THROWS_MATCHES(cast(in, out), invalid_argument, MessageMatches(ContainsSubstring("overlaps the output")));
    out.set_address(i, from.data() + ((i + 3) % (count - 1)) * size + 1);  // on two inputs
    CHECK_THROWS_MATCHES(cast(in, out), invalid_argument, MessageMatches(ContainsSubstring("overlaps the input")));
    out.set_address(i, in.writable(i).data());  // in place
    CHECK_NOTHROW(cast(in, out));
    out.set_address(i, place);
    CHECK_NOTHROW(cast(in, out));
  }
  engine.wait();
}

TEST_CASE("addresses are asked for where the device cannot read all memory, and once only") {
  const engine& engine = all_engines().front();
  const device_buffer<float> memory(engine.queue(), {1.0f});
  const std::vector<float> of_host(1);
  const auto address = [](const float* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); };
  if (sycl::get_pointer_type(of_host.data(), engine.queue().get_context()) != sycl::usm::alloc::unknown)
    SKIP("this runtime takes every address of the host for USM memory");
  address_checks checks(engine.queue(), 1, false);
  CHECK(checks.is_known(0));
  CHECK_FALSE(checks.is_known(address(memory.data())));
  checks.ask(0, "weight", address(memory.data()));
  CHECK(checks.is_known(address(memory.data())));
  CHECK_FALSE(checks.is_known(address(memory.data()) + 4));
  CHECK_THROWS_MATCHES(checks.ask(0, "weight", address(of_host.data())), invalid_argument,
                       MessageMatches(ContainsSubstring("\"weight\"") && ContainsSubstring("not USM memory")));
  const sycl::queue other(sycl::context(engine.queue().get_device()), engine.queue().get_device());
  const device_buffer<float> foreign(other, {1.0f});
  CHECK_THROWS_AS(checks.ask(0, "weight", address(foreign.data())), invalid_argument);
}

TEST_CASE("memory of a part of a device is as good as that of the whole, in a context of all its parts") {
  const sycl::device device = all_engines().front().queue().get_device();
  const auto ways = device.get_info<sycl::info::device::partition_properties>();
  const auto equally = sycl::info::partition_property::partition_equally;
  if (std::find(ways.begin(), ways.end(), equally) == ways.end() ||
      device.get_info<sycl::info::device::partition_max_sub_devices>() < 2)
    SKIP("the device cannot be divided");
  const auto units = device.get_info<sycl::info::device::max_compute_units>();
  const auto parts = device.create_sub_devices<equally>(units / 2);
  const sycl::context context(parts);
  std::vector<std::unique_ptr<device_buffer<float>>> buffers;
  for (const sycl::device& part : parts)
    buffers.push_back(std::make_unique<device_buffer<float>>(
        sycl::queue(context, part, sycl::property::queue::in_order{}), std::vector<float>(100, 2.0f)));
  for (const sycl::device& part : parts) {
    const syclamp::engine engine(sycl::queue(context, part, sycl::property::queue::in_order{}));
    for (const auto& buffer : buffers) {
      CHECK_NOTHROW(tensor_list(engine, array_view(buffer->data(), 100)));
      CHECK(inspect(engine, array_view(buffer->data(), 100)).sum_of_squares == 400.0f);
    }
    address_checks strict(engine.queue(), 1, false);
    for (const auto& buffer : buffers)
      CHECK_NOTHROW(strict.ask(0, "", reinterpret_cast<std::uintptr_t>(buffer->data())));
    const std::vector<float> of_host(1);
    CHECK_THROWS_AS(strict.ask(0, "", reinterpret_cast<std::uintptr_t>(of_host.data())), invalid_argument);
  }
}

TEST_CASE("what a list cannot hold is refused by the name of the tensor") {
  const engine& engine = all_engines().front();
  const device_buffer<float> memory(engine.queue(), std::vector<float>(10, 1.0f));
  auto* crooked = reinterpret_cast<std::byte*>(memory.data()) + 1;
  tensor_list list(engine, {{memory.data(), 10, "weight"}});

  CHECK_THROWS_MATCHES(tensor_list(engine, {{memory.data(), 1}, {{crooked, element_type::float16}, 1, "bias"}}),
                       invalid_argument, MessageMatches(ContainsSubstring("tensor 1 (\"bias\")")));
  CHECK_THROWS_MATCHES(list.set_address(0, crooked), invalid_argument, MessageMatches(ContainsSubstring("weight")));
  CHECK_THROWS_MATCHES(list.set_address(1, memory.data()), invalid_argument,
                       MessageMatches(ContainsSubstring("tensor 1")));
  CHECK_THROWS_AS(tensor_list(engine, {{memory.data(), 1, "w", 1u << 22}}), invalid_argument);
  float* const absent = nullptr;
  CHECK_THROWS_MATCHES(
      tensor_list(engine, {{absent, std::uint64_t{1} << 63, "half"}, {absent, std::uint64_t{1} << 63, "other half"}}),
      invalid_argument, MessageMatches(ContainsSubstring("tensor 0 (\"half\")")));
}

TEST_CASE("fifty thousand small tensors and their inspection stay within their memory") {
  const engine& engine = all_engines().front();
  const device_buffer<float> memory(engine.queue(), std::vector<float>(100, 1.0f));

  const std::uint64_t before = device_bytes_counter();
  const tensor_list list(engine, std::vector<tensor>(50'000, {memory.data(), 100}));
  const inspector inspector(list);

  CHECK(device_bytes_counter() - before <= (std::uint64_t{1} << 20) + list.elements() * 4 / 1000);
}

TEST_CASE("one large tensor costs next to nothing") {
  const engine& engine = all_engines().front();
  std::uint16_t* const absent = nullptr;

  const std::uint64_t before = device_bytes_counter();
  const tensor_list list(engine, array_view(absent, std::uint64_t{1} << 40, element_type::float16));
  const inspector inspector(list);

  CHECK(device_bytes_counter() - before <= (std::uint64_t{1} << 20) + 2 * list.elements() / 1000);
}
