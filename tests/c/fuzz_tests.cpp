// SPDX-License-Identifier: Apache-2.0
// Random handles, sizes and structs with a fixed seed: every call returns a known status.
#include <iterator>
#include <random>

#include "tests/c/handle_calls.hpp"
#include "tests/c/support.hpp"

using namespace c_tests;

namespace {

constexpr unsigned seed = 20261118;

class generator {
 public:
  std::uint64_t below(std::uint64_t limit) { return bits_() % limit; }

  /// Mostly small numbers, sometimes those at the ends of types.
  std::uint64_t number() {
    constexpr std::uint64_t ends[] = {0,          1,           2,          0x7fffffff,         0x80000000,
                                      0xffffffff, 0x100000000, 1ull << 62, 0x7fffffffffffffff, ~0ull,
                                      ~0ull - 1,  16777216,    16777217ull};
    const std::uint64_t choice = below(3);
    return choice == 0 ? below(16) : choice == 1 ? ends[below(std::size(ends))] : bits_();
  }

  /// A known handle, one with a changed bit, or any number.
  void* handle(const std::vector<void*>& known) {
    const auto chosen = reinterpret_cast<std::uint64_t>(known[below(known.size())]);
    const std::uint64_t choice = below(4);
    return reinterpret_cast<void*>(choice == 0 ? chosen : choice == 1 ? chosen ^ (1ull << below(64)) : number());
  }

  /// Fills a struct with random bytes; half of the time its size is right.
  template <typename Struct>
  void fill(Struct& target) {
    auto* bytes = reinterpret_cast<unsigned char*>(&target);
    for (std::size_t i = 0; i < sizeof target; ++i) bytes[i] = static_cast<unsigned char>(bits_());
    target.struct_size = below(2) == 0 ? sizeof target : number();
  }

 private:
  std::mt19937_64 bits_{seed};
};

bool is_known(syclamp_status status) { return std::string(syclamp_status_name(status)) != "unknown"; }

}  // namespace

TEST_CASE("random handles never crash") {
  generator random;
  device_floats memory(std::vector<float>(8, 1.0f)), model(std::vector<float>(8, 1.0f));
  const auto list = list_of({tensor(memory.data(), 8)});
  owned<syclamp_inspector> inspector;
  owned<syclamp_unscaled> unscaled;
  ok(syclamp_inspector_create(list, SYCLAMP_INSPECT_TENSORS, inspector.address()));
  ok(syclamp_unscaled_create(list, unscaled.address()));
  const auto scaler = scaler_of();
  const auto optimizer = optimizer_of(memory, model, settings(SYCLAMP_SGD, 0.5));
  owned<syclamp_spike_guard> guard;
  owned<syclamp_recorded_step> recorded;
  ok(syclamp_spike_guard_create(engine(), nullptr, guard.address()));
  ok(syclamp_recorded_step_create(engine(), no_calls, nullptr, SYCLAMP_RECORD_NEVER, recorded.address()));
  const std::vector<void*> known = {
      static_cast<syclamp_tensor_list>(list),      static_cast<syclamp_inspector>(inspector),
      static_cast<syclamp_unscaled>(unscaled),     static_cast<syclamp_scaler>(scaler),
      static_cast<syclamp_optimizer>(optimizer),   static_cast<syclamp_spike_guard>(guard),
      static_cast<syclamp_recorded_step>(recorded)};
  const auto calls = all_handle_calls({list, inspector, unscaled, scaler, optimizer, guard});
  for (int i = 0; i < 20000; ++i) {
    const handle_call& call = calls[random.below(calls.size())];
    void* handle = random.handle(known);
    void* copy = nullptr;  // a changed bit may give the handle of an object that an earlier call has made
    const bool is_valid = syclamp_handle_copy(handle, &copy) == SYCLAMP_OK;
    ok(syclamp_handle_destroy(copy));
    const syclamp_status status = call.call(handle);
    if (!is_known(status) || (!is_valid && status != SYCLAMP_INVALID_HANDLE))
      FAIL(call.name << " with " << handle << " returns " << status);
  }
  float scale = 0;
  ok(syclamp_scaler_get_scale(scaler, 0, &scale));
}

TEST_CASE("random structs and sizes never crash") {
  generator random;
  device_floats memory(std::vector<float>(64, 1.0f));
  const auto list = list_of({tensor(memory.data(), 64)});
  for (int i = 0; i < 4000; ++i) {
    syclamp_tensor tensors[2] = {};
    for (syclamp_tensor& one : tensors) {
      random.fill(one);
      one.name = nullptr;
      // A wild address cannot be told from memory of the program, so addresses are null, inside the block or unknown.
      const std::uint64_t choice = random.below(3);
      one.address = choice == 0   ? nullptr
                    : choice == 1 ? reinterpret_cast<char*>(memory.data()) + random.below(300)
                                  : reinterpret_cast<void*>(random.number());
      one.count = random.number();
      if (random.below(2) == 0) one.type = static_cast<int>(random.below(6));
      if (random.below(2) == 0) one.group = static_cast<std::uint32_t>(random.below(4));
    }
    syclamp_tensor_list made = nullptr;
    const syclamp_status status =
        syclamp_tensor_list_create(engine(), tensors, random.below(4) == 0 ? ~std::size_t{0} : random.below(3), &made);
    REQUIRE(is_known(status));
    REQUIRE((status == SYCLAMP_OK) == (made != nullptr));
    REQUIRE(syclamp_tensor_list_destroy(made) == SYCLAMP_OK);

    syclamp_policy policy;
    random.fill(policy);
    REQUIRE(is_known(syclamp_policy_validate(&policy)));
    syclamp_optimizer_settings chosen;
    random.fill(chosen);
    if (random.below(2) == 0) chosen.kind = static_cast<int>(random.below(SYCLAMP_OPTIMIZER_KINDS));
    auto parameter = sized<syclamp_parameter>();
    parameter.count = random.number();
    parameter.model = memory.data();
    parameter.model_type = static_cast<int>(random.below(8));
    parameter.gradient_type = static_cast<int>(random.below(8));
    syclamp_optimizer optimizer = nullptr;
    REQUIRE(is_known(syclamp_optimizer_create(engine(), &parameter, random.below(2), &chosen, random.below(2), nullptr,
                                              &optimizer)));
    REQUIRE(syclamp_optimizer_destroy(optimizer) == SYCLAMP_OK);
    syclamp_cast_options cast;
    random.fill(cast);
    if (random.below(2) == 0) cast.device_saturated = nullptr, cast.device_scales = nullptr, cast.device_step = nullptr;
    REQUIRE(is_known(syclamp_cast(list, list, &cast)));
    float read[64];
    const std::uint64_t bytes = random.below(2) == 0 ? random.below(257) : 257 + random.number() / 2;
    const auto* source = reinterpret_cast<char*>(memory.data()) + random.below(300);
    const syclamp_status copied = syclamp_memory_copy_out(engine(), read, source, bytes);
    REQUIRE((copied == SYCLAMP_OK) ==
            (bytes == 0 || source + bytes <= reinterpret_cast<char*>(memory.data()) + memory.bytes()));
  }
}
