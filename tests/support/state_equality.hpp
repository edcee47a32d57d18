// SPDX-License-Identifier: Apache-2.0
// Equality of all that a scaler remembers, to the bit.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "state/codec/state_fields.hpp"
#include "syclamp/scaler_snapshot.hpp"

/// The table of fields has every member once, or it would not compile.
template <typename Value>
bool same_fields(const Value& a, const Value& b) {
  if constexpr (!std::is_class_v<Value>) {
    return a == b;
  } else {
    bool are_same = true;
    syclamp::for_each_field<Value>(
        [&](const auto& field) { are_same = are_same && same_fields(a.*field.member, b.*field.member); });
    return are_same;
  }
}

inline bool same(const syclamp::scaling_policy& a, const syclamp::scaling_policy& b) { return same_fields(a, b); }

/// Of structs without padding.
template <typename Struct>
bool same_bits(const Struct& a, const Struct& b) {
  using bytes = std::array<std::byte, sizeof(Struct)>;
  return std::bit_cast<bytes>(a) == std::bit_cast<bytes>(b);
}

inline bool same(const syclamp::scale_state& a, const syclamp::scale_state& b) { return same_bits(a, b); }

inline bool same(const syclamp::ledger_entry& a, const syclamp::ledger_entry& b) {
  return same_bits(a.record, b.record) && a.first_nonfinite_name == b.first_nonfinite_name;
}

template <typename Element>
bool same(const std::vector<Element>& a, const std::vector<Element>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) { return same(x, y); });
}

inline bool same(const syclamp::scaler_snapshot& a, const syclamp::scaler_snapshot& b) {
  return same(a.policy, b.policy) && same(a.scales, b.scales) && same(a.ledger, b.ledger);
}
