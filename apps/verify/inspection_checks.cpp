// SPDX-License-Identifier: Apache-2.0
// Inspections in detail, casts that saturate or round at random, and fake quantisation, against the oracle.
#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include <fmt/format.h>

#include "apps/verify/check.hpp"
#include "apps/verify/comparisons.hpp"
#include "apps/verify/guarded_tensor.hpp"
#include "tests/reference/inspect.hpp"
#include "tests/reference/quantization.hpp"
#include "tests/reference/random.hpp"

namespace syclamp::verify {
namespace {

/// Of the tensors of a list. Quick: one tensor of several chunks between two small ones.
std::vector<std::uint64_t> sizes(const settings& settings) {
  if (settings.quick) return {7, 65537, 129};
  return {129, 65537, 7, 1, 4097, 65536, 64, 131073};
}

/// Numbers of casts; more than a chunk.
constexpr std::uint64_t cast_size = 70'001;

constexpr std::uint32_t groups = 2;  // of tensors: even and odd ones

/// A list of tensors. Two tensors have an Inf or a NaN, if the list is not finite.
template <typename Format>
struct inspected_list {
  using bits = typename Format::bits;

  inspected_list(const engine& engine, const std::vector<std::uint64_t>& counts, bool is_finite)
      : list(engine, make_tensors(engine, counts, is_finite)) {}

  /// What the oracle says of the elements of all tensors that `is_part` accepts.
  struct expectation {
    reference::statistics statistics;
    std::uint64_t elements = 0;
    std::uint64_t first_tensor = 0;  ///< the first one with an Inf or NaN
  };
  expectation expected(const std::function<bool(std::size_t)>& is_part) const {
    std::vector<bits> all;
    expectation found;
    std::uint64_t first_nonfinite = no_element;
    for (std::size_t i = 0; i < contents.size(); ++i) {
      if (!is_part(i)) continue;
      all.insert(all.end(), contents[i].begin(), contents[i].end());
      if (first_nonfinite != no_element) continue;
      first_nonfinite = truth(contents[i]).first_nonfinite;  // counted from the beginning of the tensor
      found.first_tensor = i;
    }
    found.statistics = truth(all);
    found.statistics.first_nonfinite = first_nonfinite;
    found.elements = all.size();
    return found;
  }

  std::vector<std::vector<bits>> contents;
  std::vector<guarded_tensor<Format>> memory;
  tensor_list list;

 private:
  static reference::statistics truth(const std::vector<bits>& data) {
    return reference::inspect(data.size(), Format::format, [&](std::uint64_t i) { return data[i]; });
  }

