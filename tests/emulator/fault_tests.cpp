// SPDX-License-Identifier: Apache-2.0
// Every kind of fault is found in a kernel that has it, and not in its twin that has not.
#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "tests/emulator/tiny_kernel.hpp"

using emulator::fault_kind;

namespace {

/// What a run ends with: a kind of fault, or nothing.
std::string outcome(const std::string& body, shape_of_launch shape = {}, std::size_t words = 256) {
  std::vector<std::uint32_t> memory(words, 7);
  try {
    run_on(memory, body, shape);
    return "";
  } catch (const emulator::fault& found) {
    return std::string(to_string(found.kind()));
  }
}
std::string text(fault_kind kind) { return std::string(to_string(kind)); }

/// Stores %r3 for each work-item of the launch: `base` in memory, 4 bytes each.
const std::string own_address = R"(
    mov.u32 %r20, %ntid.x;
    mad.lo.s32 %r21, %r2, %r20, %r1;
    mul.wide.u32 %rd20, %r21, 4;
    add.s64 %rd21, %rd1, %rd20;
)";

}  // namespace

TEST_CASE("bounds of global, local and private memory") {
  CHECK(outcome("ld.global.b32 %r3, [%rd1+1020];").empty());
  CHECK(outcome("ld.global.b32 %r3, [%rd1+1024];") == text(fault_kind::bounds));
  CHECK(outcome("ld.global.b32 %r3, [%rd1+-4];") == text(fault_kind::bounds));
  // The first word is inside, the second one is not.
  CHECK(outcome("add.s64 %rd3, %rd1, 7; and.b64 %rd4, %rd3, -8; ld.v2.b32 {%r3, %r4}, [%rd4];", {}, 4).empty());
  CHECK(outcome("add.s64 %rd3, %rd1, 7; and.b64 %rd4, %rd3, -8; ld.v2.b32 {%r3, %r4}, [%rd4];", {}, 1) ==
        text(fault_kind::bounds));
  CHECK(outcome("mov.b64 %rd3, 0; ld.b32 %r3, [%rd3];") == text(fault_kind::bounds));
  CHECK(outcome("st.shared.b32 [memory+252], %r1;").empty());
  CHECK(outcome("st.shared.b32 [memory+256], %r1;") == text(fault_kind::bounds));
  CHECK(outcome(".local .align 4 .b8 frame[8]; st.local.b32 [frame+4], %r1;").empty());
  CHECK(outcome(".local .align 4 .b8 frame[8]; st.local.b32 [frame+8], %r1;") == text(fault_kind::bounds));
}

TEST_CASE("alignment") {
  CHECK(outcome("ld.global.b16 %rs1, [%rd1+2];").empty());
  CHECK(outcome("ld.global.b32 %r3, [%rd1+2];") == text(fault_kind::alignment));
  CHECK(outcome("ld.shared.v2.b32 {%r3, %r4}, [memory+4];") == text(fault_kind::alignment));
}

TEST_CASE("registers and memory that were never written") {
  CHECK(outcome("add.s32 %r3, %r1, 1;").empty());
  CHECK(outcome("add.s32 %r3, %r4, 1;") == text(fault_kind::unset_register));
  CHECK(outcome("@%p1 bra $on; $on:") == text(fault_kind::unset_register));
  // Written by some lanes only.
  CHECK(outcome("setp.eq.b32 %p1, %r1, 0; @%p1 mov.b32 %r4, 1; add.s32 %r3, %r4, 1;", {.group_size = 1}).empty());
  CHECK(outcome("setp.eq.b32 %p1, %r1, 0; @%p1 mov.b32 %r4, 1; add.s32 %r3, %r4, 1;", {.group_size = 2}) ==
        text(fault_kind::unset_register));
  CHECK(outcome("st.shared.b32 [memory], %r1; ld.shared.b32 %r3, [memory];").empty());
  CHECK(outcome("st.shared.b16 [memory], 1; ld.shared.b32 %r3, [memory];") == text(fault_kind::unset_memory));
  CHECK(outcome(".local .align 4 .b8 frame[8]; ld.local.b32 %r3, [frame];") == text(fault_kind::unset_memory));
  CHECK(outcome("st.shared.b32 [memory], 0; atom.relaxed.cta.shared.add.u32 %r3, [memory], 1;").empty());
  CHECK(outcome("atom.relaxed.cta.shared.add.u32 %r3, [memory], 1;") == text(fault_kind::unset_memory));
}

