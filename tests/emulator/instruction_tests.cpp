// SPDX-License-Identifier: Apache-2.0
// What single instructions compute, by the definitions of the PTX ISA.
#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/emulator/tiny_kernel.hpp"

namespace {

/// The low 64 bits of the register %rd9, %r9 or %rs9 after `body`.
std::uint64_t value_after(const std::string& body, const std::string& store) {
  std::vector<std::uint32_t> memory(4, 0);
  run_on(memory, body + "\n" + store);
  return memory[0] | std::uint64_t{memory[1]} << 32;
}
std::uint32_t word_after(const std::string& body) {
  return static_cast<std::uint32_t>(value_after(body, "st.global.b32 [%rd1], %r9;"));
}

struct example {
  const char* instruction;
  std::uint32_t expected;
};

}  // namespace

TEST_CASE("integer instructions of 32 bits") {
  const auto [instruction, expected] = GENERATE(values<example>({
      {"add.s32 %r9, 2147483647, 1;", 0x80000000},
      {"sub.s32 %r9, 3, 5;", 0xfffffffe},
      {"mul.lo.s32 %r9, -3, 5;", 0xfffffff1},
      {"mad.lo.s32 %r9, 3, 5, 7;", 22},
      {"mul.hi.u32 %r9, -1, -1;", 0xfffffffe},
      {"min.s32 %r9, -1, 1;", 0xffffffff},
      {"min.u32 %r9, -1, 1;", 1},
      {"max.s32 %r9, -1, 1;", 1},
      {"div.u32 %r9, 17, 5;", 3},
      {"rem.u32 %r9, 17, 5;", 2},
      {"shl.b32 %r9, 1, 31;", 0x80000000},
      {"shl.b32 %r9, 1, 32;", 0},
      {"shr.u32 %r9, -1, 28;", 15},
      {"shr.s32 %r9, -16, 40;", 0xffffffff},
      {"shf.l.wrap.b32 %r9, -2147483648, 1, 1;", 3},
      {"bfe.u32 %r9, 2882343476, 8, 12;", 0xd12},
      {"bfi.b32 %r9, 255, 0, 4, 4;", 0xf0},
      {"prmt.b32 %r9, 287454020, 1432778632, 21520;", 0x77883344},
      {"clz.b32 %r9, 1;", 31},
      {"clz.b32 %r9, 0;", 32},
      {"popc.b32 %r9, 255;", 8},
      {"neg.s32 %r9, 5;", 0xfffffffb},
  }));
  CAPTURE(instruction);
  CHECK(word_after(instruction) == expected);
}

TEST_CASE("floating-point instructions") {
  const auto [instruction, expected] = GENERATE(values<example>({
      {"add.rn.f32 %r9, 0f3F800000, 0f33800000;", 0x3f800000},  // half a unit in the last place: to even
      {"add.rn.f32 %r9, 0f3F800001, 0f33800000;", 0x3f800002},
      {"sub.rn.f32 %r9, 0f3F800000, 0f3F000000;", 0x3f000000},
      {"mul.rn.f32 %r9, 0f00800000, 0f3F000000;", 0x00400000},  // subnormals stay
      {"fma.rn.f32 %r9, 0f3F800001, 0f3F800001, 0fBF800002;", 0x28800000},
      {"div.rn.f32 %r9, 0f3F800000, 0f40400000;", 0x3eaaaaab},
      {"rcp.rn.f32 %r9, 0f40400000;", 0x3eaaaaab},
      {"sqrt.rn.f32 %r9, 0f40000000;", 0x3fb504f3},
      {"neg.f32 %r9, 0f7FC00000;", 0xffc00000},
      {"abs.f32 %r9, 0fFF800000;", 0x7f800000},
      {"max.f32 %r9, 0f7FC00000, 0fBF800000;", 0xbf800000},  // a NaN loses
      {"max.f32 %r9, 0f80000000, 0f00000000;", 0x00000000},
      {"min.f32 %r9, 0f00000000, 0f80000000;", 0x80000000},
      {"cvt.rn.f32.u64 %r9, 16777217;", 0x4b800000},
      {"cvt.rzi.s32.f32 %r9, 0fC0200000;", 0xfffffffe},
      {"cvt.rzi.s32.f32 %r9, 0f7FC00000;", 0},
      {"cvt.rzi.s32.f32 %r9, 0f4F800000;", 0x7fffffff},
      {"mov.b16 %rs1, 1; cvt.f32.f16 %r9, %rs1;", 0x33800000},              // the smallest subnormal
      {"cvt.rn.f16.f32 %rs1, 0f477FF000; cvt.u32.u16 %r9, %rs1;", 0x7c00},  // 65520 → Inf
      {"cvt.rn.f16x2.f32 %r9, 0f3F800000, 0fC0000000;", 0x3c00c000},        // the first one in the upper half
      {"cvt.rn.f16.f32 %rs1, 0f33000000; cvt.u32.u16 %r9, %rs1;", 0},       // half the smallest: to even
  }));
  CAPTURE(instruction);
  CHECK(word_after(instruction) == expected);
}

TEST_CASE("comparisons with NaN") {
  const auto [relation, expected] = GENERATE(values<example>({{"eq", 0},
                                                              {"ne", 0},
                                                              {"lt", 0},
                                                              {"ge", 0},
                                                              {"equ", 1},
                                                              {"neu", 1},
                                                              {"ltu", 1},
                                                              {"geu", 1},
                                                              {"nan", 1},
                                                              {"num", 0}}));
  CAPTURE(relation);
  CHECK(word_after("setp." + std::string(relation) + ".f32 %p1, 0f7FC00000, 0f3F800000;\nselp.b32 %r9, 1, 0, %p1;") ==
        expected);
}

