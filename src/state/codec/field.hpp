// SPDX-License-Identifier: Apache-2.0
// A field of a saved state: its name in files, its member, and the version of the format that introduced it.
#pragma once

#include <cstdint>
#include <type_traits>
#include <variant>

#include "syclamp/export.hpp"
#include "syclamp/inspection.hpp"

namespace SYCLAMP_NAMESPACE {

enum class field_kind {
  plain,
  essential,  ///< a ledger without it is refused
  index,      ///< the value `no_element` means that there is none
};

/// A row of a table of fields. Files of older versions still load: a field that they lack gets its default, and a field
/// that was renamed is found under its former name.
template <typename Struct, typename Value, field_kind Kind = field_kind::plain>
struct field {
  using value_type = Value;
  static constexpr field_kind kind = Kind;
  static constexpr bool is_struct = std::is_class_v<Value> && std::is_trivially_copyable_v<Value>;
  static constexpr bool has_default = std::is_trivially_copyable_v<Value>;
  using default_type = std::conditional_t<has_default, Value, std::monostate>;

  const char* name;
  Value Struct::* member;
  std::uint32_t since = 1;  ///< the first version whose files have the field
  const char* former_name = nullptr;
  std::uint32_t renamed_in = 0;     ///< the first version whose files have the present name
  default_type default_value = {};  ///< of files before `since`
  std::uint32_t nested_since = 0;   ///< of a struct: before this version, its fields are those of the struct around it

  /// The field is new in this version of the format; older files get the default.
  constexpr field added_in(std::uint32_t version, Value of_older_files) const
    requires has_default
  {
    field changed = *this;
    changed.since = version;
    changed.default_value = of_older_files;
    return changed;
  }

  /// Likewise for texts and lists, which older files leave as the struct initializes them.
  constexpr field added_in(std::uint32_t version) const
    requires(!has_default)
  {
    field changed = *this;
    changed.since = version;
    return changed;
  }

  /// Files before this version have the field under another name.
  constexpr field renamed(std::uint32_t version, const char* former) const {
    field changed = *this;
    changed.renamed_in = version;
    changed.former_name = former;
    return changed;
  }

  /// A struct whose fields lie in the struct around it, in files before this version.
  constexpr field nested_in(std::uint32_t version) const
    requires is_struct
  {
    field changed = *this;
    changed.nested_since = version;
    return changed;
  }

  constexpr bool is_in(std::uint32_t version) const { return version >= since; }

  constexpr bool is_flat_in(std::uint32_t version) const { return version < nested_since; }

  constexpr const char* name_in(std::uint32_t version) const { return version < renamed_in ? former_name : name; }

  void set_default(Struct& to) const {
    if constexpr (has_default) {
      if (since > 1) to.*member = default_value;
    }
  }
};

template <typename Struct, typename Value>
field(const char*, Value Struct::*) -> field<Struct, Value>;

template <typename Struct, typename Value>
constexpr auto essential(const char* name, Value Struct::* member) {
  return field<Struct, Value, field_kind::essential>{name, member};
}

template <typename Struct, typename Value>
constexpr auto index(const char* name, Value Struct::* member) {
  return field<Struct, Value, field_kind::index>{name, member};
}

/// True if an index means "no element".
template <typename Field, typename Value>
constexpr bool is_none(const Field&, const Value& value) {
  if constexpr (Field::kind == field_kind::index) return value == no_element;
  return false;
}

/// Sets an index to "no element". Returns false for other fields.
template <typename Field, typename Value>
constexpr bool set_none(const Field&, Value& value) {
  if constexpr (Field::kind == field_kind::index) value = no_element;
  return Field::kind == field_kind::index;
}

}  // namespace SYCLAMP_NAMESPACE