TEST_CASE("races in local memory") {
  const auto exchange = [](const std::string& between) {
    return "mul.wide.u32 %rd3, %r1, 4; mov.b64 %rd4, memory; add.s64 %rd5, %rd4, %rd3; st.shared.b32 [%rd5], %r1;" +
           between +
           "xor.b32 %r4, %r1, 1; mul.wide.u32 %rd6, %r4, 4; add.s64 %rd7, %rd4, %rd6; ld.shared.b32 %r5, [%rd7];";
  };
  CHECK(outcome(exchange("bar.sync 0;"), {.group_size = 64}).empty());
  CHECK(outcome(exchange(""), {.group_size = 2}) != "");
  // Read first, then written by another one.
  CHECK(outcome("st.shared.b32 [memory], 1;", {.group_size = 1}).empty());
  CHECK(outcome("st.shared.b32 [memory], 1;", {.group_size = 2}) == text(fault_kind::local_race));
  const auto count = [](const std::string& between) {
    return "setp.ne.b32 %p1, %r1, 0; @%p1 bra $add; st.shared.b32 [memory], 0; $add: " + between +
           "atom.relaxed.cta.shared.add.u32 %r3, [memory], 1;";
  };
  CHECK(outcome(count("bar.sync 0;"), {.group_size = 64}).empty());
  CHECK(outcome(count(""), {.group_size = 64}) != "");
}

TEST_CASE("barriers that some work-items do not reach") {
  CHECK(outcome("setp.eq.b32 %p1, %r1, 0; @%p1 bra $on; $on: bar.sync 0;", {.group_size = 64}).empty());
  CHECK(outcome("setp.eq.b32 %p1, %r1, 0; @%p1 exit; bar.sync 0;", {.group_size = 64}) == text(fault_kind::barrier));
  CHECK(outcome("setp.eq.b32 %p1, %r1, 40; @%p1 bra $on; bar.sync 0; ret; $on: bar.sync 0;", {.group_size = 64}) ==
        text(fault_kind::barrier));
}

TEST_CASE("shuffles that lanes of the mask do not reach, or that read other lanes") {
  const std::string lanes_below_16 = "setp.lt.u32 %p1, %r1, 16; @%p1 bra $on; ",
                    missing = text(fault_kind::missing_lanes);
  const auto exchange = [](const std::string& distance, const std::string& mask) {
    return "shfl.sync.bfly.b32 %r3, %r1, " + distance + ", 31, " + mask + "; ";
  };
  CHECK(outcome(exchange("1", "-1"), {.group_size = 64}).empty());
  CHECK(outcome(exchange("1", "-1"), {.group_size = 48}).empty());        // lanes that do not exist are not waited for
  CHECK(outcome(exchange("16", "-1"), {.group_size = 48}) == missing);    // but they cannot be read
  CHECK(outcome(exchange("1", "65535"), {.group_size = 32}) == missing);  // lanes 16 to 31 are not in the mask
  CHECK(outcome(lanes_below_16 + "ret; $on: " + exchange("1", "65535"), {.group_size = 32}).empty());
  CHECK(outcome(lanes_below_16 + "ret; $on: " + exchange("16", "65535"), {.group_size = 32}) == missing);
  CHECK(outcome(lanes_below_16 + "ret; $on: " + exchange("1", "-1"), {.group_size = 32})
            .empty());  // the others have ended
  // The others wait at a barrier, or at another shuffle.
  CHECK(outcome(lanes_below_16 + "bar.sync 0; ret; $on: " + exchange("1", "-1") + "bar.sync 0;", {.group_size = 32}) ==
        missing);
  CHECK(outcome(lanes_below_16 + exchange("1", "-1") + "ret; $on: " + exchange("1", "-1"), {.group_size = 32}) ==
        missing);
  CHECK(outcome("setp.lt.u32 %p1, %r1, 16; @%p1 " + exchange("1", "-1"), {.group_size = 32}) == missing);
  CHECK(outcome("shfl.sync.bfly.b32 %r3, %r4, 1, 31, -1;", {.group_size = 32}) == text(fault_kind::unset_register));
}

