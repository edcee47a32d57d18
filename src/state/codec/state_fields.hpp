// SPDX-License-Identifier: Apache-2.0
// The fields of everything that a scaler or an optimizer saves: the one list from which all formats are written and
// read. A new member that is not added here does not compile.
#pragma once

#include <tuple>

#include "state/codec/member_count.hpp"
#include "syclamp/hyper_parameters.hpp"
#include "syclamp/scale_state.hpp"
#include "syclamp/scaling_policy.hpp"
#include "syclamp/step_record.hpp"

namespace syclamp {

enum class field_kind {
  plain,
  essential,  ///< without it, a ledger is refused
  index,      ///< `no_element` is: there is none
};

template <typename Struct, typename Value, field_kind Kind = field_kind::plain>
struct field {
  using value_type = Value;
  static constexpr field_kind kind = Kind;

  const char* name;
  Value Struct::* member;
};

template <typename Struct, typename Value>
constexpr auto essential(const char* name, Value Struct::* member) {
  return field<Struct, Value, field_kind::essential>{name, member};
}

template <typename Struct, typename Value>
constexpr auto index(const char* name, Value Struct::* member) {
  return field<Struct, Value, field_kind::index>{name, member};
}

/// Whether an index points to nothing.
template <typename Field, typename Value>
constexpr bool is_none(const Field&, const Value& value) {
  if constexpr (Field::kind == field_kind::index) return value == no_element;
  return false;
}

/// Makes an index point to nothing; false for other fields, which cannot.
template <typename Field, typename Value>
constexpr bool set_none(const Field&, Value& value) {
  if constexpr (Field::kind == field_kind::index) value = no_element;
  return Field::kind == field_kind::index;
}

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
struct description<scaling_policy> {
  static constexpr auto fields = std::tuple{
      field{"mode", &scaling_policy::mode},
      field{"init", &scaling_policy::init},
      field{"growth", &scaling_policy::growth},
      field{"backoff", &scaling_policy::backoff},
      field{"backoff_by_growth", &scaling_policy::backoff_by_growth},
      field{"interval", &scaling_policy::interval},
      field{"min", &scaling_policy::min},
      field{"max", &scaling_policy::max},
      field{"power_of_two", &scaling_policy::power_of_two},
      field{"grow", &scaling_policy::grow},
      field{"test", &scaling_policy::test},
      field{"limits", &scaling_policy::limits},
      field{"arithmetic", &scaling_policy::arithmetic},
      field{"hysteresis", &scaling_policy::hysteresis},
      field{"counting", &scaling_policy::counting},
      field{"tolerance", &scaling_policy::tolerance},
      field{"limit", &scaling_policy::limit},
      field{"margin", &scaling_policy::margin},
      field{"largest_jump", &scaling_policy::largest_jump},
      field{"nan_patience", &scaling_policy::nan_patience},
      field{"give_up_after", &scaling_policy::give_up_after},
      field{"on_give_up", &scaling_policy::on_give_up},
      field{"on_floor", &scaling_policy::on_floor},
      field{"spike_threshold", &scaling_policy::spike_threshold},
      field{"spike_window", &scaling_policy::spike_window},
      field{"retries", &scaling_policy::retries},
      field{"clear_on_skip", &scaling_policy::clear_on_skip},
      field{"one_step_late", &scaling_policy::one_step_late},
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
      field{"limit", &step_record::limit},
      essential("findings", &step_record::flags),
      essential("elements", &step_record::elements),
      field{"infs", &step_record::infs},
      field{"nans", &step_record::nans},
      field{"zeros", &step_record::zeros},
      field{"subnormals", &step_record::subnormals},
      field{"lists", &step_record::lists},
      field{"refused", &step_record::refused},
      field{"first_bad_list", &step_record::first_bad_list},
      index("first_bad_tensor", &step_record::first_bad_tensor),
      index("first_bad", &step_record::first_bad),
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

template <typename Struct>
inline constexpr std::size_t field_count = std::tuple_size_v<decltype(description<Struct>::fields)>;

template <typename Struct>
inline constexpr bool is_complete = field_count<Struct> + description<Struct>::unused == member_count<Struct>();

static_assert(is_complete<scale_number>, "a member of scale_number is not saved: add it to its fields");
static_assert(is_complete<scaling_policy>, "a member of scaling_policy is not saved: add it to its fields");
static_assert(is_complete<scale_state>, "a member of scale_state is not saved: add it to its fields");
static_assert(is_complete<decay_rate>, "a member of decay_rate is not saved: add it to its fields");
static_assert(is_complete<hyper_parameters>, "a member of hyper_parameters is not saved: add it to its fields");
static_assert(is_complete<lr_schedule>, "a member of lr_schedule is not saved: add it to its fields");
static_assert(is_complete<step_record>, "a member of step_record is not saved: add it to its fields");

/// Calls `see(field)` for each field, in order.
template <typename Struct, typename See>
constexpr void for_each_field(See see) {
  std::apply([&](const auto&... one) { (see(one), ...); }, description<Struct>::fields);
}

}  // namespace syclamp
