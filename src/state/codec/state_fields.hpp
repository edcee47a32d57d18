// SPDX-License-Identifier: Apache-2.0
// The fields of everything that a scaler or an optimizer saves: the one list from which all formats are written and
// read. A new member that is not added here does not compile.
//
// A new field is a row with the version that introduced it and the default for older files:
//   field{"margin", &scaling_policy::margin}.added_in(5, 1.0),
// The version of the format follows from these rows. docs/checkpoints.md lists what each version changed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "state/codec/field.hpp"
#include "state/codec/member_count.hpp"
#include "state/optimizer_record.hpp"
#include "syclamp/export.hpp"
#include "syclamp/hyper_parameters.hpp"
#include "syclamp/scale_state.hpp"
#include "syclamp/scaling_policy.hpp"
#include "syclamp/step_record.hpp"

namespace SYCLAMP_NAMESPACE {

/// The fields of a struct: `fields`, and how many members are `unused`, that is, not saved.
template <typename Struct>
struct description;

template <>
struct description<scale_number> {
  static constexpr auto fields = std::tuple{
      field{"significand", &scale_number::significand},
      field{"exponent", &scale_number::exponent},
  };
  static constexpr std::size_t unused = 1;  // members that are not saved
};

template <>
struct description<replay_options> {
  static constexpr auto fields = std::tuple{
      field{"growth_test", &replay_options::growth_test}.renamed(4, "test"),
      field{"bounds", &replay_options::bounds}.renamed(4, "limits"),
      field{"arithmetic", &replay_options::arithmetic},
      field{"backoff_by_growth", &replay_options::backoff_by_growth},
      field{"one_step_late", &replay_options::one_step_late},
  };
  static constexpr std::size_t unused = 0;
};

template <>
struct description<scaling_policy> {
  static constexpr auto fields = std::tuple{
      field{"mode", &scaling_policy::mode},
      field{"init_scale", &scaling_policy::init_scale}.renamed(4, "init"),
      field{"growth_factor", &scaling_policy::growth_factor}.renamed(4, "growth"),
      field{"backoff_factor", &scaling_policy::backoff_factor}.renamed(4, "backoff"),
      field{"growth_interval", &scaling_policy::growth_interval}.renamed(4, "interval"),
      field{"min", &scaling_policy::min},
      field{"max", &scaling_policy::max},
      field{"power_of_two", &scaling_policy::power_of_two},
      field{"growth_mode", &scaling_policy::growth_mode}.renamed(4, "grow"),
      field{"hysteresis", &scaling_policy::hysteresis},
      field{"hysteresis_mode", &scaling_policy::hysteresis_mode}.renamed(4, "counting"),
      field{"tolerance", &scaling_policy::tolerance},
      field{"amax_limit", &scaling_policy::amax_limit}.renamed(4, "limit"),
      field{"margin", &scaling_policy::margin},
      field{"max_jump", &scaling_policy::max_jump}.renamed(4, "largest_jump"),
      field{"nan_patience", &scaling_policy::nan_patience},
      field{"give_up_after", &scaling_policy::give_up_after},
      field{"on_give_up", &scaling_policy::on_give_up},
      field{"on_floor", &scaling_policy::on_floor},
      field{"spike_threshold", &scaling_policy::spike_threshold},
      field{"spike_window", &scaling_policy::spike_window},
      field{"retries", &scaling_policy::retries},
      field{"clear_on_skip", &scaling_policy::clear_on_skip},
      field{"replay", &scaling_policy::replay}.nested_in(4),
  };
  static constexpr std::size_t unused = 0;
};

template <>
struct description<scale_state> {
  static constexpr auto fields = std::tuple{
      field{"scale", &scale_state::scale},
      field{"exact", &scale_state::exact},
      field{"next", &scale_state::next},
      field{"clean_steps", &scale_state::clean_steps},
      field{"tolerated", &scale_state::tolerated},
      field{"since_change", &scale_state::since_change},
      field{"overflows", &scale_state::overflows},
      field{"skips_in_a_row", &scale_state::skips_in_a_row},
      field{"nan_skips_in_a_row", &scale_state::nan_skips_in_a_row},
      field{"retries_in_a_row", &scale_state::retries_in_a_row},
      field{"has_overflowed", &scale_state::has_overflowed},
      field{"stopped", &scale_state::stopped},
      field{"mean", &scale_state::mean},
      field{"slow_mean", &scale_state::slow_mean},
      field{"slow_variance", &scale_state::slow_variance},
      field{"mean_weight", &scale_state::mean_weight},
      field{"slow_weight", &scale_state::slow_weight},
      field{"norm_mean", &scale_state::norm_mean},
      field{"norm_variance", &scale_state::norm_variance},
      field{"norms", &scale_state::norms},
      field{"attempted", &scale_state::attempted},
      field{"applied", &scale_state::applied},
      field{"skipped", &scale_state::skipped},
  };
  static constexpr std::size_t unused = 0;
};

template <>
struct description<step_record> {
  static constexpr auto fields = std::tuple{
      essential("step", &step_record::step),
      field{"scale_index", &step_record::scale_index},
      essential("outcome", &step_record::outcome),
      field{"status", &step_record::status},
      essential("scale", &step_record::scale),
      essential("next_scale", &step_record::next_scale),
      field{"applied", &step_record::applied},
      field{"skipped", &step_record::skipped},
      field{"skips_in_a_row", &step_record::skips_in_a_row},
      field{"retry", &step_record::retry},
      field{"norm", &step_record::norm},
      field{"clip", &step_record::clip},
      essential("amax", &step_record::amax),
      field{"amax_limit", &step_record::amax_limit}.renamed(4, "limit"),
      essential("flags", &step_record::flags).renamed(3, "findings"),
      essential("elements", &step_record::elements),
      field{"inf_count", &step_record::inf_count}.renamed(4, "infs"),
      field{"nan_count", &step_record::nan_count}.renamed(4, "nans"),
      field{"zero_count", &step_record::zero_count}.renamed(4, "zeros"),
      field{"subnormal_count", &step_record::subnormal_count}.renamed(4, "subnormals"),
      field{"lists", &step_record::lists},
      field{"skipped_lists", &step_record::skipped_lists}.renamed(3, "refused"),
      field{"first_nonfinite_list", &step_record::first_nonfinite_list}.renamed(4, "first_bad_list"),
      index("first_nonfinite_tensor", &step_record::first_nonfinite_tensor).renamed(4, "first_bad_tensor"),
      index("first_nonfinite", &step_record::first_nonfinite).renamed(4, "first_bad"),
  };
  static constexpr std::size_t unused = 1;
};

template <>
struct description<decay_rate> {
  static constexpr auto fields = std::tuple{
      field{"value", &decay_rate::value},
      field{"complement", &decay_rate::complement},
      field{"logarithm", &decay_rate::logarithm},
  };
  static constexpr std::size_t unused = 0;
};

template <>
struct description<hyper_parameters> {
  static constexpr auto fields = std::tuple{
      field{"lr", &hyper_parameters::lr},
      field{"weight_decay", &hyper_parameters::weight_decay},
      field{"eps", &hyper_parameters::eps},
      field{"beta1", &hyper_parameters::beta1},
      field{"beta2", &hyper_parameters::beta2},
      field{"momentum", &hyper_parameters::momentum},
      field{"lr_decay", &hyper_parameters::lr_decay},
      field{"maximize", &hyper_parameters::maximize},
      field{"decoupled", &hyper_parameters::decoupled},
      field{"nesterov", &hyper_parameters::nesterov},
  };
  static constexpr std::size_t unused = 0;
};

template <>
struct description<lr_schedule> {
  static constexpr auto fields = std::tuple{
      field{"kind", &lr_schedule::kind},     field{"gamma", &lr_schedule::gamma},
      field{"lowest", &lr_schedule::lowest}, field{"warm_up", &lr_schedule::warm_up},
      field{"steps", &lr_schedule::steps},
  };
  static constexpr std::size_t unused = 0;
};

template <>
struct description<group_record> {
  static constexpr auto fields = std::tuple{
      field{"hyper", &group_record::hyper},     field{"schedule", &group_record::schedule},
      field{"applied", &group_record::applied}, field{"elements", &group_record::elements},
      field{"sizes", &group_record::sizes},
  };
  static constexpr std::size_t unused = 0;
};

/// Names of kinds and kernels are a contract with files: they stay as they are.
template <>
struct description<optimizer_record> {
  static constexpr auto fields = std::tuple{
      field{"kind", &optimizer_record::kind},
      field{"kernel", &optimizer_record::kernel},
      field{"states", &optimizer_record::states},
      field{"moments", &optimizer_record::moments},
      field{"has_copies", &optimizer_record::has_copies},
      field{"is_stochastic", &optimizer_record::is_stochastic},
      field{"seed", &optimizer_record::seed},
      field{"groups", &optimizer_record::groups},
  };
  static constexpr std::size_t unused = 0;
};

template <typename Struct>
inline constexpr std::size_t field_count = std::tuple_size_v<decltype(description<Struct>::fields)>;

template <typename First, typename Second>
constexpr bool are_alike(const First& first, const Second& second) {
  bool have_one_member = false;
  if constexpr (std::is_same_v<decltype(first.member), decltype(second.member)>)
    have_one_member = first.member == second.member;
  // Ledgers have no version, so a former name must not mean another field either.
  const std::string_view name = first.name, former = first.name_in(1);
  return have_one_member || name == second.name || name == second.name_in(1) || former == second.name ||
         former == second.name_in(1);
}

/// True if no member and no name is in a table twice.
template <typename Struct>
constexpr bool are_distinct() {
  std::size_t pairs = 0;
  const auto compare_with_all = [&](const auto& first) {
    std::apply([&](const auto&... second) { pairs += (std::size_t{are_alike(first, second)} + ...); },
               description<Struct>::fields);
  };
  std::apply([&](const auto&... first) { (compare_with_all(first), ...); }, description<Struct>::fields);
  return pairs == field_count<Struct>;
}

/// Calls `see(field)` for each field, in order.
template <typename Struct, typename See>
constexpr void for_each_field(See see) {
  static_assert(are_distinct<Struct>(), "a member or a name is in the table twice");
  static_assert(field_count<Struct> + description<Struct>::unused == member_count<Struct>(),
                "a member of the struct is not saved: add it to its fields");
  std::apply([&](const auto&... one) { (see(one), ...); }, description<Struct>::fields);
}

/// The newest version that the fields of some structs know.
template <typename... Structs>
constexpr std::uint32_t newest_field() {
  std::uint32_t newest = 1;
  const auto see = [&](const auto& field) {
    newest = std::max({newest, field.since, field.renamed_in, field.nested_since});
  };
  (for_each_field<Structs>(see), ...);
  return newest;
}

/// The version in which snapshots and checkpoints got their present layout, apart from their fields.
inline constexpr std::uint32_t layout_version = 2;

/// The version of the files that are written: snapshots and checkpoints have the same.
inline constexpr std::uint32_t newest_version =
    std::max(layout_version, newest_field<scale_number, replay_options, scaling_policy, scale_state, step_record,
                                          decay_rate, hyper_parameters, lr_schedule, group_record, optimizer_record>());

}  // namespace SYCLAMP_NAMESPACE