TEST_CASE("races in global memory") {
  CHECK(outcome(own_address + "st.global.b32 [%rd21], %r1;", {.groups = 4, .group_size = 64}).empty());
  CHECK(outcome("st.global.b32 [%rd1], 1;", {.groups = 2}) == text(fault_kind::global_race));
  CHECK(outcome("ld.global.b32 %r3, [%rd1];", {.groups = 4, .group_size = 64}).empty());
  // All read a word, one of them writes it.
  CHECK(outcome("ld.global.b32 %r3, [%rd1]; setp.eq.b32 %p1, %r2, 0; @%p1 st.global.b32 [%rd1], 1;", {.groups = 2}) ==
        text(fault_kind::global_race));
  // The same within a group, without and with a barrier.
  CHECK(outcome("ld.global.b32 %r3, [%rd1]; setp.eq.b32 %p1, %r1, 0; @%p1 st.global.b32 [%rd1], 1;",
                {.group_size = 64}) == text(fault_kind::global_race));
  CHECK(outcome("ld.global.b32 %r3, [%rd1]; bar.sync 0; setp.eq.b32 %p1, %r1, 0; @%p1 st.global.b32 [%rd1], 1;",
                {.group_size = 64})
            .empty());
}

TEST_CASE("the last group may read what all have written only if the ticket orders them") {
  // Groups of two: each item writes a word, then the first one takes a ticket. The last group reads the words of all.
  const auto ticket = [](const std::string& before, const std::string& take, const std::string& after) {
    return own_address + "st.global.b32 [%rd21+64], 5;" + before + R"(
      setp.ne.b32 %p1, %r1, 0;
      @%p1 bra $wait;
      )" + take +
           R"(
      st.shared.b32 [memory], %r3;
    $wait:
      bar.sync 0;
      ld.shared.b32 %r4, [memory];
      setp.ne.b32 %p2, %r4, 10;
      @%p2 bra $done;
      )" + after +
           R"(
      ld.global.b32 %r5, [%rd1+64];
      ld.global.b32 %r6, [%rd1+68];
      ld.global.b32 %r7, [%rd1+72];
      ld.global.b32 %r8, [%rd1+76];
    $done:)";
  };
  const std::string acq_rel = "atom.acq_rel.gpu.global.add.u32 %r3, [%rd1], 1;";
  const auto run = [&](const std::string& body, std::uint64_t seed) {
    std::vector<std::uint32_t> memory(64, 0);
    memory[0] = 7;  // 7, 8, 9 for the others, 10 for the last of four groups
    try {
      run_on(memory, body, {.groups = 4, .group_size = 2, .seed = seed});
      return std::string();
    } catch (const emulator::fault& found) {
      return std::string(to_string(found.kind()));
    }
  };
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    CHECK(run(ticket("bar.sync 0;", acq_rel, ""), seed) == "");
    // The second item's word is not published by the first one's ticket.
    CHECK(run(ticket("", acq_rel, ""), seed) == text(fault_kind::global_race));
    const auto of_order = [&](const std::string& order) {
      return run(ticket("bar.sync 0;", "atom." + order + ".global.add.u32 %r3, [%rd1], 1;", ""), seed);
    };
    CHECK(of_order("relaxed.gpu") == text(fault_kind::global_race));
    CHECK(of_order("acquire.gpu") == text(fault_kind::global_race));
    CHECK(of_order("release.gpu") == text(fault_kind::global_race));
    CHECK(of_order("acq_rel.cta") == text(fault_kind::global_race));
    // Fences around a relaxed ticket do as well.
    const std::string relaxed = "atom.relaxed.gpu.global.add.u32 %r3, [%rd1], 1;";
    CHECK(run(ticket("bar.sync 0;", "fence.acq_rel.gpu; " + relaxed + " fence.acq_rel.gpu;", ""), seed) == "");
    CHECK(run(ticket("bar.sync 0;", "fence.acq_rel.cta; " + relaxed + " fence.acq_rel.cta;", ""), seed) ==
          text(fault_kind::global_race));
  }
}

