// SPDX-License-Identifier: Apache-2.0
// The policies of other frameworks. What each of them does, exactly, is told in docs/scaling.md.
#include "syclamp/presets.hpp"

#include <algorithm>
#include <functional>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "syclamp/error.hpp"

namespace syclamp {
namespace {

/// A peer's policy differs from the next one's in a few fields; what they all have in common.
scaling_policy of_peer() {
  scaling_policy policy;
  policy.min = 0x1p-126;
  policy.max = std::numeric_limits<float>::max();
  policy.power_of_two = false;
  policy.limits = limit_kind::keep;
  policy.nan_patience = 0;
  return policy;
}

scaling_policy pytorch() {
  scaling_policy policy = of_peer();
  policy.test = interval_test::equal;
  policy.arithmetic = scale_arithmetic::float32_scaled;
  return policy;
}

scaling_policy keras3() {
  scaling_policy policy = of_peer();
  policy.init = 0x1p15;
  policy.backoff_by_growth = true;
  policy.test = interval_test::equal;
  return policy;
}

scaling_policy tf1() {
  scaling_policy policy = of_peer();
  policy.init = 0x1p15;
  policy.backoff_by_growth = true;
  policy.min = 1;
  return policy;
}

scaling_policy tf1_contrib() {
  scaling_policy policy = tf1();
  policy.backoff_by_growth = false;
  policy.backoff = 0.8;
  policy.hysteresis = 2;
  policy.counting = hysteresis_kind::accumulated;
  return policy;
}

scaling_policy apex() {
  scaling_policy policy = of_peer();
  policy.test = interval_test::equal;
  policy.max = 0x1p24;
  policy.limits = limit_kind::clamp;
  policy.arithmetic = scale_arithmetic::float64;
  return policy;
}

scaling_policy apex_hysteresis() {
  scaling_policy policy = pytorch();
  policy.hysteresis = 2;
  return policy;
}

scaling_policy mxnet() {
  scaling_policy policy = apex();
  policy.limits = limit_kind::clamp_moves;
  policy.one_step_late = true;
  return policy;
}

scaling_policy deepspeed() {
  scaling_policy policy = of_peer();
  policy.backoff_by_growth = true;
  policy.interval = 1000;
  policy.min = 1;
  policy.test = interval_test::one_later;
  policy.arithmetic = scale_arithmetic::float64;
  policy.hysteresis = 2;
  policy.counting = hysteresis_kind::per_growth_window;
  return policy;
}

scaling_policy deepspeed_consecutive() {
  scaling_policy policy = deepspeed();
  policy.counting = hysteresis_kind::consecutive;
  return policy;
}

scaling_policy megatron() {
  scaling_policy policy = of_peer();
  policy.init = 0x1p32;
  policy.interval = 1000;
  policy.min = 1;
  policy.test = interval_test::equal;
  policy.hysteresis = 2;
  policy.counting = hysteresis_kind::per_growth_window;
  return policy;
}

scaling_policy fairseq() {
  scaling_policy policy = of_peer();
  policy.init = 0x1p15;
  policy.backoff_by_growth = true;
  policy.min = 1e-4;
  policy.test = interval_test::multiple;
  policy.limits = limit_kind::refuse;
  policy.arithmetic = scale_arithmetic::float64;
  return policy;
}

scaling_policy jmp() {
  scaling_policy policy = tf1();
  policy.test = interval_test::wrapping;
  return policy;
}

scaling_policy oneflow() {
  scaling_policy policy = tf1();
  policy.init = 0x1p16;
  policy.limits = limit_kind::clamp_moves;
  return policy;
}

scaling_policy paddle() {
  scaling_policy policy = of_peer();
  policy.min = 1;
  policy.test = interval_test::equal;
  policy.counting = hysteresis_kind::consecutive_anew;
  return policy;
}

scaling_policy mindspore() {
  scaling_policy policy = jmp();
  policy.init = 0x1p24;
  return policy;
}

scaling_policy chainer() {
  scaling_policy policy = of_peer();
  policy.init = 1;
  policy.interval = 1000;
  policy.min = 1;
  policy.max = 65504;
  policy.grow = growth_kind::every_step;
  policy.limits = limit_kind::clamp;
  policy.arithmetic = scale_arithmetic::float64;
  return policy;
}

scaling_policy onnxruntime() {
  scaling_policy policy = of_peer();
  policy.min = 1;
  policy.max = 0x1p24;
  policy.limits = limit_kind::clamp_moves;
  policy.arithmetic = scale_arithmetic::float64;
  return policy;
}

scaling_policy openseq2seq_backoff() {
  scaling_policy policy = of_peer();
  policy.init = 0x1p14;
  policy.backoff_by_growth = true;
  policy.min = 1;
  policy.max = 0x1p14;
  policy.test = interval_test::multiple;
  policy.limits = limit_kind::clamp;
  return policy;
}

scaling_policy openseq2seq_logmax() {
  scaling_policy policy = openseq2seq_backoff();
  policy.init = 1;
  policy.grow = growth_kind::log_max;
  return policy;
}

struct entry {
  preset_info info;
  std::function<scaling_policy()> make;
};

const std::vector<entry>& entries() {
  static const auto& all = *new std::vector<entry>{
      // never destroyed: exit handlers may ask, too
      {{"syclamp", "our own: PyTorch's numbers, a floor and a ceiling, NaN told apart", ""},
       [] { return scaling_policy{}; }},
      {{"pytorch", "torch.amp.GradScaler", "stays at 2^-126 where GradScaler goes on to 0"}, pytorch},
      {{"keras3", "Keras 3 LossScaleOptimizer",
        "keeps the scale where Keras lets it become Inf, which no backoff can undo"},
       keras3},
      {{"keras2", "Keras 2 LossScaleOptimizer", ""}, tf1},
      {{"tf1", "TensorFlow 1 DynamicLossScale", ""}, tf1},
      {{"tf1-contrib", "TensorFlow 1 ExponentialUpdateLossScaleManager",
        "has no defaults for start and interval: 2^15 and 2000 here"},
       tf1_contrib},
      {{"apex", "apex.amp LossScaler", "stays at 2^-126 where apex goes on to 0 and divides by it"}, apex},
      {{"apex-hysteresis", "apex update_scale_hysteresis", "stays at 2^-126 where the kernel goes on to 0"},
       apex_hysteresis},
      {{"mxnet", "MXNet amp LossScaler, with its lag of one step",
        "stays at 2^-126 where MXNet goes on to 0 and divides by it"},
       mxnet},
      {{"deepspeed", "DeepSpeed ZeRO DynamicLossScaler", "status at_floor where DeepSpeed throws"}, deepspeed},
      {{"deepspeed-consecutive", "the same with consecutive_hysteresis", "status at_floor where DeepSpeed throws"},
       deepspeed_consecutive},
      {{"megatron", "Megatron-LM DynamicGradScaler",
        "keeps the scale where Megatron lets it become Inf, which no backoff can undo"},
       megatron},
      {{"fairseq", "fairseq DynamicLossScaler", "status at_floor where fairseq throws"}, fairseq},
      {{"jmp", "jmp DynamicLossScale", "has no default for the start: 2^15 here"}, jmp},
      {{"oneflow", "OneFlow GradScaler", ""}, oneflow},
      {{"paddle", "Paddle's update_loss_scaling kernel with GradScaler's defaults", ""}, paddle},
      {{"mindspore", "MindSpore DynamicLossScaler",
        "has no defaults: 2^24 and 2000 here, as its DynamicLossScaleManager"},
       mindspore},
      {{"chainer", "Chainer Optimizer.loss_scaling", "losses are multiplied by the scale rounded to FP32"}, chainer},
      {{"onnxruntime", "ONNX Runtime DynamicLossScaler", ""}, onnxruntime},
      {{"openseq2seq-backoff", "OpenSeq2Seq BackoffScaler", ""}, openseq2seq_backoff},
      {{"openseq2seq-logmax", "OpenSeq2Seq LogMaxScaler",
        "an overflow enters the average as the logarithm of the limit, 16, not as the limit itself; in FP32, not bit "
        "for "
        "bit"},
       openseq2seq_logmax}};
  return all;
}

}  // namespace

scaling_policy preset(std::string_view name) {
  for (const entry& one : entries())
    if (one.info.name == name) return one.make();
  std::vector<std::string> names;
  for (const entry& one : entries()) names.push_back(one.info.name);
  throw invalid_argument(fmt::format("there is no preset \"{}\"; choose one of {}", name, fmt::join(names, ", ")));
}

const std::vector<preset_info>& presets() {
  static const auto& all = *new std::vector<preset_info>([] {
    std::vector<preset_info> infos;
    for (const entry& one : entries()) infos.push_back(one.info);
    return infos;
  }());
  return all;
}

}  // namespace syclamp
