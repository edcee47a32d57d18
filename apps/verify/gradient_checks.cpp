// SPDX-License-Identifier: Apache-2.0
// Operations on gradients against the oracle: inspect, unscale, norm and clip, cast, accumulate, clear, clamp.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "apps/verify/check.hpp"
#include "apps/verify/comparisons.hpp"
#include "apps/verify/guarded_tensor.hpp"
#include "tests/reference/inspect.hpp"

namespace syclamp::verify {
namespace {

constexpr std::uint64_t chunk = 65536;  // elements whose sum is one partial sum
constexpr float scale = 1024.0f;        // a power of two: unscaling is exact
constexpr std::size_t offsets[] = {0, 1};

std::vector<std::uint64_t> sizes(const settings& settings) {
  if (settings.quick) return {0, 1, 7, 8, chunk - 1, chunk + 1};
  return {0, 1, 7, 8, 9, 63, 64, 65, 127, 128, 129, 4097, chunk - 1, chunk, chunk + 1, 2 * chunk + 1};
}

/// Where a bad element is, and which.
template <typename Format>
struct placement {
  const char* name;
  void (*place)(std::vector<typename Format::bits>& data);
};

template <typename Format>
inline constexpr placement<Format> placements[] = {
    {"all finite", [](auto&) {}},
    {"Inf first", [](auto& data) { data.front() = Format::infinity; }},
    {"NaN last", [](auto& data) { data.back() = Format::quiet_nan; }},
    {"-Inf and a signalling NaN",
     [](auto& data) {
       data[data.size() / 2] = Format::signalling_nan;
       data.back() = static_cast<typename Format::bits>(Format::infinity | Format::sign);
     }},
    {"Inf on both sides of a chunk boundary",
     [](auto& data) {
       data[std::min<std::uint64_t>(data.size(), chunk) - 1] = Format::infinity;
       data[std::min<std::uint64_t>(data.size() - 1, chunk)] = Format::infinity;
     }},
};

template <typename Format>
reference::statistics truth(const std::vector<typename Format::bits>& data) {
  return reference::inspect(data.size(), Format::format, [&](std::uint64_t i) { return data[i]; });
}

std::string place_of(element_type type, std::uint64_t size, std::size_t offset) {
  return fmt::format("{}, {} elements, {}", to_string(type), size, offset == 0 ? "aligned" : "not aligned");
}

/// Calls `difference(Format, size, offset)` for every type, size and alignment. Keeps the first difference of each
/// type.
template <typename Difference>
std::string over_grid(const settings& settings, Difference difference) {
  std::string all;
  for_each_gradient_type([&](auto format) {
    for (const std::uint64_t size : sizes(settings))
      for (const std::size_t offset : offsets) {
        const std::string found = difference(format, size, offset);
        if (found.empty()) continue;
        add_difference(all, place_of(format.type, size, offset), found);
        return;
      }
  });
  return all;
}

template <typename Format>
std::string inspect_difference(const engine& engine, std::uint64_t size, std::size_t offset) {
  for (const placement<Format>& bad : placements<Format>) {
    auto data = finite_gradients<Format>(size, 1);
    if (size != 0) bad.place(data);
    const guarded_tensor<Format> tensor(engine, data, offset);
    const std::string difference = compare_inspection(inspect(engine, tensor.view()), truth<Format>(data), size);
    if (!difference.empty()) return fmt::format("{}: {}", bad.name, difference);
    const std::string written =
        compare_bits(tensor.read(), std::vector<std::uint64_t>(data.begin(), data.end()), Format::format);
    if (!written.empty()) return "gradients were changed: " + written;
  }
  return {};
}

/// All sizes as tensors of one list, and the only NaN in one of them.
template <typename Format>
std::string list_difference(const engine& engine, const settings& settings) {
  std::vector<guarded_tensor<Format>> memory;
  std::vector<tensor> tensors;
  std::vector<typename Format::bits> all;
  const auto counts = sizes(settings);
  const std::size_t bad_tensor = 2, bad_element = 3;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    auto data = finite_gradients<Format>(counts[i], static_cast<std::uint32_t>(i));
    if (i == bad_tensor) data[bad_element] = Format::quiet_nan;
    memory.emplace_back(engine, data, i % 3);
    tensors.push_back({.data = memory.back().view()});
    all.insert(all.end(), data.begin(), data.end());
  }
  const inspector inspector(tensor_list(engine, tensors));
  inspector.run();
  auto expected = truth<Format>(all);
  expected.first_nonfinite = bad_element;
  return compare_inspection(inspector.result(), expected, all.size(), bad_tensor);
}

/// What unscaling makes of the elements: FP32, rounded once.
template <typename Format>
std::vector<std::uint64_t> unscaled(const std::vector<typename Format::bits>& data, double factor = 1.0) {
  std::vector<std::uint64_t> all;
  for (const auto entry : data) {
    const double value = reference::rounded_to_float(reference::decode(entry, Format::format).value / scale);
    all.push_back(reference::encode(value * factor, reference::binary32));
  }
  return all;
}

template <typename Format>
std::string unscale_difference(const engine& engine, std::uint64_t size, std::size_t offset) {
  auto data = finite_gradients<Format>(size, 2);
  if (size > 1) data.front() = Format::infinity, data.back() = Format::quiet_nan;
  const guarded_tensor<Format> in(engine, data, offset);
  const guarded_tensor<float32> out(engine, std::vector<std::uint32_t>(size), offset);
  unscale(tensor_list(engine, in.view()), tensor_list(engine, out.view()), scale);
  const std::string difference = compare_bits(out.read(), unscaled<Format>(data), reference::binary32);
  return difference.empty() ? out.written_outside() : difference;
}

/// Unscaling and inspecting in one pass. FP32 also in place, where an Inf is counted before it is overwritten.
template <typename Format>
std::string inspect_and_unscale_difference(const engine& engine, std::uint64_t size, std::size_t offset) {
  for (const placement<Format>& bad : placements<Format>) {
    auto data = finite_gradients<Format>(size, 6);
    if (size != 0) bad.place(data);
    const guarded_tensor<Format> in(engine, data, offset);
    const guarded_tensor<float32> out(engine, std::vector<std::uint32_t>(size), 1 - offset);
    const inspector inspector(tensor_list(engine, in.view()));
    const auto difference = [&](const auto& result) {
      std::string found = compare_inspection(inspector.result(), truth<Format>(data), size);
      if (found.empty()) found = compare_bits(result.read(), unscaled<Format>(data), reference::binary32);
      return found.empty() ? result.written_outside() : found;
    };
    inspector.unscale(tensor_list(engine, out.view()), scale);
    std::string found = difference(out);
    if constexpr (Format::type == element_type::float32) {
      inspector.unscale(inspector.list(), scale);
      if (found.empty()) found = in_part("in place", difference(in));
    }
    if (!found.empty()) return fmt::format("{}: {}", bad.name, found);
  }
  return {};
}

template <typename Format>
std::string clip_difference(const engine& engine, std::uint64_t size, std::size_t offset) {
  const auto data = finite_gradients<Format>(size, 3);
  const double norm = std::sqrt(truth<Format>(data).sum_of_squares) / scale;
  const float max_norm = size == 0 ? 1.0f : static_cast<float>(norm / 3);
  const guarded_tensor<Format> in(engine, data, offset);
  const guarded_tensor<float32> out(engine, std::vector<std::uint32_t>(size), offset);
  const device_array<clip_result> clipping(engine, 1);
  const inspector inspector(tensor_list(engine, in.view()));
  inspector.run(scale);
  clip_coefficient(engine, inspector.device_result(), max_norm, clipping.data());
  const auto unscaled_list = unscale(inspector.list(), tensor_list(engine, out.view()), scale);
  clip(unscaled_list, clipping.data());
  const clip_result result = clipping.to_vector().front();
  std::string difference = compare_clip(result, norm, static_cast<double>(max_norm));
  if (!difference.empty()) return difference;
  // Elements are the device's own coefficient times the unscaled gradient, rounded once.
  const std::string elements =
      compare_bits(out.read(), unscaled<Format>(data, static_cast<double>(result.coefficient)), reference::binary32);
  return elements.empty() ? out.written_outside() : elements;
}

template <typename In, typename Out>
std::string cast_difference(const engine& engine, const std::vector<typename In::bits>& data, std::size_t offset) {
  const guarded_tensor<In> in(engine, data, offset);
  const guarded_tensor<Out> out(engine, std::vector<typename Out::bits>(data.size()), offset);
  cast(tensor_list(engine, in.view()), tensor_list(engine, out.view()));
  std::vector<std::uint64_t> expected;
  for (const auto entry : data)
    expected.push_back(reference::encode(reference::decode(entry, In::format).value, Out::format));
  const std::string difference = compare_bits(out.read(), expected, Out::format);
  return difference.empty() ? out.written_outside() : difference;
}

template <typename Format>
std::string accumulate_difference(const engine& engine, std::uint64_t size, std::size_t offset) {
  const auto data = finite_gradients<Format>(size, 5);
  auto bad_data = data;
  if (size != 0) bad_data.back() = Format::infinity;
  const guarded_tensor<Format> in(engine, data, offset), bad(engine, bad_data, offset);
  const guarded_tensor<float32> sum(engine, std::vector<std::uint32_t>(size, 0x3e800000u), offset);  // 0.25
  const inspector good_inspector(tensor_list(engine, in.view())), bad_inspector(tensor_list(engine, bad.view()));
  const tensor_list sums(engine, sum.view());
  good_inspector.run(scale);
  accumulate(good_inspector.list(), sums, scale, good_inspector.device_result());
  bad_inspector.run(scale);
  if (size != 0) accumulate(bad_inspector.list(), sums, scale, bad_inspector.device_result());  // adds nothing
  std::vector<std::uint64_t> expected;
  for (const auto entry : data) {
    const double value = reference::rounded_to_float(reference::decode(entry, Format::format).value / scale);
    expected.push_back(reference::encode(0.25 + value, reference::binary32));
  }
  const std::string difference = compare_bits(sum.read(), expected, reference::binary32);
  return difference.empty() ? sum.written_outside() : difference;
}

/// Gradients are cleared as a whole, or only if they overflowed.
template <typename Format>
std::string clear_difference(const engine& engine, std::uint64_t size, std::size_t offset) {
  const auto data = finite_gradients<Format>(size, 8);
  auto bad_data = data;
  if (size != 0) bad_data[size / 2] = Format::quiet_nan;
  const std::vector<std::uint64_t> kept(data.begin(), data.end()), zeros(size);
  const guarded_tensor<Format> good(engine, data, offset), bad(engine, bad_data, offset);
  const inspector good_inspector(tensor_list(engine, good.view())), bad_inspector(tensor_list(engine, bad.view()));
  good_inspector.run();
  bad_inspector.run();
  clear_gradients(good_inspector.list(), good_inspector.device_result());
  clear_gradients(bad_inspector.list(), bad_inspector.device_result());
  std::string difference = in_part("no overflow", compare_bits(good.read(), kept, Format::format));
  if (difference.empty()) difference = in_part("overflow", compare_bits(bad.read(), zeros, Format::format));
  clear_gradients(good_inspector.list());
  if (difference.empty()) difference = compare_bits(good.read(), zeros, Format::format);
  return difference.empty() ? good.written_outside() + bad.written_outside() : difference;
}

/// Of FP32, the only type of unscaled gradients. A NaN stays one.
std::string clamp_difference(const engine& engine, std::uint64_t size, std::size_t offset) {
  constexpr double limit = 2.5;
  const auto data = any_floats(size, 9);
  const guarded_tensor<float32> tensor(engine, data, offset);
  clip_by_value(unscaled_gradients::never_scaled(tensor_list(engine, tensor.view())), static_cast<float>(limit));
  std::vector<std::uint64_t> expected;
  for (const auto entry : data) {
    const double value = reference::decode(entry, reference::binary32).value;
    expected.push_back(std::isnan(value) ? entry
                                         : reference::encode(std::clamp(value, -limit, limit), reference::binary32));
  }
  const std::string difference = compare_bits(tensor.read(), expected, reference::binary32);
  return difference.empty() ? tensor.written_outside() : difference;
}

constexpr const char* remedy =
    "Update the driver of the device and run verify again. SYCLAMP_PROFILE=generic selects the most cautious kernels.";

}  // namespace

