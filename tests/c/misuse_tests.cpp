// SPDX-License-Identifier: Apache-2.0
// Wrong handles, struct sizes, orders and sizes are a status, never a crash.
#include <array>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tests/c/handle_calls.hpp"
#include "tests/c/objects.hpp"
#include "tests/c/support.hpp"

using namespace c_tests;

TEST_CASE("null, invented and misplaced handles are refused by every function") {
  const objects made;
  const std::size_t live = syclamp_live_objects();
  float on_stack = 0;
  const std::vector<void*> invented = {reinterpret_cast<void*>(std::uintptr_t{1}),
                                       reinterpret_cast<void*>(~std::uintptr_t{0}),
                                       reinterpret_cast<void*>(std::uintptr_t{0xa000000000000000}), &on_stack,
                                       static_cast<char*>(made.handles()[4].second) + 1};
  for (const handle_call& call : all_handle_calls(made.all())) {
    CAPTURE(call.name);
    CHECK(message(SYCLAMP_INVALID_HANDLE, call.call(nullptr)).find("is null") != std::string::npos);
    for (void* handle : invented) CHECK(call.call(handle) == SYCLAMP_INVALID_HANDLE);
    for (const auto& [of_kind, handle] : made.handles())
      if (of_kind != call.expected)
        CHECK(message(SYCLAMP_INVALID_HANDLE, call.call(handle)).find("is of kind") != std::string::npos);
  }
  CHECK(syclamp_live_objects() == live);
}

TEST_CASE("handles of destroyed objects are refused by every function") {
  objects made;
  std::array<std::pair<kind, void*>, 8> destroyed{};
  {
    owned<syclamp_engine> other;
    ok(syclamp_engine_create(nullptr, other.address()));
    const objects short_lived;
    destroyed = short_lived.handles();
    destroyed[0].second = static_cast<syclamp_engine>(other);
  }
  const objects in_their_places;  // the places of the table are used again
  for (const handle_call& call : all_handle_calls(made.all()))
    for (const auto& [of_kind, handle] : destroyed) {
      CAPTURE(call.name);
      CHECK(message(SYCLAMP_INVALID_HANDLE, call.call(handle)).find("was destroyed") != std::string::npos);
    }
}

TEST_CASE("a handle is destroyed once, by the function of its kind") {
  owned<syclamp_scaler> scaler = scaler_of();
  const syclamp_scaler raw = scaler;
  CHECK(syclamp_engine_destroy(reinterpret_cast<syclamp_engine>(raw)) == SYCLAMP_INVALID_HANDLE);
  CHECK(syclamp_optimizer_destroy(reinterpret_cast<syclamp_optimizer>(raw)) == SYCLAMP_INVALID_HANDLE);
  CHECK(syclamp_inspector_destroy(reinterpret_cast<syclamp_inspector>(raw)) == SYCLAMP_INVALID_HANDLE);
  CHECK(syclamp_unscaled_destroy(reinterpret_cast<syclamp_unscaled>(raw)) == SYCLAMP_INVALID_HANDLE);
  CHECK(syclamp_tensor_list_destroy(reinterpret_cast<syclamp_tensor_list>(raw)) == SYCLAMP_INVALID_HANDLE);
  CHECK(syclamp_spike_guard_destroy(reinterpret_cast<syclamp_spike_guard>(raw)) == SYCLAMP_INVALID_HANDLE);
  CHECK(syclamp_recorded_step_destroy(reinterpret_cast<syclamp_recorded_step>(raw)) == SYCLAMP_INVALID_HANDLE);
  ok(syclamp_scaler_destroy(raw));
  CHECK(syclamp_scaler_destroy(raw) == SYCLAMP_INVALID_HANDLE);
  CHECK(syclamp_handle_destroy(raw) == SYCLAMP_INVALID_HANDLE);
  *scaler.address() = nullptr;
  ok(syclamp_scaler_destroy(nullptr));
  ok(syclamp_engine_destroy(nullptr));
}

