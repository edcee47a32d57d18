// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>

#include "syclamp/export.hpp"

namespace SYCLAMP_NAMESPACE {

/// Converts to every type. Used only in unevaluated expressions.
struct anything {
  template <typename T>
  operator T() const;
};

template <typename Aggregate, std::size_t... Index>
constexpr bool takes(std::index_sequence<Index...>) {
  return requires { Aggregate{(static_cast<void>(Index), anything{})...}; };
}

/// The number of members of an aggregate: the largest number of initialisers that it accepts.
template <typename Aggregate, std::size_t AtLeast = 0>
consteval std::size_t member_count() {
  if constexpr (takes<Aggregate>(std::make_index_sequence<AtLeast + 1>{})) {
    return member_count<Aggregate, AtLeast + 1>();
  } else {
    return AtLeast;
  }
}

}  // namespace SYCLAMP_NAMESPACE
