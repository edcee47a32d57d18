// SPDX-License-Identifier: Apache-2.0
// An inspection in detail: each tensor, each group, exponents; and inspecting while unscaling.
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "launch/operations.hpp"
#include "syclamp/syclamp.hpp"
#include "tensors/tensor_table.hpp"
#include "tests/reference/inspect.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/tensors.hpp"

using namespace syclamp;

namespace {

/// What the oracle says of tensor number `index` of a list of all sizes.
template <typename Format>
reference::statistics expected(const tensors_of_all_sizes<Format>& data, std::size_t index) {
  std::uint64_t place = 0;
  for (std::size_t i = 0; i < index; ++i) place += sizes[i] + 3;
  return reference::inspect(sizes[index], Format::format, [&](std::uint64_t i) { return data.content[place + i]; });
}

/// A term enters at most 64 additions in its block, 64 for the blocks of a lane, 31 for the lanes of a pack, 9 in the
/// tree of a work-group, 4 for adding up chunks or tensors; an FP64 is rounded first, which costs a square 2.
constexpr double sum_tolerance = (64 + 64 + 31 + 9 + 4 + 2) * 0x1p-24;

void check_sum(float sum, std::int32_t exponent, double truth) {
  const double got = std::ldexp(static_cast<double>(sum), exponent);
  CAPTURE(got, truth);
  CHECK(std::abs(got - truth) <= sum_tolerance * truth);
}

void check_counts(const inspection& result, const reference::statistics& truth, std::uint64_t elements) {
  CHECK(result.elements == elements);
  CHECK(result.inf_count == truth.inf_count);
  CHECK(result.nan_count == truth.nan_count);
  CHECK(result.zero_count == truth.zero_count);
  CHECK(result.subnormal_count == truth.subnormal_count);
  CHECK(result.first_nonfinite == truth.first_nonfinite);
}

}  // namespace

TEMPLATE_TEST_CASE("each tensor is told about by itself", "", ALL_FORMATS) {
  const engine& engine = any_engine();
  const std::size_t offset = GENERATE(0, 1);
  const bool finite = GENERATE(true, false);
  CAPTURE(engine.profile_name(), offset, finite);
  const tensors_of_all_sizes<TestType> data(engine, 21, offset, finite);
  const inspector inspector(data.list, inspection_level::tensors), plain(data.list);

  inspector.run();
  plain.run();
  const auto tensors = inspector.tensors();
  const inspection all = inspector.result(), same = plain.result();

  REQUIRE(tensors.size() == std::size(sizes));
  if (finite) CHECK(all.all_finite());
  int left_out = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    CAPTURE(i);
    const auto truth = expected(data, i);
    check_counts(tensors[i], truth, sizes[i]);
    CHECK(tensors[i].first_nonfinite_tensor == (tensors[i].all_finite() ? no_element : i));
    if (!tensors[i].all_finite()) continue;
    CHECK(tensors[i].amax_bits == std::bit_cast<std::uint64_t>(truth.amax));
    // An FP64 is rounded to FP32 first, and may be beyond its range.
    const bool is_wide = sizeof(typename TestType::bits) == 8;
    if (is_wide && truth.amax > static_cast<double>(std::numeric_limits<float>::max())) {
      CHECK(std::isinf(tensors[i].sum_of_squares));
      continue;
    }
    if (is_wide && truth.amax != 0 && truth.amax < 1e-30) {  // squares of FP64 that FP32 cannot hold
      ++left_out;
      continue;
    }
    check_sum(tensors[i].sum_of_squares, tensors[i].squares_exponent, truth.sum_of_squares);
    check_sum(tensors[i].abs_sum, tensors[i].abs_sum_exponent, truth.abs_sum);
  }
  CHECK(left_out <= (finite ? 0 : 1));  // of random bits, only a tensor of one element can be that small
  CHECK(all.elements == same.elements);
  CHECK(all.inf_count == same.inf_count);
  CHECK(all.nan_count == same.nan_count);
  CHECK(all.zero_count == same.zero_count);
  CHECK(all.subnormal_count == same.subnormal_count);
  CHECK(all.flags == same.flags);
  CHECK(all.first_nonfinite == same.first_nonfinite);
  CHECK(all.first_nonfinite_tensor == same.first_nonfinite_tensor);
  CHECK(data.memory.read() == data.content);
}