  std::vector<tensor> make_tensors(const engine& engine, const std::vector<std::uint64_t>& counts, bool is_finite) {
    std::vector<tensor> tensors;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      auto data = uniform_numbers<Format>(counts[i], static_cast<std::uint32_t>(i));
      if (counts[i] > 5) data[4] = 0, data[5] = Format::sign, data[counts[i] / 2] = 1;  // 1: the smallest subnormal
      if (!is_finite && i == 1) data[counts[i] - 2] = Format::infinity, data.back() = Format::signalling_nan;
      if (!is_finite && i == 2) data[3] = Format::quiet_nan;
      contents.push_back(data);
      memory.emplace_back(engine, data, i % 2);
      tensors.push_back({.data = memory.back().view(), .group = static_cast<std::uint32_t>(i % groups)});
    }
    return tensors;
  }
};

template <typename Format>
std::string details_difference(const engine& engine, const settings& settings, bool is_finite) {
  const inspected_list<Format> data(engine, sizes(settings), is_finite);
  const inspector inspector(data.list, inspection_level::tensors);
  inspector.run();
  const auto compare = [&](const inspection& result, const std::function<bool(std::size_t)>& is_part) {
    const auto expected = data.expected(is_part);
    return compare_details(result, expected.statistics, expected.elements, expected.first_tensor);
  };
  std::string difference = in_part("the list", compare(inspector.result(), [](std::size_t) { return true; }));
  const auto tensors = inspector.tensors(), of_groups = inspector.groups();
  for (std::size_t i = 0; i < tensors.size() && difference.empty(); ++i)
    difference = in_part(fmt::format("tensor {} of {} elements", i, data.contents[i].size()),
                         compare(tensors[i], [&](std::size_t tensor) { return tensor == i; }));
  for (std::size_t group = 0; group < of_groups.size() && difference.empty(); ++group)
    difference = in_part(fmt::format("group {}", group),
                         compare(of_groups[group], [&](std::size_t tensor) { return tensor % groups == group; }));
  return difference;
}

template <typename Format>
std::string histogram_difference(const engine& engine, const settings& settings) {
  const inspected_list<Format> data(engine, sizes(settings), false);
  const inspector inspector(data.list, inspection_level::histogram);
  for (int i = 0; i < 2; ++i) inspector.run();  // each inspection counts from 0
  const exponent_histogram result = inspector.histogram();
  std::array<std::uint64_t, exponent_histogram::size> expected{};
  for (const auto& content : data.contents)
    for (const auto element : content) {
      const double value = reference::rounded_to_float(reference::decode(element, Format::format).value);
      if (value != 0) ++expected.at(reference::exponent_bin(value));
    }
  for (std::size_t bin = 0; bin < expected.size(); ++bin)
    if (result.counts[bin] != expected[bin])
      return fmt::format("exponent {}: {} elements instead of {}", static_cast<int>(bin) - exponent_histogram::bias,
                         result.counts[bin], expected[bin]);
  return {};
}

/// A cast from FP32 with the options, compared with what `expected(i, saturate)` says of each element.
template <typename Format>
std::string cast_difference(const engine& engine, const std::vector<float>& values, cast_options options,
                            const std::function<std::uint64_t(std::size_t, bool)>& expected) {
  const device_array<float> in(engine, values);
  const guarded_tensor<Format> out(engine, std::vector<typename Format::bits>(values.size()), 0);
  const device_array<std::uint64_t> saturated(engine, 1, std::uint64_t{12345});  // each cast counts from 0
  options.saturated = saturated.data();
  cast(tensor_list(engine, in), tensor_list(engine, out.view()), options);
  std::vector<std::uint64_t> rounded;
  std::uint64_t beyond = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    rounded.push_back(expected(i, options.saturate));
    const double unbounded = reference::decode(expected(i, false), Format::format).value;
    if (!std::isnan(values[i]) && !std::isfinite(unbounded)) ++beyond;
  }
  std::string difference = compare_bits(out.read(), rounded, Format::format);
  if (!difference.empty()) return difference;
  const std::uint64_t counted = saturated.to_vector().front();
  if (counted != beyond) return fmt::format("{} elements outside the range instead of {}", counted, beyond);
  return out.written_outside();
}

template <typename Format>
std::string special_cast_difference(const engine& engine) {
  const auto values = reference::numbers_near(Format::format, cast_size, 1);
  const auto to_nearest = [&](std::size_t i, bool saturate) {
    return reference::encode(static_cast<double>(values[i]), Format::format, saturate);
  };
  constexpr std::uint64_t seed = 0x123456789abcdef0, step = (std::uint64_t{1} << 33) + 7;
  const device_array<std::uint64_t> device_step(engine, 1, step);
  const auto at_random = [&](std::size_t i, bool saturate) {
    return reference::encode_at_random(values[i], Format::format, reference::random_word(seed, step, 0, i), saturate);
  };
  const cast_options stochastic{
      .rounding_mode = rounding::stochastic, .saturate = true, .seed = seed, .step = device_step.data()};
  std::string difference =
      in_part("saturating", cast_difference<Format>(engine, values, {.saturate = true}, to_nearest));
  if (difference.empty()) difference = in_part("counting", cast_difference<Format>(engine, values, {}, to_nearest));
  if (difference.empty())
    difference = in_part("stochastic", cast_difference<Format>(engine, values, stochastic, at_random));
  return difference;
}

