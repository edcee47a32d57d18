// SPDX-License-Identifier: Apache-2.0
#include "tests/reference/frameworks.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <stdexcept>

#include "tests/reference/numbers.hpp"

namespace reference {
namespace {

constexpr double smallest_scale = 0x1p-126;
constexpr double largest_scale = std::numeric_limits<float>::max();

/// How a framework computes.
enum class arithmetic {
  python,  ///< numbers of Python: double throughout
  tensor,  ///< the scale and its factors are FP32
  mixed,   ///< the scale is FP32, its factor a double: the product is rounded to double, then to FP32
};

/// A framework in numbers.
struct profile {
  arithmetic in;
  double init = 65536;
  double growth = 2;
  std::optional<double> backoff = {};  ///< empty: divides by `growth`
  double min = 0;
  double max = largest_scale;
  bool clamps = false;  ///< growth beyond FLT_MAX goes to the ceiling; else it is not done
  std::uint32_t interval = 2000;
  std::uint32_t hysteresis = 1;
  double tolerance = 0;
};

profile with(profile p, const framework_settings& s) {
  p.init = s.init.value_or(p.init);
  p.growth = s.growth.value_or(p.growth);
  if (s.backoff) p.backoff = s.backoff;
  p.min = s.min.value_or(p.min);
  p.max = s.max.value_or(p.max);
  p.interval = s.interval.value_or(p.interval);
  p.hysteresis = s.hysteresis.value_or(p.hysteresis);
  p.tolerance = s.tolerance.value_or(p.tolerance);
  return p;
}

/// Base of the models: the scale, and how to multiply and to divide it.
class model : public framework {
 public:
  explicit model(const profile& numbers)
      : numbers_(numbers), interval_(numbers.interval), hysteresis_(numbers.hysteresis), scale_(stored(numbers.init)) {}

  framework_step step(gradient found, double unscaled_amax) override {
    const float before = seen();
    amax_ = unscaled_amax;
    if (found == gradient::clean)
      clean();
    else
      overflow();
    return {before, seen(), found == gradient::clean};
  }
  void set_interval(std::uint32_t interval) override { interval_ = interval; }

 protected:
  virtual void clean() = 0;
  virtual void overflow() = 0;

  const profile& numbers() const { return numbers_; }
  std::int64_t interval() const { return interval_; }
  std::int64_t hysteresis() const { return hysteresis_; }
  double amax() const { return amax_; }
  double scale() const { return scale_; }
  void set_scale(double scale) { scale_ = std::max(stored(scale), smallest_scale); }

  double times(double scale, double factor) const {
    return numbers_.in == arithmetic::tensor ? static_cast<float>(scale) * static_cast<float>(factor) : scale * factor;
  }
  double over(double scale, double divisor) const {
    return numbers_.in == arithmetic::tensor ? static_cast<float>(scale) / static_cast<float>(divisor)
                                             : scale / divisor;
  }
  double grown() const {
    const double larger = times(scale_, numbers_.growth);
    if (!numbers_.clamps && std::isinf(rounded_to_float(larger))) return scale_;
    return std::min(larger, numbers_.max);
  }
  double shrunk() const {
    const double smaller = numbers_.backoff ? times(scale_, *numbers_.backoff) : over(scale_, numbers_.growth);
    return std::max(smaller, numbers_.min);
  }
  void grow() { set_scale(grown()); }
  void shrink() { set_scale(shrunk()); }
  void clip() { set_scale(std::max(std::min(scale_, numbers_.max), numbers_.min)); }

 private:
  double stored(double value) const { return numbers_.in == arithmetic::python ? value : rounded_to_float(value); }
  float seen() const { return static_cast<float>(std::min(scale_, largest_scale)); }

  profile numbers_;
  std::int64_t interval_, hysteresis_;
  double scale_;
  double amax_ = 0;
};

/// Clean steps in a row are counted, and the count is compared by ==: an interval that is set below the count is not
/// reached before the next overflow. PyTorch, Keras 3 (which compares the count before this step with interval - 1),
/// apex.
class counter_that_equals : public model {
 public:
  using model::model;

 private:
  void clean() override {
    if (++count_ != interval()) return;
    count_ = 0;
    grow();
  }
  void overflow() override {
    count_ = 0;
    shrink();
  }

