// SPDX-License-Identifier: Apache-2.0
// The policies of other frameworks. Each function cites the source that it was read from, in 2026, as
// `repository: file`. docs/adding-a-preset.md says how to add one.
#include "syclamp/presets.hpp"

#include <algorithm>
#include <functional>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "syclamp/error.hpp"

namespace SYCLAMP_NAMESPACE {
namespace {

/// What the policies of other frameworks have in common. Each of them differs in a few fields.
scaling_policy common_policy() {
  scaling_policy policy;
  policy.min = 0x1p-126;
  policy.max = std::numeric_limits<float>::max();
  policy.power_of_two = false;
  policy.replay.bounds = bounds_kind::keep;
  policy.nan_patience = 0;
  return policy;
}

/// pytorch: aten/src/ATen/native/{cpu/AmpGradScalerKernels.cpp, cuda/AmpKernels.cu}
scaling_policy pytorch() {
  scaling_policy policy = common_policy();
  policy.replay.growth_test = interval_test::equal;
  policy.replay.arithmetic = scale_arithmetic::float32_scaled;
  return policy;
}

/// keras: keras/src/optimizers/loss_scale_optimizer.py
scaling_policy keras3() {
  scaling_policy policy = common_policy();
  policy.init_scale = 0x1p15;
  policy.replay.backoff_by_growth = true;
  policy.replay.growth_test = interval_test::equal;
  return policy;
}

/// tensorflow: tensorflow/python/training/experimental/loss_scale.py; Keras 2 has the same rule:
/// tf-keras: tf_keras/mixed_precision/loss_scale_optimizer.py
scaling_policy tf1() {
  scaling_policy policy = common_policy();
  policy.init_scale = 0x1p15;
  policy.replay.backoff_by_growth = true;
  policy.min = 1;
  return policy;
}

/// tensorflow 1.15: tensorflow/contrib/mixed_precision/python/loss_scale_manager.py
scaling_policy tf1_contrib() {
  scaling_policy policy = tf1();
  policy.replay.backoff_by_growth = false;
  policy.backoff_factor = 0.8;
  policy.hysteresis = 2;
  policy.hysteresis_mode = hysteresis_kind::accumulated;
  return policy;
}

/// apex: apex/amp/scaler.py (deleted in May 2025; the last version)
scaling_policy apex() {
  scaling_policy policy = common_policy();
  policy.replay.growth_test = interval_test::equal;
  policy.max = 0x1p24;
  policy.replay.bounds = bounds_kind::clamp;
  policy.replay.arithmetic = scale_arithmetic::float64;
  return policy;
}

/// apex: csrc/update_scale_hysteresis.cu
scaling_policy apex_hysteresis() {
  scaling_policy policy = pytorch();
  policy.hysteresis = 2;
  return policy;
}

/// mxnet: python/mxnet/amp/{amp,loss_scaler}.py
scaling_policy mxnet() {
  scaling_policy policy = apex();
  policy.replay.bounds = bounds_kind::clamp_moves;
  policy.replay.one_step_late = true;
  return policy;
}

/// DeepSpeed: deepspeed/runtime/fp16/loss_scaler.py, class DynamicLossScaler, with the defaults of the fp16 section of
/// its configuration
scaling_policy deepspeed() {
  scaling_policy policy = common_policy();
  policy.replay.backoff_by_growth = true;
  policy.growth_interval = 1000;
  policy.min = 1;
  policy.replay.growth_test = interval_test::one_later;
  policy.replay.arithmetic = scale_arithmetic::float64;
  policy.hysteresis = 2;
  policy.hysteresis_mode = hysteresis_kind::per_growth_window;
  return policy;
}

/// The same with the option consecutive_hysteresis.
scaling_policy deepspeed_consecutive() {
  scaling_policy policy = deepspeed();
  policy.hysteresis_mode = hysteresis_kind::consecutive;
  return policy;
}

/// Megatron-LM: megatron/core/optimizer/grad_scaler.py
scaling_policy megatron() {
  scaling_policy policy = common_policy();
  policy.init_scale = 0x1p32;
  policy.growth_interval = 1000;
  policy.min = 1;
  policy.replay.growth_test = interval_test::equal;
  policy.hysteresis = 2;
  policy.hysteresis_mode = hysteresis_kind::per_growth_window;
  return policy;
}

/// fairseq: fairseq/optim/dynamic_loss_scaler.py
scaling_policy fairseq() {
  scaling_policy policy = common_policy();
  policy.init_scale = 0x1p15;
  policy.replay.backoff_by_growth = true;
  policy.min = 1e-4;
  policy.replay.growth_test = interval_test::multiple;
  policy.replay.bounds = bounds_kind::refuse;
  policy.replay.arithmetic = scale_arithmetic::float64;
  return policy;
}

/// jmp: jmp/_src/loss_scale.py
scaling_policy jmp() {
  scaling_policy policy = tf1();
  policy.replay.growth_test = interval_test::wrapping;
  return policy;
}

/// oneflow: oneflow/user/kernels/dynamic_loss_scale_schedule_kernel.{cpp,cu}
scaling_policy oneflow() {
  scaling_policy policy = tf1();
  policy.init_scale = 0x1p16;
  policy.replay.bounds = bounds_kind::clamp_moves;
  return policy;
}

/// Paddle: paddle/phi/kernels/impl/amp_kernel_impl.h
scaling_policy paddle() {
  scaling_policy policy = common_policy();
  policy.min = 1;
  policy.replay.growth_test = interval_test::equal;
  policy.hysteresis_mode = hysteresis_kind::consecutive_anew;
  return policy;
}

/// mindspore: mindspore/python/mindspore/amp.py, class DynamicLossScaler (not the Manager: another rule)
scaling_policy mindspore() {
  scaling_policy policy = jmp();
  policy.init_scale = 0x1p24;
  return policy;
}

/// chainer: chainer/optimizer.py
scaling_policy chainer() {
  scaling_policy policy = common_policy();
  policy.init_scale = 1;
  policy.growth_interval = 1000;
  policy.min = 1;
  policy.max = 65504;
  policy.growth_mode = growth_kind::every_step;
  policy.replay.bounds = bounds_kind::clamp;
  policy.replay.arithmetic = scale_arithmetic::float64;
  return policy;
}

/// onnxruntime: orttraining/orttraining/python/training/amp/loss_scaler.py
scaling_policy onnxruntime() {
  scaling_policy policy = common_policy();
  policy.min = 1;
  policy.max = 0x1p24;
  policy.replay.bounds = bounds_kind::clamp_moves;
  policy.replay.arithmetic = scale_arithmetic::float64;
  return policy;
}

/// OpenSeq2Seq: open_seq2seq/optimizers/automatic_loss_scaler.py
scaling_policy openseq2seq_backoff() {
  scaling_policy policy = common_policy();
  policy.init_scale = 0x1p14;
  policy.replay.backoff_by_growth = true;
  policy.min = 1;
  policy.max = 0x1p14;
  policy.replay.growth_test = interval_test::multiple;
  policy.replay.bounds = bounds_kind::clamp;
  return policy;
}

/// OpenSeq2Seq: the same file
scaling_policy openseq2seq_logmax() {
  scaling_policy policy = openseq2seq_backoff();
  policy.init_scale = 1;
  policy.growth_mode = growth_kind::log_max;
  return policy;
}

struct entry {
  preset_info info;
  std::function<scaling_policy()> make;
};

const std::vector<entry>& entries() {
  static const auto& all = *new std::vector<entry>{
      // never destroyed, because exit handlers may use it
      {{"syclamp", "syclamp's default: PyTorch's numbers, with a floor and a ceiling, and NaN treated apart from Inf",
        ""},
       [] { return scaling_policy{}; }},
      {{"pytorch", "torch.amp.GradScaler", "stops at 2^-126, where GradScaler continues to 0"}, pytorch},
      {{"keras3", "Keras 3 LossScaleOptimizer",
        "keeps the scale finite, where Keras lets it become Inf, which no backoff can undo"},
       keras3},
      {{"keras2", "Keras 2 LossScaleOptimizer", ""}, tf1},
      {{"tf1", "TensorFlow 1 DynamicLossScale", ""}, tf1},
      {{"tf1-contrib", "TensorFlow 1 ExponentialUpdateLossScaleManager",
        "TensorFlow has no defaults for initial scale and interval; here they are 2^15 and 2000"},
       tf1_contrib},
      {{"apex", "apex.amp LossScaler", "stops at 2^-126, where apex continues to 0 and divides by it"}, apex},
      {{"apex-hysteresis", "apex update_scale_hysteresis", "stops at 2^-126, where the kernel continues to 0"},
       apex_hysteresis},
      {{"mxnet", "MXNet amp LossScaler, with its lag of one step",
        "stops at 2^-126, where MXNet continues to 0 and divides by it"},
       mxnet},
      {{"deepspeed", "DeepSpeed ZeRO DynamicLossScaler", "reports status at_floor, where DeepSpeed throws"}, deepspeed},
      {{"deepspeed-consecutive", "DeepSpeed with consecutive_hysteresis",
        "reports status at_floor, where DeepSpeed throws"},
       deepspeed_consecutive},
      {{"megatron", "Megatron-LM DynamicGradScaler",
        "keeps the scale finite, where Megatron lets it become Inf, which no backoff can undo"},
       megatron},
      {{"fairseq", "fairseq DynamicLossScaler", "reports status at_floor, where fairseq throws"}, fairseq},
      {{"jmp", "jmp DynamicLossScale", "jmp has no default for the initial scale; here it is 2^15"}, jmp},
      {{"oneflow", "OneFlow GradScaler", ""}, oneflow},
      {{"paddle", "Paddle's update_loss_scaling kernel with GradScaler's defaults", ""}, paddle},
      {{"mindspore", "MindSpore DynamicLossScaler",
        "MindSpore has no defaults here; 2^24 and 2000 are those of its DynamicLossScaleManager"},
       mindspore},
      {{"chainer", "Chainer Optimizer.loss_scaling", "multiplies losses by the scale rounded to FP32"}, chainer},
      {{"onnxruntime", "ONNX Runtime DynamicLossScaler", ""}, onnxruntime},
      {{"openseq2seq-backoff", "OpenSeq2Seq BackoffScaler", ""}, openseq2seq_backoff},
      {{"openseq2seq-logmax", "OpenSeq2Seq LogMaxScaler",
        "an overflow enters the average as log2 of the limit, 16, not as the limit itself; computed in FP32, not bit "
        "for bit"},
       openseq2seq_logmax}};
  return all;
}

}  // namespace

scaling_policy scaling_preset(std::string_view name) {
  for (const entry& known : entries())
    if (known.info.name == name) return known.make();
  std::vector<std::string> names;
  for (const entry& known : entries()) names.push_back(known.info.name);
  throw invalid_argument(
      fmt::format("the preset \"{}\" does not exist; choose one of {}", name, fmt::join(names, ", ")));
}

const std::vector<preset_info>& scaling_presets() {
  static const auto& all = *new std::vector<preset_info>([] {
    std::vector<preset_info> infos;
    for (const entry& known : entries()) infos.push_back(known.info);
    return infos;
  }());
  return all;
}

}  // namespace SYCLAMP_NAMESPACE
