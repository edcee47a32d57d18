// SPDX-License-Identifier: Apache-2.0
/// \file
/// The public interface of the core. Matrix products are in syclamp/matrix/matrix.hpp, layers in syclamp/nn/nn.hpp.
#pragma once

#include <syclamp/array_view.hpp>
#include <syclamp/cast.hpp>
#include <syclamp/checkpoint.hpp>
#include <syclamp/clip_result.hpp>
#include <syclamp/element_type.hpp>
#include <syclamp/engine.hpp>
#include <syclamp/error.hpp>
#include <syclamp/exponent_histogram.hpp>
#include <syclamp/framework_states.hpp>
#include <syclamp/fused_optimizer.hpp>
#include <syclamp/gradients.hpp>
#include <syclamp/hyper_parameters.hpp>
#include <syclamp/inspection.hpp>
#include <syclamp/inspector.hpp>
#include <syclamp/ledger.hpp>
#include <syclamp/log.hpp>
#include <syclamp/loss_scaler.hpp>
#include <syclamp/optimizer.hpp>
#include <syclamp/optimizer_settings.hpp>
#include <syclamp/policy_names.hpp>
#include <syclamp/presets.hpp>
#include <syclamp/quantization.hpp>
#include <syclamp/recorded_step.hpp>
#include <syclamp/scale_state.hpp>
#include <syclamp/scaler_snapshot.hpp>
#include <syclamp/scaling_policy.hpp>
#include <syclamp/simulation.hpp>
#include <syclamp/spike_guard.hpp>
#include <syclamp/step_decision.hpp>
#include <syclamp/step_record.hpp>
#include <syclamp/system_info.hpp>
#include <syclamp/tensor_list.hpp>
#include <syclamp/unscaled_gradients.hpp>
