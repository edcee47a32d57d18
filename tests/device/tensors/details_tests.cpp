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

void check_counts(const inspection& seen, const reference::statistics& truth, std::uint64_t elements) {
  CHECK(seen.elements == elements);
  CHECK(seen.infs == truth.infs);
  CHECK(seen.nans == truth.nans);
  CHECK(seen.zeros == truth.zeros);
  CHECK(seen.subnormals == truth.subnormals);
  CHECK(seen.first_bad == truth.first_bad);
}

}  // namespace

TEMPLATE_TEST_CASE("each tensor is told about by itself", "", ALL_FORMATS) {
  const engine& on = any_engine();
  const std::size_t offset = GENERATE(0, 1);
  const bool finite = GENERATE(true, false);
  CAPTURE(on.profile_name(), offset, finite);
  const tensors_of_all_sizes<TestType> data(on, 21, offset, finite);
  const inspector look(data.list, detail::tensors), plain(data.list);

  look();
  plain();
  const auto tensors = look.tensors();
  const inspection all = look.result(), same = plain.result();

  REQUIRE(tensors.size() == std::size(sizes));
  if (finite) CHECK(all.all_finite());
  int left_out = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    CAPTURE(i);
    const auto truth = expected(data, i);
    check_counts(tensors[i], truth, sizes[i]);
    CHECK(tensors[i].first_bad_tensor == (tensors[i].all_finite() ? no_element : i));
    if (!tensors[i].all_finite()) continue;
    CHECK(tensors[i].worst_bits == std::bit_cast<std::uint64_t>(truth.amax));
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
    check_sum(tensors[i].sum_of_magnitudes, tensors[i].magnitudes_exponent, truth.sum_of_magnitudes);
  }
  CHECK(left_out <= (finite ? 0 : 1));  // of random bits, only a tensor of one element can be that small
  CHECK(all.elements == same.elements);
  CHECK(all.infs == same.infs);
  CHECK(all.nans == same.nans);
  CHECK(all.zeros == same.zeros);
  CHECK(all.subnormals == same.subnormals);
  CHECK(all.flags == same.flags);
  CHECK(all.first_bad == same.first_bad);
  CHECK(all.first_bad_tensor == same.first_bad_tensor);
  CHECK(data.memory.read() == data.content);
}

