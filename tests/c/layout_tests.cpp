// SPDX-License-Identifier: Apache-2.0
// The layout of structs is part of the ABI: programs that were compiled with this header must run with later libraries.
// If a struct grows, its first size is stated in bindings/c/structs.hpp, and only new lines are added here.
#include <cstddef>

#include <catch2/catch_test_macros.hpp>

#include <syclamp/syclamp.h>

#define PLACE(Struct, field, offset) static_assert(offsetof(Struct, field) == (offset))
#define SIZE(Struct, bytes) static_assert(sizeof(Struct) == (bytes) && offsetof(Struct, struct_size) == 0)

SIZE(syclamp_device_info, 1104);
PLACE(syclamp_device_info, driver, 264);
PLACE(syclamp_device_info, global_memory_bytes, 680);
PLACE(syclamp_device_info, usable, 700);
PLACE(syclamp_device_info, platform, 704);  // its first size
PLACE(syclamp_device_info, has_fp16, 1092);
SIZE(syclamp_engine_options, 32);
PLACE(syclamp_engine_options, profile, 24);
SIZE(syclamp_engine_statistics, 24);
SIZE(syclamp_tensor, 48);
PLACE(syclamp_tensor, type, 24);
PLACE(syclamp_tensor, name, 32);
PLACE(syclamp_tensor, read_only, 44);
SIZE(syclamp_tensor_list_info, 32);
SIZE(syclamp_inspection, 104);
PLACE(syclamp_inspection, norm_l2, 64);
PLACE(syclamp_inspection, amax, 88);
PLACE(syclamp_inspection, flags, 100);
SIZE(syclamp_cast_options, 56);
PLACE(syclamp_cast_options, seed, 24);
PLACE(syclamp_cast_options, device_step, 48);
SIZE(syclamp_policy, 152);
PLACE(syclamp_policy, init_scale, 16);
PLACE(syclamp_policy, growth_interval, 56);
PLACE(syclamp_policy, tolerance, 72);
PLACE(syclamp_policy, spike_threshold, 112);
PLACE(syclamp_policy, replay_one_step_late, 148);
SIZE(syclamp_simulated_step, 24);
SIZE(syclamp_step_record, 224);
PLACE(syclamp_step_record, headroom, 88);
PLACE(syclamp_step_record, outcome, 96);
PLACE(syclamp_step_record, scale, 132);
PLACE(syclamp_step_record, first_nonfinite_name, 160);
SIZE(syclamp_scaler_options, 48);
PLACE(syclamp_scaler_options, consensus_sum, 32);
SIZE(syclamp_step_options, 32);
PLACE(syclamp_step_options, device_max_norm, 16);
static_assert(sizeof(syclamp_step_decision) == 16);
SIZE(syclamp_optimizer_settings, 120);
PLACE(syclamp_optimizer_settings, lr, 16);
PLACE(syclamp_optimizer_settings, alpha, 72);
PLACE(syclamp_optimizer_settings, nesterov, 104);
SIZE(syclamp_parameter, 88);
PLACE(syclamp_parameter, states, 40);
PLACE(syclamp_parameter, gradient_type, 64);
PLACE(syclamp_parameter, replicated, 84);
SIZE(syclamp_storage_options, 32);
SIZE(syclamp_lr_schedule, 40);
PLACE(syclamp_lr_schedule, warm_up, 24);
SIZE(syclamp_optimizer_progress, 32);
SIZE(syclamp_optimizer_info, 32);
static_assert(sizeof(syclamp_device_inspection) == 96);
SIZE(syclamp_replay_report, 56);
PLACE(syclamp_replay_report, final_scale, 48);
SIZE(syclamp_spike_guard_options, 16);

TEST_CASE("the layout of structs is that of version 1 of the C interface") { SUCCEED("checked by the compiler"); }