/// Quantizes tensors whose largest values differ, so that their scales differ as well. Checks the scales over two
/// steps.
template <typename Format>
std::string fake_quantization_difference(const engine& engine, const settings& settings, float limit) {
  using bits = typename Format::bits;
  const auto counts = sizes(settings);
  std::vector<guarded_tensor<Format>> in, out, gradient_out, gradient_in;
  std::vector<tensor> lists[4];
  std::vector<reference::delayed_scale> expected_scales(counts.size(),
                                                        {.limit = static_cast<double>(limit), .length = 2});
  const auto content = [&](std::size_t i, std::uint32_t step) {  // beyond the scales of the step before
    const double largest = std::ldexp(step == 0 ? 1.0 : 2.0, -2 * static_cast<int>(i));
    return uniform_numbers<Format>(counts[i], static_cast<std::uint32_t>(i) + 50 * step, largest);
  };
  for (std::size_t i = 0; i < counts.size(); ++i) {
    in.emplace_back(engine, content(i, 0), 0);
    out.emplace_back(engine, std::vector<bits>(counts[i]), 0);
    gradient_out.emplace_back(engine, uniform_numbers<Format>(counts[i], 7), 0);
    gradient_in.emplace_back(engine, std::vector<bits>(counts[i]), 0);
    for (auto [list, tensor] : {std::pair(0, &in), {1, &out}, {2, &gradient_out}, {3, &gradient_in}})
      lists[list].push_back({.data = tensor->back().view()});
  }
  const tensor_list inputs(engine, lists[0]), outputs(engine, lists[1]), from(engine, lists[2]), to(engine, lists[3]);
  const inspector inspector(inputs, inspection_level::tensors);
  const delayed_scaling scaling(inputs, limit, {.history = 2});
  for (std::uint32_t step = 0; step < 2; ++step) {
    for (std::size_t i = 0; i < counts.size(); ++i) in[i].write(content(i, step));
    fake_quantize(inputs, outputs, scaling);
    fake_quantize_gradient(inputs, from, to, scaling);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      std::vector<std::uint64_t> quantized, passed;
      const auto gradients = gradient_out[i].read();
      double amax = 0;
      for (const double x : in[i].values()) {
        const double scale = expected_scales[i].scale, bound = static_cast<double>(limit);
        quantized.push_back(reference::encode(reference::fake_quantized(x, scale, bound), Format::format));
        passed.push_back(reference::is_in_range(x, scale, bound) ? gradients[passed.size()] : 0);
        amax = std::max(amax, std::abs(x));
      }
      std::string difference = in_part("elements", compare_bits(out[i].read(), quantized, Format::format));
      if (difference.empty())
        difference = in_part("gradients", compare_bits(gradient_in[i].read(), passed, Format::format));
      if (difference.empty()) difference = out[i].written_outside() + gradient_in[i].written_outside();
      if (!difference.empty()) return fmt::format("step {}, {} elements: {}", step + 1, counts[i], difference);
      expected_scales[i].update(amax);
    }
    inspector.run();
    scaling.update(inspector);
    const auto scales = scaling.scales();
    for (std::size_t i = 0; i < counts.size(); ++i)
      if (static_cast<double>(scales[i]) != expected_scales[i].scale)
        return fmt::format("step {}: the scale of tensor {} is {} instead of {}", step + 1, i, scales[i],
                           expected_scales[i].scale);
  }
  return {};
}

/// Of `difference(Format)` for several types.
struct differences {
  std::string all;
  template <typename Format>
  void add(Format, const std::string& difference) {
    add_difference(all, to_string(Format::type), difference);
  }
};

}  // namespace

std::vector<check> inspection_checks(const engine& engine, const settings& settings) {
  constexpr const char* remedy =
      "Update the driver of the device and run verify again. Training with one scale and without FP8 does not need it.";
  const std::size_t count = sizes(settings).size();
  return {
      {"inspect tensors and groups", remedy,
       [=] {
         differences found;
         for_each_type([&](auto format) {
           for (const bool is_finite : {true, false})
             found.add(format, details_difference<decltype(format)>(engine, settings, is_finite));
         });
         return passed_unless(found.all,
                              fmt::format("6 types, {} tensors, 2 groups, with and without Inf and NaN", count));
       }},
      {"exponent histogram", remedy,
       [=] {
         differences found;
         for_each_type(
             [&](auto format) { found.add(format, histogram_difference<decltype(format)>(engine, settings)); });
         return passed_unless(found.all, fmt::format("6 types, {} tensors", count));
       }},
      {"saturating and stochastic cast", remedy,
       [=] {
         differences found;
         found.add(float16{}, special_cast_difference<float16>(engine));
         found.add(bfloat16{}, special_cast_difference<bfloat16>(engine));
         found.add(float8_e4m3{}, special_cast_difference<float8_e4m3>(engine));
         found.add(float8_e5m2{}, special_cast_difference<float8_e5m2>(engine));
         return passed_unless(found.all, fmt::format("float32 to 4 types, {} elements", cast_size));
       }},
      {"fake quantization", remedy,
       [=] {
         differences found;
         for_each_gradient_type([&](auto format) {
           for (const float limit : {127.0f, 7.0f})
             found.add(format, fake_quantization_difference<decltype(format)>(engine, settings, limit));
         });
         return passed_unless(found.all, fmt::format("3 types, {} tensors, INT8 and INT4, scales of 2 steps", count));
       }},
  };
}

}  // namespace syclamp::verify