TEST_CASE("values are extended and packed as their types ask") {
  CHECK(word_after("mov.b16 %rs1, -2; cvt.s32.s16 %r9, %rs1;") == 0xfffffffe);
  CHECK(word_after("mov.b16 %rs1, -2; cvt.u32.u16 %r9, %rs1;") == 0xfffe);
  CHECK(word_after("mov.b16 %rs1, 4660; mov.b16 %rs2, 22136; mov.b32 %r9, {%rs1, %rs2};") == 0x56781234);
  CHECK(word_after("mov.b32 %r3, 1450709556; mov.b32 {%rs1, %rs2}, %r3; cvt.u32.u16 %r9, %rs2;") == 1450709556 >> 16);
  CHECK(word_after("{ .reg .b32 tmp; mov.b64 {tmp, %r9}, 51539607555; }") == 12);
  CHECK(value_after("mul.wide.s32 %rd9, -2, 3;", "st.global.b64 [%rd1], %rd9;") == 0xfffffffffffffffa);
  std::vector<std::uint32_t> memory{0xffff8001, 0};
  run_on(memory, "ld.global.s16 %r9, [%rd1]; st.global.b32 [%rd1+4], %r9;");
  CHECK(memory[1] == 0xffff8001);
}

TEST_CASE("lanes that diverge meet again") {
  // Each work-item adds its number 1 to 3 times in a loop, then all of them pass a barrier.
  std::vector<std::uint32_t> memory(64, 0);
  run_on(memory, R"(
    rem.u32 %r3, %r1, 3;
    mov.b32 %r4, 0;
  $again:
    add.s32 %r4, %r4, %r1;
    add.s32 %r3, %r3, -1;
    setp.ge.s32 %p1, %r3, 0;
    @%p1 bra $again;
    bar.sync 0;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd4, %rd1, %rd3;
    st.global.b32 [%rd4], %r4;)",
         {.group_size = 64});
  for (std::uint32_t i = 0; i < 64; ++i) CHECK(memory[i] == i * (i % 3 + 1));
}

TEST_CASE("lanes read registers of each other, after those that come later have arrived") {
  // Work-item i of 64 makes i % 5 rounds of a loop that lies behind the shuffle, then all lanes of a warp add up their
  // numbers.
  std::vector<std::uint32_t> memory(64, 0);
  run_on(memory, R"(
    rem.u32 %r3, %r1, 5;
    bra.uni $test;
  $sum:
    mov.b32 %r4, %r1;
    shfl.sync.bfly.b32 %r5, %r4, 1, 31, -1;
    add.s32 %r4, %r4, %r5;
    shfl.sync.bfly.b32 %r5, %r4, 2, 31, -1;
    add.s32 %r4, %r4, %r5;
    shfl.sync.bfly.b32 %r5, %r4, 4, 31, -1;
    add.s32 %r4, %r4, %r5;
    shfl.sync.bfly.b32 %r5, %r4, 8, 31, -1;
    add.s32 %r4, %r4, %r5;
    shfl.sync.bfly.b32 %r5, %r4, 16, 31, -1;
    add.s32 %r4, %r4, %r5;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd4, %rd1, %rd3;
    st.global.b32 [%rd4], %r4;
    ret;
  $test:
    setp.eq.b32 %p1, %r3, 0;
    @%p1 bra $sum;
    add.s32 %r3, %r3, -1;
    bra.uni $test;)",
         {.group_size = 64});
  for (std::uint32_t i = 0; i < 64; ++i) CHECK(memory[i] == (i < 32 ? 31 * 16 : 31 * 16 + 32 * 32));
}

TEST_CASE("a shuffle stays within its segment and below its limit, or reads its own lane") {
  // Bits 0 to 4 of the operand are the limit, bits 8 to 12 cut the warp into segments: of 8 lanes, of 4 lanes.
  const auto [operand, lane_1, lane_5] = GENERATE(table<std::uint32_t, std::uint32_t, std::uint32_t>(
      {{31, 5, 1}, {0x181f, 5, 1}, {0x1c1f, 1, 1}, {3, 1, 1}, {0, 1, 5}}));
  std::vector<std::uint32_t> memory(32, 0);
  CAPTURE(operand);
  run_on(memory,
         "shfl.sync.bfly.b32 %r4, %r1, 4, " + std::to_string(operand) +
             ", -1; mul.wide.u32 %rd3, %r1, 4; add.s64 %rd4, %rd1, %rd3; st.global.b32 [%rd4], %r4;",
         {.group_size = 32});
  CHECK(memory[1] == lane_1);
  CHECK(memory[5] == lane_5);
}

TEST_CASE("a branch by a table") {
  std::vector<std::uint32_t> memory(3, 0);
  run_on(memory, R"(
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd4, %rd1, %rd3;
    $table: .branchtargets $zero, $one, $two;
    brx.idx %r1, $table;
  $two: mov.b32 %r3, 102; bra.uni $done;
  $one: mov.b32 %r3, 101; bra.uni $done;
  $zero: mov.b32 %r3, 100;
  $done: st.global.b32 [%rd4], %r3;)",
         {.group_size = 3});
  CHECK(memory == std::vector<std::uint32_t>{100, 101, 102});
}

TEST_CASE("an instruction that the emulator does not know is refused") {
  std::vector<std::uint32_t> memory(1);
  CHECK_THROWS_MATCHES(run_on(memory, "add.ftz.f32 %r9, 0f3F800000, 0f3F800000;"), emulator::unsupported,
                       Catch::Matchers::MessageMatches(Catch::Matchers::ContainsSubstring("add.ftz.f32")));
}