TEST_CASE("atomic accesses of scope .cta do not meet those of other groups") {
  const auto add = [](const std::string& scope) { return "atom.relaxed." + scope + ".global.add.u32 %r3, [%rd1], 1;"; };
  const std::string first_group = "setp.eq.b32 %p1, %r2, 0; @%p1 bra $first;";
  CHECK(outcome(add("gpu"), {.groups = 2, .group_size = 64}).empty());
  CHECK(outcome(add("cta"), {.groups = 1, .group_size = 64}).empty());
  CHECK(outcome(add("cta"), {.groups = 2}) == text(fault_kind::global_race));
  CHECK(outcome(first_group + add("gpu") + "ret; $first: " + add("cta"), {.groups = 2}) ==
        text(fault_kind::global_race));
  // Atomic accesses to local memory order nothing between groups, whatever their scope.
  CHECK(outcome(own_address + R"(
    st.global.b32 [%rd21], 1;
    st.shared.b32 [memory], 0;
    atom.acq_rel.gpu.shared.add.u32 %r3, [memory], 1;
    ld.global.b32 %r4, [%rd1];
    ld.global.b32 %r5, [%rd1+4];)",
                {.groups = 2}) == text(fault_kind::global_race));
}

TEST_CASE("sums by atomic additions may be read only if a ticket orders all additions") {
  const auto sum = [](const std::string& order, std::uint64_t seed) {
    std::vector<std::uint32_t> memory(64, 7);  // the last of four groups finds 10
    try {
      run_on(memory,
             "atom.relaxed.gpu.global.add.u32 %r4, [%rd1+64], 1; atom." + order + R"(.gpu.global.add.u32 %r3, [%rd1], 1;
        setp.ne.b32 %p1, %r3, 10;
        @%p1 bra $done;
        ld.global.b32 %r5, [%rd1+64];
      $done:)",
             {.groups = 4, .seed = seed});
      return std::string();
    } catch (const emulator::fault& found) {
      return std::string(to_string(found.kind()));
    }
  };
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    CHECK(sum("acq_rel", seed) == "");
    CHECK(sum("relaxed", seed) == text(fault_kind::global_race));
  }
}

TEST_CASE("a word that one group has written may be read by another only after an acquire") {
  const auto wait_for_word = [](const std::string& store, const std::string& load) {
    return "setp.eq.b32 %p1, %r2, 0; @%p1 bra $write; $again: ld." + load +
           ".gpu.global.b32 %r3, [%rd1]; setp.ne.b32 %p2, %r3, 1; @%p2 bra $again; ld.global.b32 %r4, [%rd1+4]; ret; "
           "$write: st.global.b32 [%rd1+4], 5; st." +
           store + ".gpu.global.b32 [%rd1], 1;";
  };
  CHECK(outcome(wait_for_word("release", "acquire"), {.groups = 2}).empty());
  CHECK(outcome(wait_for_word("release", "relaxed"), {.groups = 2}) == text(fault_kind::global_race));
  CHECK(outcome(wait_for_word("relaxed", "acquire"), {.groups = 2}) == text(fault_kind::global_race));
  // A plain write does not wait for an atomic read of another group.
  CHECK(outcome("setp.eq.b32 %p1, %r2, 0; @%p1 bra $write; ld.relaxed.gpu.global.b32 %r3, [%rd1]; ret; "
                "$write: st.global.b32 [%rd1], 5;",
                {.groups = 2}) == text(fault_kind::global_race));
}

TEST_CASE("a kernel that does not end is stopped") {
  CHECK(outcome("$again: bra.uni $again;") == text(fault_kind::stuck));
}

TEST_CASE("groups run in another order with another seed, and in the same order with the same one") {
  const auto order = [](std::uint64_t seed) {
    std::vector<std::uint32_t> memory(17, 0);
    run_on(memory,
           "atom.relaxed.gpu.global.add.u32 %r3, [%rd1], 1; mul.wide.u32 %rd3, %r2, 4; add.s64 %rd4, %rd1, %rd3; "
           "st.global.b32 [%rd4+4], %r3;",
           {.groups = 16, .seed = seed});
    return memory;
  };
  CHECK(order(1) == order(1));
  CHECK(order(1) != order(2));
}