std::vector<check> gradient_checks(const engine& engine, const settings& settings) {
  const std::string grid = fmt::format("3 types, {} sizes, aligned or not", sizes(settings).size());
  const auto over = [=](auto difference) {
    return [=] {
      return passed_unless(over_grid(settings, [&](auto format, std::uint64_t size,
                                                   std::size_t offset) { return difference(format, size, offset); }),
                           grid);
    };
  };
  return {
      {"inspect", remedy,
       [=] {
         std::string all = over_grid(settings, [&](auto format, std::uint64_t size, std::size_t offset) {
           return inspect_difference<decltype(format)>(engine, size, offset);
         });
         for_each_gradient_type([&](auto format) {
           add_difference(all, fmt::format("{}, a list of tensors", to_string(format.type)),
                          list_difference<decltype(format)>(engine, settings));
         });
         return passed_unless(
             all, fmt::format("{}, {} placements of Inf and NaN", grid, std::size(placements<float16>) - 1));
       }},
      {"unscale", remedy, over([=](auto format, std::uint64_t size, std::size_t offset) {
         return unscale_difference<decltype(format)>(engine, size, offset);
       })},
      {"inspect and unscale", remedy, over([=](auto format, std::uint64_t size, std::size_t offset) {
         return inspect_and_unscale_difference<decltype(format)>(engine, size, offset);
       })},
      {"norm and clip", remedy, over([=](auto format, std::uint64_t size, std::size_t offset) {
         return clip_difference<decltype(format)>(engine, size, offset);
       })},
      {"cast", remedy, over([=](auto format, std::uint64_t size, std::size_t offset) {
         using type = decltype(format);
         const std::string narrowed = cast_difference<float32, type>(engine, any_floats(size, 4), offset);
         if (!narrowed.empty()) return "from float32: " + narrowed;
         return in_part("to float32", cast_difference<type, float32>(engine, finite_gradients<type>(size, 4), offset));
       })},
      {"accumulate", remedy, over([=](auto format, std::uint64_t size, std::size_t offset) {
         return accumulate_difference<decltype(format)>(engine, size, offset);
       })},
      {"clear", remedy, over([=](auto format, std::uint64_t size, std::size_t offset) {
         return clear_difference<decltype(format)>(engine, size, offset);
       })},
      {"clamp", remedy,
       [=] {
         std::string all;
         for (const std::uint64_t size : sizes(settings))
           for (const std::size_t offset : offsets)
             if (all.empty())
               add_difference(all, place_of(element_type::float32, size, offset),
                              clamp_difference(engine, size, offset));
         return passed_unless(all, fmt::format("float32, {} sizes, aligned or not", sizes(settings).size()));
       }},
  };
}

}  // namespace syclamp::verify
