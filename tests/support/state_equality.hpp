// SPDX-License-Identifier: Apache-2.0
// Equality of all that a scaler remembers, to the bit. Knows nothing of the library's own list of fields.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <tuple>
#include <vector>

#include "syclamp/scaler_snapshot.hpp"

/// All members; a new one does not compile until it is named here.
inline auto members_of(const syclamp::scaling_policy& policy) {
  const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, bb] = policy;
  return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, bb);
}

inline bool same(const syclamp::scaling_policy& a, const syclamp::scaling_policy& b) {
  return members_of(a) == members_of(b);
}

/// Of structs without padding.
template <typename Struct>
bool same_bits(const Struct& a, const Struct& b) {
  using bytes = std::array<std::byte, sizeof(Struct)>;
  return std::bit_cast<bytes>(a) == std::bit_cast<bytes>(b);
}

inline bool same(const syclamp::scale_state& a, const syclamp::scale_state& b) { return same_bits(a, b); }

inline bool same(const syclamp::ledger_entry& a, const syclamp::ledger_entry& b) {
  return same_bits(a.record, b.record) && a.first_bad_name == b.first_bad_name;
}

template <typename Element>
bool same(const std::vector<Element>& a, const std::vector<Element>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) { return same(x, y); });
}

inline bool same(const syclamp::scaler_snapshot& a, const syclamp::scaler_snapshot& b) {
  return same(a.policy, b.policy) && same(a.scales, b.scales) && same(a.ledger, b.ledger);
}
