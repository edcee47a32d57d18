// SPDX-License-Identifier: Apache-2.0
// The SPIR-V that was made with the library is what the run-time compiler makes here.
#include <cstdint>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "backends/profiles.hpp"
#include "launch/jit/compiler.hpp"
#include "launch/jit/ready_kernels.hpp"
#include "launch/jit/source.hpp"
#include "launch/jit/spirv.hpp"
#include "launch/operations.hpp"
#include "syclamp/syclamp.hpp"

using namespace syclamp;
using namespace syclamp::launch;

namespace {

const profile& cpu = *backends::find("cpu");

std::vector<std::vector<std::uint32_t>> ready_modules(std::string_view family) {
  const auto ready = jit::load_ready_kernels(jit::ready_kernels_file(cpu.name, family),
                                             jit::spirv_key() + jit::family_text(family, cpu));
  return ready ? jit::spirv_modules(*ready) : std::vector<std::vector<std::uint32_t>>{};
}

/// The kernels of a module, and those of them that have an execution mode.
std::set<std::uint32_t> kernels_of(std::span<const std::uint32_t> module) {
  std::set<std::uint32_t> found;
  for (std::size_t at = 5; at < module.size(); at += module[at] >> 16)
    if ((module[at] & 0xffffu) == 15) found.insert(module[at + 2]);
  return found;
}
std::set<std::uint32_t> kernels_with(std::uint32_t mode, std::span<const std::uint32_t> module) {
  std::set<std::uint32_t> found;
  for (std::size_t at = 5; at < module.size(); at += module[at] >> 16)
    if ((module[at] & 0xffffu) == 16 && module[at + 2] == mode) found.insert(module[at + 1]);
  return found;
}

}  // namespace

TEST_CASE("every family of the profile cpu is ready, and none of its kernels is vectorized again") {
  constexpr std::uint32_t vector_type_hint = 30;
  for (const operation_base* op : operations) {
    if (op->is_optional) continue;
    CAPTURE(op->family);
    const auto modules = ready_modules(op->family);
    REQUIRE(modules.size() == 1);
    const auto kernels = kernels_of(modules.front());
    CHECK_FALSE(kernels.empty());
    CHECK(kernels_with(vector_type_hint, modules.front()) == kernels);
  }
}

TEST_CASE("ready kernels are those that the run-time compiler makes") {
  const engine engine;
  for (const std::string_view family : {"tensors/clip", "optimizer/rules/adam"}) {
    CAPTURE(family);
    const auto compiled = jit::compile(engine.queue().get_device(), jit::family_source(family, cpu));
    CHECK(jit::spirv_modules(compiled) == ready_modules(family));
  }
}