  std::int64_t count_ = 0;
};

/// The same compared by >=. TensorFlow's DynamicLossScale, Keras 2, OneFlow, ONNX Runtime.
class counter_that_reaches : public model {
 public:
  using model::model;

 private:
  void clean() override {
    if (++count_ < interval()) return;
    count_ = 0;
    grow();
  }
  void overflow() override {
    count_ = 0;
    shrink();
  }

  std::int64_t count_ = 0;
};

/// The same with a count modulo the interval: one that is set below the count wraps it. jmp, MindSpore.
class counter_that_wraps : public model {
 public:
  using model::model;

 private:
  void clean() override {
    if (count_ == interval() - 1) grow();
    count_ = (count_ + 1) % interval();
  }
  void overflow() override {
    count_ = 0;
    shrink();
  }

  std::int64_t count_ = 0;
};

/// Overflows need not be in a row: they add up over clean steps until the scale moves, down or up.
class tf1_contrib : public model {
 public:
  using model::model;

 private:
  void clean() override {
    if (++good_ < interval()) return;
    good_ = bad_ = 0;
    grow();
  }
  void overflow() override {
    good_ = 0;
    if (++bad_ < hysteresis()) return;
    bad_ = 0;
    shrink();
  }

  std::int64_t good_ = 0, bad_ = 0;
};

/// A clean step and a backoff both clear the count of overflows. Both counts are compared by ==.
class paddle : public model {
 public:
  using model::model;

 private:
  void clean() override {
    bad_ = 0;
    if (++good_ != interval()) return;
    good_ = 0;
    grow();
  }
  void overflow() override {
    good_ = 0;
    if (++bad_ != hysteresis()) return;
    bad_ = 0;
    shrink();
  }

  std::int64_t good_ = 0, bad_ = 0;
};

/// Any clean step refills the hysteresis. Once it is used up, every further overflow of the row backs off.
class apex_hysteresis : public model {
 public:
  explicit apex_hysteresis(const profile& numbers) : model(numbers), left_(hysteresis()) {}

 private:
  void clean() override {
    left_ = hysteresis();
    if (++count_ != interval()) return;
    count_ = 0;
    grow();
  }
  void overflow() override {
    count_ = 0;
    if (--left_ <= 0) shrink();
  }

  std::int64_t left_, count_ = 0;
};

/// Only growth refills the hysteresis. Once it is used up, every overflow backs off, whatever lies between.
class megatron : public model {
 public:
  explicit megatron(const profile& numbers) : model(numbers), left_(hysteresis()) {}

 private:
  void clean() override {
    if (++count_ != interval()) return;
    count_ = 0;
    left_ = hysteresis();
    grow();
  }
  void overflow() override {
    count_ = 0;
    if (--left_ <= 0) shrink();
  }

  std::int64_t left_, count_ = 0;
};

/// Steps are numbered, and the last overflow's number kept. The first clean step is left out of the count: growth comes
/// with clean step N + 1, then with every N-th. Hysteresis as in Megatron, or (consecutive) refilled by a clean step.
class deepspeed : public model {
 public:
  deepspeed(const profile& numbers, bool consecutive)
      : model(numbers), consecutive_(consecutive), left_(hysteresis()) {}

 private:
  void clean() override {
    if (consecutive_) left_ = hysteresis();
    const std::int64_t stable = iteration_ - last_overflow_ - 1;
    if (stable > 0 && stable % interval() == 0) {
      left_ = hysteresis();
      grow();
    }
    ++iteration_;
  }
  void overflow() override {
    if (left_ == 1)
      shrink();  // at the floor it would raise an exception
    else
      --left_;
    last_overflow_ = iteration_++;
  }

  bool consecutive_;
  std::int64_t left_, iteration_ = 0, last_overflow_ = -1;
};

/// Backs off if the share of overflows among the steps since the scale last moved is the tolerance or more. The floor
/// is never reached: a scale that came down to it is put back. There it raises an exception and does not count the
/// step; here, where training continues, the step counts, or the next clean one would look like the end of an interval.
/// (Their case of no step since the scale moved comes from just that, and is left out.)
class fairseq : public model {
 public:
  explicit fairseq(const profile& numbers) : model(without_floor(numbers)), floor_(numbers.min) {}

