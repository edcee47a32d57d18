// SPDX-License-Identifier: Apache-2.0
// wmma against sums in double precision, and the counts of memory transactions.
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include "tests/emulator/tiny_kernel.hpp"
#include "tools/emulator/statistics.hpp"

namespace {

std::string registers(int first, int count = 8) {
  std::string list = "{";
  for (int i = 0; i < count; ++i) list += (i > 0 ? ", %r" : "%r") + std::to_string(first + i);
  return list + "}";
}

const std::string product = "wmma.load.a.sync.aligned.row.m16n16k16.f16 " + registers(10) + ", [%rd1], %r3;\n" +
                            "wmma.load.b.sync.aligned.row.m16n16k16.f16 " + registers(20) + ", [%rd2], %r3;\n" +
                            "wmma.load.c.sync.aligned.row.m16n16k16.f32 " + registers(30) + ", [%rd3], %r3;\n" +
                            "wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32 " + registers(40) + ", " + registers(10) +
                            ", " + registers(20) + ", " + registers(30) + ";\n" +
                            "wmma.store.d.sync.aligned.row.m16n16k16.f32 [%rd3], " + registers(40) + ", %r3;\n";

const std::string bf16_product = "wmma.load.a.sync.aligned.row.m16n16k16.bf16 " + registers(10, 4) +
                                 ", [%rd1], %r3;\n" + "wmma.load.b.sync.aligned.row.m16n16k16.bf16 " +
                                 registers(20, 4) + ", [%rd2], %r3;\n" + "wmma.load.c.sync.aligned.row.m16n16k16.f32 " +
                                 registers(30) + ", [%rd3], %r3;\n" +
                                 "wmma.mma.sync.aligned.row.row.m16n16k16.f32.bf16.bf16.f32 " + registers(40) + ", " +
                                 registers(10, 4) + ", " + registers(20, 4) + ", " + registers(30) + ";\n" +
                                 "wmma.store.d.sync.aligned.row.m16n16k16.f32 [%rd3], " + registers(40) + ", %r3;\n";

struct bfloat16 {
  bfloat16() = default;
  explicit bfloat16(float value) { std::memcpy(&bits, reinterpret_cast<const char*>(&value) + 2, 2); }  // truncates
  std::uint16_t bits;
};

template <typename Number>
struct operands {
  alignas(32) Number a[256], b[256];
  alignas(32) float c[256];
};

template <typename Number>
void run_product(operands<Number>& data, const std::string& body, std::uint32_t group_size) {
  const auto begin = reinterpret_cast<std::uint64_t>(&data);
  const emulator::allocation_finder finder = [&](std::uint64_t) {
    return emulator::extent{begin, begin + sizeof data};
  };
  emulator::launch_options options;
  options.group_size = group_size;
  const std::uint64_t addresses[] = {reinterpret_cast<std::uint64_t>(data.a), reinterpret_cast<std::uint64_t>(data.b),
                                     reinterpret_cast<std::uint64_t>(data.c)};
  emulator::launch(tiny_kernel(body, 3), options, addresses, finder);
}

emulator::warp_access every_lane(std::vector<std::uint64_t>& addresses, std::uint64_t stride, std::uint32_t bytes) {
  for (std::uint64_t lane = 0; lane < 32; ++lane) addresses.push_back(lane * stride);
  return {addresses.data(), ~emulator::lane_mask{0}, bytes};
}

}  // namespace

TEMPLATE_TEST_CASE("a product of matrices by a warp", "", _Float16, bfloat16) {
  operands<TestType> data;
  for (int i = 0; i < 256; ++i) {
    data.a[i] = static_cast<TestType>(static_cast<float>(i % 13 - 6));
    data.b[i] = static_cast<TestType>(static_cast<float>(i % 7 - 3));
    data.c[i] = static_cast<float>(i);
  }
  run_product(data, "mov.b32 %r3, 16;\n" + (std::is_same_v<TestType, bfloat16> ? bf16_product : product), 32);
  for (int row = 0; row < 16; ++row)
    for (int column = 0; column < 16; ++column) {
      double sum = row * 16 + column;  // small integers: exact
      for (int k = 0; k < 16; ++k) sum += double((row * 16 + k) % 13 - 6) * double((k * 16 + column) % 7 - 3);
      CHECK(data.c[row * 16 + column] == sum);
    }
}

TEST_CASE("a matrix instruction needs all lanes, one matrix and its alignment") {
  operands<_Float16> data{};
  const auto kind_of = [&](const std::string& body, std::uint32_t size) {
    try {
      run_product(data, body, size);
    } catch (const emulator::fault& found) {
      return std::string(to_string(found.kind()));
    }
    return std::string();
  };
  const std::string load = "wmma.load.a.sync.aligned.row.m16n16k16.f16 " + registers(10) + ", [%rd4], %r3;";
  CHECK(kind_of("mov.b32 %r3, 16; mov.b64 %rd4, %rd1;" + load, 32) == "");
  CHECK(kind_of("mov.b32 %r3, 16; mov.b64 %rd4, %rd1;" + load, 31) == to_string(emulator::fault_kind::wrong_warp));
  CHECK(kind_of("mov.b32 %r3, 16; cvt.u64.u32 %rd5, %r1; shl.b64 %rd6, %rd5, 5; add.s64 %rd4, %rd1, %rd6;" + load,
                32) == to_string(emulator::fault_kind::wrong_warp));
  CHECK(kind_of("mov.b32 %r3, 16; add.s64 %rd4, %rd1, 16;" + load, 32) == to_string(emulator::fault_kind::alignment));
  CHECK(kind_of("mov.b32 %r3, 12; mov.b64 %rd4, %rd1;" + load, 32) == to_string(emulator::fault_kind::alignment));
}

TEST_CASE("sectors, lines and bank conflicts of a warp") {
  const auto global = [](std::uint64_t stride, std::uint32_t bytes) {
    std::vector<std::uint64_t> addresses;
    emulator::kernel_statistics counts;
    counts.count_global(every_lane(addresses, stride, bytes));
    return std::pair{counts.sectors, counts.lines};
  };
  CHECK(global(4, 4) == std::pair<std::uint64_t, std::uint64_t>{4, 1});
  CHECK(global(16, 16) == std::pair<std::uint64_t, std::uint64_t>{16, 4});
  CHECK(global(32, 4) == std::pair<std::uint64_t, std::uint64_t>{32, 8});
  CHECK(global(0, 4) == std::pair<std::uint64_t, std::uint64_t>{1, 1});
  const auto conflicts = [](std::uint64_t stride, std::uint32_t bytes) {
    std::vector<std::uint64_t> addresses;
    emulator::kernel_statistics counts;
    counts.count_shared(every_lane(addresses, stride, bytes));
    return counts.bank_conflicts;
  };
  CHECK(conflicts(4, 4) == 0);
  CHECK(conflicts(0, 4) == 0);  // a broadcast
  CHECK(conflicts(8, 4) == 1);  // two lanes for each bank
  CHECK(conflicts(128, 4) == 31);
  CHECK(conflicts(8, 8) == 0);
  CHECK(conflicts(16, 16) == 0);
}