TEST_CASE("an old handle does not name the object that took its place") {
  constexpr std::uintptr_t index = (1u << 24) - 1;
  syclamp_scaler first = nullptr;
  ok(syclamp_scaler_create(engine(), nullptr, nullptr, &first));
  ok(syclamp_scaler_destroy(first));
  const owned<syclamp_scaler> second = scaler_of();
  const auto old_number = reinterpret_cast<std::uintptr_t>(first);
  const auto new_number = reinterpret_cast<std::uintptr_t>(static_cast<syclamp_scaler>(second));
  REQUIRE((old_number & index) == (new_number & index));  // the same place of the table, and the same kind
  float scale = 0;
  CHECK(syclamp_scaler_get_scale(first, 0, &scale) == SYCLAMP_INVALID_HANDLE);
  CHECK(syclamp_scaler_destroy(first) == SYCLAMP_INVALID_HANDLE);
  ok(syclamp_scaler_get_scale(second, 0, &scale));
}

TEST_CASE("copies of a handle share the object") {
  owned<syclamp_scaler> scaler = scaler_of();
  void* copy = nullptr;
  ok(syclamp_handle_copy(static_cast<syclamp_scaler>(scaler), &copy));
  CHECK(copy != static_cast<syclamp_scaler>(scaler));
  ok(syclamp_scaler_destroy(scaler));
  *scaler.address() = static_cast<syclamp_scaler>(copy);
  float scale = 0;
  ok(syclamp_scaler_get_scale(scaler, 0, &scale));
  CHECK(scale == 65536.0f);
  CHECK(syclamp_handle_copy(static_cast<syclamp_scaler>(scaler), nullptr) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_handle_copy(nullptr, &copy) == SYCLAMP_INVALID_HANDLE);
}

namespace {

/// The size of a struct in the first version of the C interface.
template <typename Struct>
constexpr std::size_t first_size() {
  return std::is_same_v<Struct, syclamp_device_info> ? 704 : sizeof(Struct);
}

/// Calls with every wrong size of a struct, and with a null pointer unless null means defaults.
template <typename Struct, typename Call>
void refuse_sizes(Struct valid, bool null_is_wrong, const Call& call) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, first_size<Struct>() - 1, sizeof(Struct) + 1,
                                 sizeof(Struct) + 8, std::numeric_limits<std::size_t>::max()}) {
    Struct wrong = valid;
    wrong.struct_size = size;
    CAPTURE(size);
    CHECK(message(SYCLAMP_INVALID_ARGUMENT, call(&wrong)).find("struct_size") != std::string::npos);
    CHECK(wrong.struct_size == size);
  }
  if (null_is_wrong)
    CHECK(message(SYCLAMP_INVALID_ARGUMENT, call(static_cast<Struct*>(nullptr))).find("null") != std::string::npos);
}

}  // namespace