 private:
  static profile without_floor(profile numbers) {
    numbers.min = 0;
    return numbers;
  }
  void clean() override {
    if ((iteration_ - last_overflow_) % interval() == 0) {
      grow();
      last_move_ = iteration_;
    }
    ++iteration_;
  }
  void overflow() override {
    const double before = scale();
    last_overflow_ = iteration_;
    ++overflows_;
    if (static_cast<double>(overflows_) / static_cast<double>(iteration_ - last_move_) >= numbers().tolerance) {
      shrink();
      last_move_ = iteration_;
      overflows_ = 0;
    }
    if (scale() <= floor_) set_scale(before);
    ++iteration_;
  }

  double floor_;
  std::int64_t iteration_ = 0, last_overflow_ = -1, last_move_ = -1, overflows_ = 0;
};

/// Steps are numbered as in fairseq, and both bounds hold whichever way the scale moves. TensorFlow 1 does not say
/// whether the step's number is read before or after it is incremented: nothing orders the two. Read before, as here,
/// growth comes with the N-th clean step always; read after, it comes a step earlier, but only before the first
/// overflow.
class openseq2seq_backoff : public model {
 public:
  using model::model;

 private:
  void clean() override {
    if ((iteration_ - last_overflow_) % interval() == 0) {
      grow();
      clip();
    }
    ++iteration_;
  }
  void overflow() override {
    shrink();
    clip();
    last_overflow_ = iteration_++;
  }

  std::int64_t iteration_ = 0, last_overflow_ = -1;
};

/// A new scale waits for a step: the check of a step's gradients first takes up what the check before it has decided,
/// so the loss after an overflow is still multiplied by the scale that overflowed.
class mxnet : public model {
 public:
  explicit mxnet(const profile& numbers) : model(numbers), next_(scale()) {}

 private:
  void clean() override {
    set_scale(next_);
    if (++count_ != interval()) return;
    count_ = 0;
    next_ = grown();
  }
  void overflow() override {
    set_scale(next_);
    count_ = 0;
    next_ = shrunk();
  }

  double next_;
  std::int64_t count_ = 0;
};

/// Grows with every clean step: by the whole factor until the first overflow ever, from then on by its N-th root.
class chainer : public model {
 public:
  using model::model;

 private:
  void clean() override {
    const double factor =
        overflowed_ ? std::pow(numbers().growth, 1.0 / static_cast<double>(interval())) : numbers().growth;
    set_scale(times(scale(), factor));
    clip();
  }
  void overflow() override {
    overflowed_ = true;
    shrink();
    clip();
  }

  bool overflowed_ = false;
};

/// Keeps running means of x = log2 of the unscaled amax and of x², and leaves room for 3.09 standard deviations below
/// the overflow limit, 2^16. An overflow counts as x = 16: theirs says 2^16, against all else that goes into the means.
/// The rule in double, as meant; theirs is in FP32, where the deviation in the first steps is mostly rounding. A step
/// without an amax (all gradients 0: theirs becomes NaN) changes nothing.
class openseq2seq_logmax : public model {
 public:
  using model::model;

 private:
  struct running_mean {
    double beta, sum = 0, weight = 0;

    double add(double x) {
      sum = beta * sum + (1 - beta) * x;
      weight = beta * weight + (1 - beta);
      return sum / weight;
    }
  };

  void clean() override {
    if (amax() > 0) look_at(std::log2(amax()));
  }
  void overflow() override { look_at(limit); }

  void look_at(double x) {
    const double mean = mean_.add(x), slow_mean = slow_mean_.add(x), square = square_.add(x * x);
    const double deviation = std::sqrt(std::max(square - slow_mean * slow_mean, 0.0));
    set_scale(std::exp2(limit - (mean + 3.09 * deviation)));
    clip();
  }