TEST_CASE("norms of tensors, of groups and of all, of each kind") {
  const engine& on = any_engine();
  CAPTURE(on.profile_name());
  const device_buffer<float> memory(on.queue(), std::vector<float>(200'000, -2.0f));
  const device_buffer<std::uint16_t> halves(on.queue(), std::vector<std::uint16_t>(70'000, 0x4200));  // 3
  const float* absent = nullptr;
  const tensor_list list(on, {{{memory.data(), 200'000}, "a", 3},
                              {{absent, 10}, "b", 3},
                              {{halves.data(), 70'000, element_type::float16}, "c", 1},
                              {{memory.data(), 4}, "d", 3}});
  const inspector look(list, detail::tensors);

  const auto before = on.kernels_submitted();
  look();
  CHECK(on.kernels_submitted() - before == 3);
  const auto tensors = look.tensors(), groups = look.groups();
  const inspection all = look.result();

  CHECK(list.groups() == 4);
  REQUIRE(groups.size() == 4);
  CHECK(tensors[0].sum_of_squares == 800'000.0f);
  CHECK(tensors[1].elements == 0);
  CHECK(norm(tensors[2], norm_kind::l1) == 210'000.0);
  CHECK(norm(tensors[3]) == 4.0);
  CHECK(groups[0].elements == 0);
  CHECK(groups[1].sum_of_squares == 630'000.0f);
  CHECK(norm(groups[1], norm_kind::l_infinity) == 3.0);
  CHECK(groups[3].elements == 200'004);
  CHECK(norm(groups[3], norm_kind::l1) == 400'008.0);
  CHECK(groups[3].sum_of_squares == 800'016.0f);
  CHECK(all.sum_of_squares == 1'430'016.0f);
  CHECK(norm(all, norm_kind::l1) == 610'008.0);
  CHECK(all.amax == 3.0f);
}

TEST_CASE("fifty thousand tensors are told about in three kernels") {
  const engine& on = any_engine();
  CAPTURE(on.profile_name());
  const std::size_t count = 50'000;
  std::vector<float> data(100);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i);
  const device_buffer<float> memory(on.queue(), data);
  std::vector<tensor> tensors;
  for (std::size_t i = 0; i < count; ++i)
    tensors.push_back({{memory.data() + i % 100, 1}, "", static_cast<std::uint32_t>(i % 7)});
  const inspector look(tensor_list(on, tensors), detail::tensors);

  const auto before = on.kernels_submitted();
  look();
  CHECK(on.kernels_submitted() - before == 3);
  const auto seen = look.tensors();

  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i)
    if (seen[i].amax != data[i % 100]) ++wrong;
  CHECK(wrong == 0);
  CHECK(look.groups()[6].elements == 7142);
  CHECK(look.result().elements == count);
}

TEMPLATE_TEST_CASE("the histogram counts exponents, and no zeros", "", ALL_FORMATS) {
  const engine& on = any_engine();
  CAPTURE(on.profile_name());
  const tensors_of_all_sizes<TestType> data(on, 22, 1);
  const inspector look(data.list, detail::histogram);

  look();
  look();  // each call counts anew
  const exponent_histogram got = look.histogram();

  std::vector<std::uint64_t> truth(exponent_histogram::size);
  for (std::uint64_t i = 0; i < data.content.size(); ++i) {
    if (tensors_of_all_sizes<TestType>::in_gap(i)) continue;
    const double x = reference::rounded_to_float(reference::decode(data.content[i], TestType::format).value);
    if (x == 0) continue;
    ++truth[!std::isfinite(x) ? 255 : static_cast<std::size_t>(std::max(std::ilogb(x), -127) + 127)];
  }
  for (std::size_t bin = 0; bin < truth.size(); ++bin) {
    CAPTURE(bin);
    CHECK(got.counts[bin] == truth[bin]);
  }
  CHECK(got.of(0) == truth[127]);
}

TEST_CASE("counts carry on beyond 2^32") {
  const engine& on = any_engine();
  CAPTURE(on.profile_name());
  exponent_histogram before{};
  before.counts[127] = 0xffff'ffff;
  const device_buffer<exponent_histogram> histogram(on.queue(), {before});
  const device_buffer<float> ones(on.queue(), std::vector<float>(100'000, -1.0f));
  const tensor_list list(on, array_view(ones.data(), 100'000));
  const auto& table = list.prepared();

  on.kernels().submit(on.queue(), launch::count_exponents, 2, table.addresses, table.starts, table.kinds, table.tensors,
                      histogram.data());
  on.wait();

  CHECK(histogram.read()[0].counts[127] == 0xffff'ffffull + 100'000);
}

TEST_CASE("what was not asked for is refused with how to ask") {
  const engine& on = all_engines().front();
  const device_buffer<float> memory(on.queue(), {1.0f});
  const tensor_list list(on, array_view(memory.data(), 1));
  const inspector look(list), detailed(list, detail::tensors);
  look();
  detailed();

  CHECK(look.device_tensors() == nullptr);
  CHECK(detailed.device_histogram() == nullptr);
  CHECK_THROWS_MATCHES(look.tensors(), invalid_argument,
                       Catch::Matchers::MessageMatches(Catch::Matchers::ContainsSubstring("detail::tensors")));
  CHECK_THROWS_AS(look.groups(), invalid_argument);
  CHECK_THROWS_MATCHES(detailed.histogram(), invalid_argument,
                       Catch::Matchers::MessageMatches(Catch::Matchers::ContainsSubstring("detail::histogram")));
  on.wait();
}

TEST_CASE("an empty list and a list of nothing have details, too") {
  const engine& on = any_engine();
  CAPTURE(on.profile_name());
  const float* absent = nullptr;
  const inspector nothing(tensor_list(on, std::vector<tensor>{}), detail::histogram);
  const inspector absentees(tensor_list(on, {{{absent, 5}}, {{absent, 0}}}), detail::histogram);

  nothing();
  absentees();

  CHECK(nothing.result().elements == 0);
  CHECK(nothing.tensors().empty());
  CHECK(nothing.groups().empty());
  CHECK(absentees.result().elements == 0);
  CHECK(absentees.tensors().size() == 2);
  CHECK(absentees.groups().size() == 1);
}

TEMPLATE_TEST_CASE("unscaling and inspecting at once gives what both give", "", ALL_FORMATS) {
  const engine& on = any_engine();
  const std::size_t offset = GENERATE(0, 1);
  const detail level = GENERATE(detail::list, detail::tensors);
  CAPTURE(on.profile_name(), offset);
  const tensors_of_all_sizes<TestType> in(on, 23, offset);
  const tensors_of_all_sizes<float32> out(on, 24, offset);
  const inspector look(in.list, level), plain(in.list, level);
  const device_scalar scale(on, 0x1p127f);

  const auto before = on.kernels_submitted();
  look.unscale(out.list, scale);
  const auto kernels = on.kernels_submitted() - before;
  plain(scale);
  const inspection seen = look.result(), same = plain.result();

  check_converted(in, out, 0x1p-127);
  CHECK(in.memory.read() == in.content);
  CHECK(std::memcmp(&seen, &same, sizeof seen) == 0);
  CHECK(kernels == (level == detail::list ? 2 : 4));
}

TEMPLATE_TEST_CASE("unscaling while inspecting writes to outputs of any alignment", "", ALL_FORMATS) {
  const engine& on = any_engine();
  const std::size_t offset = GENERATE(0, 1);
  CAPTURE(on.profile_name(), offset);
  const tensors_of_all_sizes<TestType> in(on, 25, offset);
  const tensors_of_all_sizes<float32> out(on, 26, 1 - offset);
  const inspector look(in.list);
  const device_scalar scale(on, 4.0f);

  look.unscale(out.list, scale);
  on.wait();

  check_converted(in, out, 0.25);
}

TEST_CASE("what is unscaled in place is decided as it was") {
  const engine& on = any_engine();
  CAPTURE(on.profile_name());
  constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> values(150'001, 1.0f);
  values[5] = 3e38f;  // finite, but not when it is multiplied by 2^14
  values[100] = nan;
  values[70'000] = infinity;
  values[150'000] = -infinity;
  const device_buffer<float> memory(on.queue(), values);
  const device_buffer<std::uint16_t> half(on.queue(), {0x7c00});
  const device_buffer<float> shadow(on.queue(), {0.0f});
  const tensor_list list(on, {{{memory.data(), values.size()}}, {{half.data(), 1, element_type::float16}}});
  const tensor_list out(on, {{{memory.data(), values.size()}}, {{shadow.data(), 1}}});
  const inspector look(list);
  const device_scalar scale(on, 0x1p-14f);

  look.unscale(out, scale);
  const inspection seen = look.result();

  CHECK(seen.infs == 3);
  CHECK(seen.nans == 1);
  CHECK(seen.first_bad_tensor == 0);
  CHECK(seen.first_bad == 100);
  CHECK(seen.flags == (found_inf | found_nan));
  CHECK(memory.read()[5] == infinity);
  CHECK(memory.read()[6] == 16384.0f);
}

TEST_CASE("a tensor that is absent for once leaves nothing of the step before") {
  const engine& on = any_engine();
  CAPTURE(on.profile_name());
  const device_buffer<float> a(on.queue(), std::vector<float>(100'000, 1.0f)), b(on.queue(), {7.0f});
  tensor_list list(on, {{{a.data(), 100'000}}, {{b.data(), 1}}});
  const inspector look(list, detail::tensors);

  look();
  CHECK(look.result().elements == 100'001);
  list.set_address(0, nullptr);
  look();
  CHECK(look.result().elements == 1);
  CHECK(look.tensors()[0].elements == 0);
  CHECK(look.groups()[0].sum_of_magnitudes == 7.0f);
}

TEST_CASE("a refused call leaves the results of the one before") {
  const engine& on = all_engines().front();
  const device_buffer<float> memory(on.queue(), {1.0f, 2.0f});
  const tensor_list list(on, array_view(memory.data(), 1)), other(on, array_view(memory.data(), 2));
  const inspector look(list, detail::tensors);
  const device_scalar scale(on, 2.0f);
  look();

  CHECK_THROWS_AS(look.unscale(other, scale), invalid_argument);
  CHECK_THROWS_AS(look.unscale(list, nullptr), invalid_argument);
  CHECK(look.result().scale == 1.0f);
}

TEST_CASE("unscaling in place while inspecting, with absent tensors on either side") {
  const engine& on = any_engine();
  CAPTURE(on.profile_name());
  const device_buffer<float> a(on.queue(), {4.0f, 8.0f}), b(on.queue(), {16.0f});
  const float* absent = nullptr;
  const tensor_list in(on, {{{a.data(), 2}}, {{absent, 3}}, {{b.data(), 1}}}),
      out(on, {{{a.data(), 2}}, {{a.data(), 3}}, {{absent, 1}}});
  const inspector look(in);
  const device_scalar scale(on, 4.0f);

  look.unscale(out, scale);
  on.wait();

  CHECK(a.read() == std::vector<float>{1.0f, 2.0f});
  CHECK(b.read() == std::vector<float>{16.0f});
  CHECK(look.result().amax == 16.0f);
  CHECK(look.result().unscaled_amax == 4.0f);
  CHECK(look.result().elements == 3);
}

TEST_CASE("the largest element is told scaled and unscaled, and how much room there is") {
  const engine& on = any_engine();
  CAPTURE(on.profile_name());
  const device_buffer<std::uint16_t> memory(on.queue(), {0x7400, 0xf400 /* -16384 */, 0x0001});
  const tensor_list list(
      on, {{{memory.data(), 2, element_type::float16}}, {{memory.data() + 2, 1, element_type::float16}}});
  const inspector look(list, detail::tensors);
  const device_scalar scale(on, 65536.0f);

  look(scale);
  const inspection seen = look.result();

  CHECK(seen.amax == 16384.0f);
  CHECK(seen.unscaled_amax == 0.25f);
  CHECK(look.tensors()[1].unscaled_amax == 0x1p-40f);
  CHECK(std::abs(headroom(seen) - std::log2(65504.0 / 16384.0)) < 1e-12);
}
