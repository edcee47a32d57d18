// SPDX-License-Identifier: Apache-2.0
// Host code knows a kernel by its name, its parameter types and the numbers it is tuned by; never its body.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "backends/profile.hpp"

namespace syclamp::launch {

/// The compiler's own spelling of a type, which the run-time compiler can parse.
template <typename T>
std::string type_name() {
  const std::string_view text = __PRETTY_FUNCTION__;  // … [with T = const void*; …] or … [T = const void *]
  const auto begin = text.find("T = ") + 4;
  std::string name(text.substr(begin, text.find_first_of(";]", begin) - begin));
  if (const auto space = name.find(" *"); space != name.npos) name.erase(space, 1);  // clang's way
  return name;
}

template <typename... Args>
std::vector<std::string> type_names() {
  return {type_name<Args>()...};
}

/// An operation as the launch seam sees it: the class template `syclamp::kernels::<name>` in
/// `sycl_kernels/<family>.hpp`.
struct operation_base {
  std::string_view name;
  std::string_view family;    ///< operations that are used together are compiled together
  traversal profile::* walk;  ///< the part of a profile that this operation is instantiated with
  std::vector<std::string> (*parameter_types)();
  bool is_optional = false;  ///< not for every device: compiled when it is asked for, never by `engine::compile_all`
};

/// An operation with its parameters, which are scalars and pointers.
template <typename... Args>
struct operation : operation_base {
  static_assert((std::is_scalar_v<Args> && ...), "structures by value crash the CUDA target: pass a pointer");
  constexpr operation(std::string_view name, std::string_view family, traversal profile::* walk,
                      bool is_optional = false)
      : operation_base{name, family, walk, &type_names<Args...>, is_optional} {}
};

/// Parameters that several operations share. In the list of operations it stands for all of its types.
template <typename... Args>
struct parameter_list {};

template <typename... A, typename... B>
parameter_list<A..., B...> operator+(parameter_list<A...>, parameter_list<B...>);

template <typename T>
struct listed {
  using type = parameter_list<T>;
};
template <typename... Args>
struct listed<parameter_list<Args...>> {
  using type = parameter_list<Args...>;
};

template <typename List>
struct operation_with;
template <typename... Args>
struct operation_with<parameter_list<Args...>> {
  using type = operation<Args...>;
};

/// `operation<…>` with every `parameter_list` among the types replaced by what it stands for.
template <typename... Types>
using operation_taking =
    typename operation_with<decltype((parameter_list<>{} + ... + typename listed<Types>::type{}))>::type;

/// One argument of a submission: where its value lies, and whether the value is a pointer.
struct argument {
  const void* value;
  std::size_t size;
  bool is_pointer;
};

}  // namespace syclamp::launch