TEST_CASE("wrong sizes of structs are refused") {
  const objects made;
  syclamp_engine engine_out = nullptr;
  syclamp_tensor_list list = nullptr;
  syclamp_scaler scaler = nullptr;
  syclamp_optimizer optimizer = nullptr;
  std::size_t size = 0;
  const auto chosen = settings(SYCLAMP_SGD, 0.5);
  auto parameter = sized<syclamp_parameter>();
  parameter.count = 8;
  parameter.gradient = made.gradient.data();
  parameter.model = made.model.data();
  parameter.gradient_type = parameter.model_type = SYCLAMP_FLOAT32;
  auto policy = sized<syclamp_policy>();
  ok(syclamp_policy_preset("syclamp", &policy));
  const syclamp_engine e = engine();
  refuse_sizes(sized<syclamp_device_info>(), true, [&](auto* s) { return syclamp_device_describe(0, s); });
  refuse_sizes(sized<syclamp_engine_options>(), false, [&](auto* s) { return syclamp_engine_create(s, &engine_out); });
  refuse_sizes(sized<syclamp_engine_statistics>(), true, [&](auto* s) { return syclamp_engine_get_statistics(e, s); });
  refuse_sizes(tensor(made.gradient.data(), 8), true,
               [&](auto* s) { return syclamp_tensor_list_create(e, s, 1, &list); });
  refuse_sizes(sized<syclamp_tensor_list_info>(), true,
               [&](auto* s) { return syclamp_tensor_list_describe(made.list, s); });
  refuse_sizes(sized<syclamp_inspection>(), true, [&](auto* s) { return syclamp_inspector_result(made.inspector, s); });
  refuse_sizes(sized<syclamp_inspection>(), true,
               [&](auto* s) { return syclamp_inspector_tensor(made.inspector, 0, s); });
  refuse_sizes(sized<syclamp_inspection>(), true,
               [&](auto* s) { return syclamp_inspector_tensors(made.inspector, s, 1); });
  refuse_sizes(sized<syclamp_inspection>(), true,
               [&](auto* s) { return syclamp_inspector_group(made.inspector, 0, s); });
  double headroom = 0;
  refuse_sizes(sized<syclamp_inspection>(), true,
               [&](auto* s) { return syclamp_inspection_headroom(s, 448, &headroom); });
  refuse_sizes(sized<syclamp_cast_options>(), false, [&](auto* s) { return syclamp_cast(made.list, made.list, s); });
  refuse_sizes(policy, true, [&](auto* s) { return syclamp_policy_preset("pytorch", s); });
  refuse_sizes(policy, true, [&](auto* s) { return syclamp_policy_validate(s); });
  refuse_sizes(policy, false, [&](auto* s) { return syclamp_scaler_create(e, s, nullptr, &scaler); });
  refuse_sizes(policy, true, [&](auto* s) { return syclamp_scaler_get_policy(made.scaler, s); });
  refuse_sizes(policy, true, [&](auto* s) { return syclamp_scaler_set_policy(made.scaler, s); });
  refuse_sizes(sized<syclamp_simulated_step>(), false,
               [&](auto* s) { return syclamp_simulate(nullptr, "..", s, 1, &size); });
  refuse_sizes(sized<syclamp_scaler_options>(), false,
               [&](auto* s) { return syclamp_scaler_create(e, nullptr, s, &scaler); });
  ok(syclamp_scaler_begin_step(made.scaler, nullptr));
  refuse_sizes(sized<syclamp_step_options>(), false,
               [&](auto* s) { return syclamp_scaler_step(made.scaler, made.optimizer, s); });
  refuse_sizes(sized<syclamp_step_record>(), true, [&](auto* s) { return syclamp_scaler_outcome(made.scaler, 0, s); });
  refuse_sizes(sized<syclamp_step_record>(), false,
               [&](auto* s) { return syclamp_scaler_records(made.scaler, s, 1, &size); });
  refuse_sizes(chosen, true, [&](auto* s) { return syclamp_optimizer_defaults(SYCLAMP_SGD, s); });
  refuse_sizes(chosen, true,
               [&](auto* s) { return syclamp_optimizer_create(e, &parameter, 1, s, 1, nullptr, &optimizer); });
  refuse_sizes(parameter, true,
               [&](auto* s) { return syclamp_optimizer_create(e, s, 1, &chosen, 1, nullptr, &optimizer); });
  refuse_sizes(sized<syclamp_storage_options>(), false,
               [&](auto* s) { return syclamp_optimizer_create(e, &parameter, 1, &chosen, 1, s, &optimizer); });
  refuse_sizes(chosen, true, [&](auto* s) { return syclamp_optimizer_set_settings(made.optimizer, 0, s); });
  refuse_sizes(chosen, true, [&](auto* s) { return syclamp_optimizer_get_settings(made.optimizer, 0, s); });
  refuse_sizes(sized<syclamp_lr_schedule>(), true,
               [&](auto* s) { return syclamp_optimizer_set_schedule(made.optimizer, s); });
  refuse_sizes(sized<syclamp_optimizer_progress>(), true,
               [&](auto* s) { return syclamp_optimizer_get_progress(made.optimizer, 0, s); });
  refuse_sizes(sized<syclamp_optimizer_info>(), true,
               [&](auto* s) { return syclamp_optimizer_describe(made.optimizer, s); });
  syclamp_spike_guard guard = nullptr;
  refuse_sizes(sized<syclamp_spike_guard_options>(), false,
               [&](auto* s) { return syclamp_spike_guard_create(e, s, &guard); });
  refuse_sizes(sized<syclamp_replay_report>(), true,
               [&](auto* s) { return syclamp_ledger_replay("", nullptr, s, nullptr, 0); });
  auto report = sized<syclamp_replay_report>();
  refuse_sizes(sized<syclamp_simulated_step>(), false,
               [&](auto* s) { return syclamp_ledger_replay("", nullptr, &report, s, 1); });
  refuse_sizes(sized<syclamp_step_record>(), false, [&](auto* s) { return syclamp_ledger_read("", s, 1, &size); });
  refuse_sizes(tensor(nullptr, 0), true, [&](auto* s) { return syclamp_tensor_list_tensor(made.list, 0, s); });
  refuse_sizes(tensor(nullptr, 0), true, [&](auto* s) { return syclamp_optimizer_state(made.optimizer, 0, 0, s); });
  refuse_sizes(sized<syclamp_inspection>(), true,
               [&](auto* s) { return syclamp_inspect(e, made.gradient.data(), 8, SYCLAMP_FLOAT32, s); });
  CHECK(guard == nullptr);
  // The second element of an array has its own size.
  syclamp_tensor two[] = {tensor(made.gradient.data(), 4), tensor(made.gradient.data(), 4)};
  two[1].struct_size = 7;
  CHECK(syclamp_tensor_list_create(e, two, 2, &list) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(engine_out == nullptr);
  CHECK(list == nullptr);
  CHECK(scaler == nullptr);
  CHECK(optimizer == nullptr);
}

TEST_CASE("calls in the wrong order say what to call") {
  const objects made;
  CHECK(message(SYCLAMP_MISUSE, syclamp_scaler_step(made.scaler, made.optimizer, nullptr)).find("begin_step") !=
        std::string::npos);
  CHECK(syclamp_scaler_update(made.scaler) == SYCLAMP_MISUSE);
  ok(syclamp_scaler_begin_step(made.scaler, nullptr));
  char* state = nullptr;
  CHECK(syclamp_scaler_get_state(made.scaler, &state) == SYCLAMP_MISUSE);
  ok(syclamp_scaler_step(made.scaler, made.optimizer, nullptr));
  CHECK(syclamp_scaler_step(made.scaler, made.optimizer, nullptr) == SYCLAMP_MISUSE);
  const syclamp_optimizer optimizer = made.optimizer;
  CHECK(syclamp_checkpoint_save("/nowhere/file", &optimizer, 1, made.scaler, nullptr, 0) == SYCLAMP_MISUSE);
  ok(syclamp_scaler_update(made.scaler));
  CHECK(syclamp_scaler_update(made.scaler) == SYCLAMP_MISUSE);
}

TEST_CASE("absurd sizes, counts and enumeration values are refused") {
  const objects made;
  constexpr auto huge = std::numeric_limits<std::uint64_t>::max();
  void* address = nullptr;
  CHECK(syclamp_memory_allocate(engine(), huge, SYCLAMP_DEVICE_MEMORY, &address) == SYCLAMP_OUT_OF_MEMORY);
  CHECK(syclamp_memory_allocate(engine(), huge / 2, SYCLAMP_DEVICE_MEMORY, &address) == SYCLAMP_OUT_OF_MEMORY);
  CHECK(syclamp_memory_allocate(engine(), 0, SYCLAMP_DEVICE_MEMORY, &address) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_memory_allocate(engine(), 8, 3, &address) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_memory_allocate(engine(), 8, 0, nullptr) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(address == nullptr);

  syclamp_tensor_list list = nullptr;
  const auto create = [&](const syclamp_tensor& given) {
    return syclamp_tensor_list_create(engine(), &given, 1, &list);
  };
  for (const std::uint64_t count : {std::uint64_t{9}, huge / 4, huge / 4 + 1, huge})
    CHECK(create(tensor(made.gradient.data(), count)) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(create(tensor(made.gradient.data() + 1, 8)) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(create(tensor(reinterpret_cast<char*>(made.gradient.data()) + 1, 7)) == SYCLAMP_INVALID_ARGUMENT);
  for (const int type : {-1, 6, std::numeric_limits<int>::max()})
    CHECK(create(tensor(made.gradient.data(), 1, type)) == SYCLAMP_INVALID_ARGUMENT);
  auto grouped = tensor(made.gradient.data(), 8);
  grouped.group = std::numeric_limits<std::uint32_t>::max();
  CHECK(create(grouped) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_tensor_list_create(engine(), &grouped, std::numeric_limits<std::size_t>::max(), &list) ==
        SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_tensor_list_create(engine(), nullptr, 1, &list) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_tensor_list_set_address(made.list, huge, nullptr) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_tensor_list_set_addresses(made.list, nullptr, 1) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_tensor_list_set_addresses(made.list, nullptr, 7) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(list == nullptr);

  auto inspection = sized<syclamp_inspection>();
  CHECK(syclamp_inspector_tensor(made.inspector, huge, &inspection) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_inspector_tensors(made.inspector, &inspection, 2) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_inspector_group(made.inspector, 1, &inspection) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_clip(made.inspector, made.unscaled, 1, nullptr, 3) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_clip(made.inspector, made.unscaled, -1, nullptr, SYCLAMP_NORM_L2) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_clip_result(made.inspector, 0, nullptr, nullptr) == SYCLAMP_INVALID_ARGUMENT);

  auto options = sized<syclamp_scaler_options>();
  syclamp_scaler scaler = nullptr;
  options.scales = std::numeric_limits<std::uint32_t>::max();
  CHECK(syclamp_scaler_create(engine(), nullptr, &options, &scaler) != SYCLAMP_OK);
  options.scales = 0;
  options.ledger = std::numeric_limits<std::uint32_t>::max();
  CHECK(syclamp_scaler_create(engine(), nullptr, &options, &scaler) != SYCLAMP_OK);
  auto policy = sized<syclamp_policy>();
  ok(syclamp_policy_preset(nullptr, &policy));
  policy.mode = 3;
  CHECK(message(SYCLAMP_INVALID_ARGUMENT, syclamp_policy_validate(&policy)).find("policy.mode is 3") !=
        std::string::npos);
  CHECK(syclamp_policy_preset("no such preset", &policy) == SYCLAMP_INVALID_ARGUMENT);
  float scale = 0;
  CHECK(syclamp_scaler_get_scale(made.scaler, 1, &scale) == SYCLAMP_INVALID_ARGUMENT);
  char* text = nullptr;
  CHECK(syclamp_scaler_ledger_text(made.scaler, 2, &text) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_scaler_set_state(made.scaler, "{\"no\": \"state\"}") == SYCLAMP_INVALID_ARGUMENT);

  auto chosen = sized<syclamp_optimizer_settings>();
  CHECK(syclamp_optimizer_defaults(SYCLAMP_OPTIMIZER_KINDS, &chosen) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_optimizer_defaults(-1, &chosen) == SYCLAMP_INVALID_ARGUMENT);
  ok(syclamp_optimizer_defaults(SYCLAMP_SGD, &chosen));
  chosen.amsgrad = 1;
  CHECK(message(SYCLAMP_INVALID_ARGUMENT, syclamp_optimizer_set_settings(made.optimizer, 0, &chosen)).find("amsgrad") !=
        std::string::npos);
  double lr = 0;
  CHECK(syclamp_optimizer_get_lr(made.optimizer, 1, &lr) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_optimizer_set_lr_source(made.optimizer, 1, made.gradient.data()) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_optimizer_weights(made.optimizer, huge, &scale, 1) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_optimizer_weights(made.optimizer, 0, &scale, 9) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_scaler_step_jointly(made.scaler, nullptr, huge, nullptr) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_checkpoint_save("/nowhere/file", nullptr, huge, nullptr, nullptr, 0) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_checkpoint_save("/nowhere/file", nullptr, 0, nullptr, "notes", huge) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_checkpoint_save("/nowhere/file", nullptr, 0, nullptr, nullptr, 0) == SYCLAMP_FILE_ERROR);
  CHECK(syclamp_checkpoint_load("/nowhere/file", nullptr, 0, nullptr, nullptr, nullptr) == SYCLAMP_FILE_ERROR);
  CHECK(syclamp_host_round(&scale, SYCLAMP_FLOAT32, nullptr, 0) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_host_widen(nullptr, SYCLAMP_FLOAT16, &scale, 1) == SYCLAMP_INVALID_ARGUMENT);
}

TEST_CASE("memory and texts are checked by address") {
  device_floats block({1, 2, 3, 4});
  float values[8] = {};
  CHECK(syclamp_memory_copy_out(engine(), values, block.data(), 17) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_memory_copy_out(engine(), values, block.data() + 1, 16) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_memory_copy_in(engine(), block.data() + 3, values, 5) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_memory_copy_in(engine(), values, values, 4) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_memory_fill(engine(), block.data(), 256, 4) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_memory_fill(engine(), block.data(), 0, 17) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_memory_free(block.data() + 1) == SYCLAMP_INVALID_HANDLE);
  CHECK(syclamp_memory_free(values) == SYCLAMP_INVALID_HANDLE);
  CHECK(syclamp_memory_adopt(engine(), block.data() + 2, 4) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_memory_adopt(engine(), reinterpret_cast<void*>(64), ~std::uint64_t{0}) == SYCLAMP_INVALID_ARGUMENT);
  void* freed = nullptr;
  ok(syclamp_memory_allocate(engine(), 64, SYCLAMP_SHARED_MEMORY, &freed));
  ok(syclamp_memory_free(freed));
  ok(syclamp_memory_free(nullptr));
  CHECK(syclamp_memory_free(freed) == SYCLAMP_INVALID_HANDLE);
  CHECK(syclamp_memory_copy_in(engine(), freed, values, 4) == SYCLAMP_INVALID_ARGUMENT);
  syclamp_tensor_list list = nullptr;
  const syclamp_tensor stale = tensor(freed, 4);
  CHECK(message(SYCLAMP_INVALID_ARGUMENT, syclamp_tensor_list_create(engine(), &stale, 1, &list))
            .find("in no block that exists") != std::string::npos);
  CHECK(syclamp_unscale(list_of({tensor(block.data(), 4)}), list_of({tensor(block.data(), 4)}), 1, values, nullptr) ==
        SYCLAMP_INVALID_ARGUMENT);

  char* text = nullptr;
  ok(syclamp_engine_device_name(engine(), &text));
  ok(syclamp_text_free(text));
  CHECK(syclamp_text_free(text) == SYCLAMP_INVALID_HANDLE);
  CHECK(syclamp_text_free(reinterpret_cast<char*>(values)) == SYCLAMP_INVALID_HANDLE);
  ok(syclamp_text_free(nullptr));
}

TEST_CASE("unusable engines are refused") {
  syclamp_engine made = nullptr;
  auto options = sized<syclamp_engine_options>();
  options.device = "no such device";
  CHECK(message(SYCLAMP_NO_DEVICE, syclamp_engine_create(&options, &made)).find("no such device") != std::string::npos);
  options.device = "99";
  CHECK(syclamp_engine_create(&options, &made) == SYCLAMP_NO_DEVICE);
  options.device = nullptr;
  options.profile = "abacus";
  CHECK(syclamp_engine_create(&options, &made) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_engine_create(nullptr, nullptr) == SYCLAMP_INVALID_ARGUMENT);
  auto info = sized<syclamp_device_info>();
  CHECK(syclamp_device_describe(99, &info) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_device_count(nullptr) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(made == nullptr);
}
