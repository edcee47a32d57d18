// SPDX-License-Identifier: Apache-2.0
// `syclamp verify` launches every kernel that users get. This program has a launch seam of its own, which notes the
// names of the operations and passes them on to the run-time compiler.
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "apps/verify/check.hpp"
#include "launch/jit/compiled_library.hpp"
#include "launch/kernel_library.hpp"
#include "launch/operations.hpp"
#include "syclamp/syclamp.hpp"

namespace syclamp::launch {
namespace {

std::mutex noting;
std::set<std::string_view> launched;  // names of operations

/// A library that notes what is submitted to another one.
class noting_library final : public kernel_library {
 public:
  noting_library(const sycl::queue& queue, const profile& tuning)
      : kernel_library(queue.get_device(), tuning), compiled_(jit::make_compiled_library(queue, tuning)) {}

  void prepare(const operation_base& op) override { compiled_->prepare(op); }

  sycl::event submit_erased(sycl::queue& queue, const operation_base& op, std::uint64_t groups,
                            std::span<const argument> arguments) override {
    {
      const std::lock_guard lock(noting);
      launched.insert(op.name);
    }
    return compiled_->submit_erased(queue, op, groups, arguments);
  }

 private:
  std::unique_ptr<kernel_library> compiled_;
};

}  // namespace

std::unique_ptr<kernel_library> make_kernel_library(const sycl::queue& queue, const profile& tuning) {
  return std::make_unique<noting_library>(queue, tuning);
}

}  // namespace syclamp::launch

using namespace syclamp;

namespace {

/// The family of each operation that is compiled for users.
const std::map<std::string_view, std::string_view> user_operations = {
#define OPERATION(FAMILY, NAME, ...) {#NAME, FAMILY},
#define TEST_OPERATION(...)
#include "launch/operations.def"
};

/// Families that docs/support.json says do not run on CPUs. Other devices have none.
std::set<std::string> exempt_families(const sycl::device& device) {
  if (!device.is_cpu()) return {};
  std::ifstream file(SYCLAMP_SOURCE_DIR "/docs/support.json");
  const auto support = nlohmann::json::parse(file);
  std::set<std::string> exempt;
  for (const auto& entry : support.at("devices")) {
    if (entry.at("name") != "x86-64 CPU") continue;
    for (const auto& [name, cells] : entry.at("families").items())
      if (cells.at("hardware") == "no") exempt.insert(name);
  }
  return exempt;
}

}  // namespace

TEST_CASE("verify launches every kernel that users get") {
  const engine engine;
  auto checks = verify::arithmetic_checks(engine);
  for (auto& check : verify::profile_checks(engine, {})) checks.push_back(std::move(check));
  for (const auto& check : checks) {
    const auto result = verify::run(check);
    CAPTURE(check.name, result.detail);
    CHECK(result.outcome != verify::check_outcome::failed);
  }
  const auto exempt = exempt_families(engine.queue().get_device());
  std::string missing;
  for (const auto& [name, family] : user_operations) {
    const bool is_exempt = exempt.contains(std::string(family));
    if (!is_exempt && !launch::launched.contains(name)) missing += fmt::format("\n  {} of {}", name, family);
  }
  INFO("verify launches none of these kernels; add checks for them to apps/verify/:" << missing);
  CHECK(missing.empty());
}