TEST_CASE("norms of tensors, of groups and of all, of each kind") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const device_buffer<float> memory(engine.queue(), std::vector<float>(200'000, -2.0f));
  const device_buffer<std::uint16_t> halves(engine.queue(), std::vector<std::uint16_t>(70'000, 0x4200));  // 3
  float* const absent = nullptr;
  const tensor_list list(engine, {{memory.data(), 200'000, "a", 3},
                                  {absent, 10, "b", 3},
                                  {{halves.data(), element_type::float16}, 70'000, "c", 1},
                                  {memory.data(), 4, "d", 3}});
  const inspector inspector(list, inspection_level::tensors);

  const auto before = engine.statistics().kernels_submitted;
  inspector.run();
  CHECK(engine.statistics().kernels_submitted - before == 3);
  const auto tensors = inspector.tensors(), groups = inspector.groups();
  const inspection all = inspector.result();

  CHECK(list.groups() == 4);
  REQUIRE(groups.size() == 4);
  CHECK(tensors[0].sum_of_squares == 800'000.0f);
  CHECK(tensors[1].elements == 0);
  CHECK(tensors[2].norm(norm_kind::l1) == 210'000.0);
  CHECK(tensors[3].norm() == 4.0);
  CHECK(groups[0].elements == 0);
  CHECK(groups[1].sum_of_squares == 630'000.0f);
  CHECK(groups[1].norm(norm_kind::l_infinity) == 3.0);
  CHECK(groups[3].elements == 200'004);
  CHECK(groups[3].norm(norm_kind::l1) == 400'008.0);
  CHECK(groups[3].sum_of_squares == 800'016.0f);
  CHECK(all.sum_of_squares == 1'430'016.0f);
  CHECK(all.norm(norm_kind::l1) == 610'008.0);
  CHECK(all.amax == 3.0f);
}

TEST_CASE("fifty thousand tensors are told about in three kernels") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const std::size_t count = 50'000;
  std::vector<float> data(100);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i);
  const device_buffer<float> memory(engine.queue(), data);
  std::vector<tensor> tensors;
  for (std::size_t i = 0; i < count; ++i)
    tensors.push_back({memory.data() + i % 100, 1, "", static_cast<std::uint32_t>(i % 7)});
  const inspector inspector(tensor_list(engine, tensors), inspection_level::tensors);

  const auto before = engine.statistics().kernels_submitted;
  inspector.run();
  CHECK(engine.statistics().kernels_submitted - before == 3);
  const auto result = inspector.tensors();

  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i)
    if (result[i].amax != data[i % 100]) ++wrong;
  CHECK(wrong == 0);
  CHECK(inspector.groups()[6].elements == 7142);
  CHECK(inspector.result().elements == count);
}

TEMPLATE_TEST_CASE("the histogram counts exponents, and no zeros", "", ALL_FORMATS) {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const tensors_of_all_sizes<TestType> data(engine, 22, 1);
  const inspector inspector(data.list, inspection_level::histogram);

  inspector.run();
  inspector.run();  // each call counts from 0
  const exponent_histogram got = inspector.histogram();

  std::vector<std::uint64_t> truth(exponent_histogram::size);
  for (std::uint64_t i = 0; i < data.content.size(); ++i) {
    if (tensors_of_all_sizes<TestType>::in_gap(i)) continue;
    const double x = reference::rounded_to_float(reference::decode(data.content[i], TestType::format).value);
    if (x != 0) ++truth[reference::exponent_bin(x)];
  }
  for (std::size_t bin = 0; bin < truth.size(); ++bin) {
    CAPTURE(bin);
    CHECK(got.counts[bin] == truth[bin]);
  }
  CHECK(got.count(0) == truth[127]);
}

TEST_CASE("counts carry on beyond 2^32") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  exponent_histogram before{};
  before.counts[127] = 0xffff'ffff;
  const device_buffer<exponent_histogram> histogram(engine.queue(), {before});
  const device_buffer<float> ones(engine.queue(), std::vector<float>(100'000, -1.0f));
  const tensor_list list(engine, array_view(ones.data(), 100'000));
  const auto& table = list.prepared();

  engine.kernels().submit(engine.queue(), launch::count_exponents, 2, table.addresses, table.starts, table.kinds,
                          table.tensors, histogram.data());
  engine.wait();

  CHECK(histogram.read()[0].counts[127] == 0xffff'ffffull + 100'000);
}

TEST_CASE("what was not asked for is refused with how to ask") {
  const engine& engine = all_engines().front();
  const device_buffer<float> memory(engine.queue(), {1.0f});
  const tensor_list list(engine, array_view(memory.data(), 1));
  const inspector inspector(list), detailed(list, inspection_level::tensors);
  inspector.run();
  detailed.run();

  CHECK(inspector.device_tensors() == nullptr);
  CHECK(detailed.device_histogram() == nullptr);
  CHECK_THROWS_MATCHES(
      inspector.tensors(), invalid_argument,
      Catch::Matchers::MessageMatches(Catch::Matchers::ContainsSubstring("inspection_level::tensors")));
  CHECK_THROWS_AS(inspector.groups(), invalid_argument);
  CHECK_THROWS_MATCHES(
      detailed.histogram(), invalid_argument,
      Catch::Matchers::MessageMatches(Catch::Matchers::ContainsSubstring("inspection_level::histogram")));
  engine.wait();
}

TEST_CASE("an empty list and a list of nothing have details, too") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  float* const absent = nullptr;
  const inspector nothing(tensor_list(engine, std::vector<tensor>{}), inspection_level::histogram);
  const inspector absentees(tensor_list(engine, {{absent, 5}, {absent, 0}}), inspection_level::histogram);

  nothing.run();
  absentees.run();

  CHECK(nothing.result().elements == 0);
  CHECK(nothing.tensors().empty());
  CHECK(nothing.groups().empty());
  CHECK(absentees.result().elements == 0);
  CHECK(absentees.tensors().size() == 2);
  CHECK(absentees.groups().size() == 1);
}

TEMPLATE_TEST_CASE("unscaling and inspecting at once gives what both give", "", ALL_FORMATS) {
  const engine& engine = any_engine();
  const std::size_t offset = GENERATE(0, 1);
  const inspection_level level = GENERATE(inspection_level::list, inspection_level::tensors);
  CAPTURE(engine.profile_name(), offset);
  const tensors_of_all_sizes<TestType> in(engine, 23, offset);
  const tensors_of_all_sizes<float32> out(engine, 24, offset);
  const inspector inspector(in.list, level), plain(in.list, level);
  const device_scalar scale(engine, 0x1p127f);

  const auto before = engine.statistics().kernels_submitted;
  inspector.unscale(out.list, scale);
  const auto kernels = engine.statistics().kernels_submitted - before;
  plain.run(scale);
  const inspection result = inspector.result(), same = plain.result();

  check_converted(in, out, 0x1p-127);
  CHECK(in.memory.read() == in.content);
  CHECK(std::memcmp(&result, &same, sizeof result) == 0);
  CHECK(kernels == (level == inspection_level::list ? 2 : 4));
}

TEMPLATE_TEST_CASE("unscaling while inspecting writes to outputs of any alignment", "", ALL_FORMATS) {
  const engine& engine = any_engine();
  const std::size_t offset = GENERATE(0, 1);
  CAPTURE(engine.profile_name(), offset);
  const tensors_of_all_sizes<TestType> in(engine, 25, offset);
  const tensors_of_all_sizes<float32> out(engine, 26, 1 - offset);
  const inspector inspector(in.list);
  const device_scalar scale(engine, 4.0f);

  inspector.unscale(out.list, scale);
  engine.wait();

  check_converted(in, out, 0.25);
}

TEST_CASE("what is unscaled in place is decided as it was") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> values(150'001, 1.0f);
  values[5] = 3e38f;  // finite, but not when it is multiplied by 2^14
  values[100] = nan;
  values[70'000] = infinity;
  values[150'000] = -infinity;
  const device_buffer<float> memory(engine.queue(), values);
  const device_buffer<std::uint16_t> half(engine.queue(), {0x7c00});
  const device_buffer<float> shadow(engine.queue(), {0.0f});
  const tensor_list list(engine, {{memory.data(), values.size()}, {{half.data(), element_type::float16}, 1}});
  const tensor_list out(engine, {{memory.data(), values.size()}, {shadow.data(), 1}});
  const inspector inspector(list);
  const device_scalar scale(engine, 0x1p-14f);

  inspector.unscale(out, scale);
  const inspection result = inspector.result();

  CHECK(result.inf_count == 3);
  CHECK(result.nan_count == 1);
  CHECK(result.first_nonfinite_tensor == 0);
  CHECK(result.first_nonfinite == 100);
  CHECK(result.flags == (found_inf | found_nan));
  CHECK(memory.read()[5] == infinity);
  CHECK(memory.read()[6] == 16384.0f);
}

TEST_CASE("a tensor that is absent for once leaves nothing of the step before") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const device_buffer<float> a(engine.queue(), std::vector<float>(100'000, 1.0f)), b(engine.queue(), {7.0f});
  tensor_list list(engine, {{a.data(), 100'000}, {b.data(), 1}});
  const inspector inspector(list, inspection_level::tensors);

  inspector.run();
  CHECK(inspector.result().elements == 100'001);
  list.set_address(0, nullptr);
  inspector.run();
  CHECK(inspector.result().elements == 1);
  CHECK(inspector.tensors()[0].elements == 0);
  CHECK(inspector.groups()[0].abs_sum == 7.0f);
}

TEST_CASE("a refused call leaves the results of the one before") {
  const engine& engine = all_engines().front();
  const device_buffer<float> memory(engine.queue(), {1.0f, 2.0f});
  const tensor_list list(engine, array_view(memory.data(), 1)), other(engine, array_view(memory.data(), 2));
  const inspector inspector(list, inspection_level::tensors);
  const device_scalar scale(engine, 2.0f);
  inspector.run();

  CHECK_THROWS_AS(inspector.unscale(other, scale), invalid_argument);
  CHECK_THROWS_AS(inspector.unscale(list, 0.0f), invalid_argument);
  CHECK(inspector.result().scale == 1.0f);
}

TEST_CASE("unscaling in place while inspecting, with absent tensors on either side") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const device_buffer<float> a(engine.queue(), {4.0f, 8.0f}), b(engine.queue(), {16.0f});
  float* const absent = nullptr;
  const tensor_list in(engine, {{a.data(), 2}, {absent, 3}, {b.data(), 1}}),
      out(engine, {{a.data(), 2}, {a.data(), 3}, {absent, 1}});
  const inspector inspector(in);
  const device_scalar scale(engine, 4.0f);

  inspector.unscale(out, scale);
  engine.wait();

  CHECK(a.read() == std::vector<float>{1.0f, 2.0f});
  CHECK(b.read() == std::vector<float>{16.0f});
  CHECK(inspector.result().amax == 16.0f);
  CHECK(inspector.result().unscaled_amax == 4.0f);
  CHECK(inspector.result().elements == 3);
}

TEST_CASE("the largest element is told scaled and unscaled, and how much room there is") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const device_buffer<std::uint16_t> memory(engine.queue(), {0x7400, 0xf400 /* -16384 */, 0x0001});
  const tensor_list list(
      engine, {{{memory.data(), element_type::float16}, 2}, {{memory.data() + 2, element_type::float16}, 1}});
  const inspector inspector(list, inspection_level::tensors);
  const device_scalar scale(engine, 65536.0f);

  inspector.run(scale);
  const inspection result = inspector.result();

  CHECK(result.amax == 16384.0f);
  CHECK(result.unscaled_amax == 0.25f);
  CHECK(inspector.tensors()[1].unscaled_amax == 0x1p-40f);
  CHECK(std::abs(result.headroom() - std::log2(65504.0 / 16384.0)) < 1e-12);
}