  static constexpr double limit = 16;
  running_mean mean_{0.99}, slow_mean_{0.999}, square_{0.999};
};

using maker = std::function<std::unique_ptr<framework>(const framework_settings&)>;

template <typename Model>
maker made_from(const profile& numbers) {
  return [=](const framework_settings& settings) { return std::make_unique<Model>(with(numbers, settings)); };
}

maker deepspeed_that_is(bool consecutive) {
  const profile numbers{.in = arithmetic::python, .min = 1, .interval = 1000, .hysteresis = 2};
  return [=](const framework_settings& settings) {
    return std::make_unique<deepspeed>(with(numbers, settings), consecutive);
  };
}

/// The initial scale is capped, too.
maker apex() {
  const profile numbers{.in = arithmetic::python, .backoff = 0.5, .max = 0x1p24, .clamps = true};
  return [=](const framework_settings& settings) {
    profile p = with(numbers, settings);
    p.init = std::min(p.init, p.max);
    return std::make_unique<counter_that_equals>(p);
  };
}

/// It begins at the ceiling.
maker openseq2seq() {
  const profile numbers{.in = arithmetic::tensor, .min = 1, .max = 0x1p14, .clamps = true};
  return [=](const framework_settings& settings) {
    profile p = with(numbers, settings);
    p.init = settings.init.value_or(p.max);
    return std::make_unique<openseq2seq_backoff>(p);
  };
}

/// The multiplier is a float there, before it meets the double that the scale is widened to.
maker oneflow() {
  const profile numbers{.in = arithmetic::mixed, .min = 1, .clamps = true};
  return [=](const framework_settings& settings) {
    profile p = with(numbers, settings);
    p.growth = rounded_to_float(p.growth);
    if (p.backoff) p.backoff = rounded_to_float(*p.backoff);
    return std::make_unique<counter_that_reaches>(p);
  };
}

const std::map<std::string, maker>& makers() {
  using enum arithmetic;
  static const std::map<std::string, maker> all{
      {"pytorch", made_from<counter_that_equals>({.in = mixed, .backoff = 0.5})},
      {"keras3", made_from<counter_that_equals>({.in = tensor, .init = 0x1p15})},
      {"keras2", made_from<counter_that_reaches>({.in = tensor, .init = 0x1p15, .min = 1})},
      {"tf1", made_from<counter_that_reaches>({.in = tensor, .init = 0x1p15, .min = 1})},
      {"tf1-contrib",
       made_from<tf1_contrib>({.in = tensor, .init = 0x1p15, .backoff = 0.8, .min = 1, .hysteresis = 2})},
      {"apex", apex()},
      {"apex-hysteresis", made_from<apex_hysteresis>({.in = mixed, .backoff = 0.5, .hysteresis = 2})},
      {"mxnet", made_from<mxnet>({.in = python, .backoff = 0.5, .max = 0x1p24, .clamps = true})},
      {"deepspeed", deepspeed_that_is(false)},
      {"deepspeed-consecutive", deepspeed_that_is(true)},
      {"megatron", made_from<megatron>(
                       {.in = tensor, .init = 0x1p32, .backoff = 0.5, .min = 1, .interval = 1000, .hysteresis = 2})},
      {"fairseq", made_from<fairseq>({.in = python, .init = 0x1p15, .min = 1e-4})},
      {"jmp", made_from<counter_that_wraps>({.in = tensor, .init = 0x1p15, .min = 1})},
      {"oneflow", oneflow()},
      {"paddle", made_from<paddle>({.in = tensor, .backoff = 0.5, .min = 1})},
      {"mindspore", made_from<counter_that_wraps>({.in = tensor, .init = 0x1p24, .min = 1})},
      {"chainer",
       made_from<chainer>(
           {.in = python, .init = 1, .backoff = 0.5, .min = 1, .max = 65504, .clamps = true, .interval = 1000})},
      {"onnxruntime",
       made_from<counter_that_reaches>({.in = python, .backoff = 0.5, .min = 1, .max = 0x1p24, .clamps = true})},
      {"openseq2seq-backoff", openseq2seq()},
      {"openseq2seq-logmax", made_from<openseq2seq_logmax>({.in = tensor, .init = 1, .min = 1, .max = 0x1p14})},
  };
  return all;
}

}  // namespace

std::unique_ptr<framework> make_framework(const std::string& name, const framework_settings& settings) {
  const auto found = makers().find(name);
  if (found == makers().end())
    throw std::invalid_argument("there is no model of '" + name + "'; see framework_names()");
  return found->second(settings);
}

std::vector<std::string> framework_names() {
  std::vector<std::string> names;
  for (const auto& [name, make] : makers()) names.push_back(name);
  return names;
}

}  // namespace reference
