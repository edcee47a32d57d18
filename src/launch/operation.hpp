// SPDX-License-Identifier: Apache-2.0
// Host code knows a kernel by its name, its parameter types and the numbers it is tuned by; never its body.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
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
  std::string_view family;  ///< operations that are used together are compiled together
  std::vector<std::string> (*parameter_types)();

  // Of the class by which the operation is tuned: its type, its numbers in a profile, and among them the sizes of
  // work-groups and of sub-groups. A size of 0 leaves the choice to the compiler.
  std::string (*tuning_type)();
  std::vector<tuning_number> (*tuning_numbers)(const profile&);
  std::uint32_t (*group_size)(const profile&);
  std::uint32_t (*preferred_sub_group_size)(const profile&);

  bool is_optional = false;  ///< does not exist on every device: compiled at first use, never by `engine::compile_all`
  std::uint32_t sub_groups = 0;  ///< number of sub-groups that a work-group must have; 0: any

  /// The size of sub-groups that a kernel requires; 0: the compiler chooses. If their number is fixed, sub-groups of
  /// another size would give wrong results, so a profile cannot change it.
  constexpr std::uint32_t sub_group_size(const profile& tuned) const {
    return sub_groups != 0 ? group_size(tuned) / sub_groups : preferred_sub_group_size(tuned);
  }
};

/// Operations in the order of their names. Their addresses do not identify them: each shared library has its own
/// objects.
struct operation_order {
  bool operator()(const operation_base* left, const operation_base* right) const { return left->name < right->name; }
};

/// The bytes of a kernel's parameters, each at a multiple of its alignment.
template <typename... Args>
constexpr std::size_t parameter_bytes() {
  std::size_t bytes = 0;
  ((bytes = (bytes + alignof(Args) - 1) / alignof(Args) * alignof(Args) + sizeof(Args)), ...);
  return bytes;
}

/// SYCL promises 1 KiB for the parameters of a kernel (`info::device::max_parameter_size`), and some GPUs have 2 KB. A
/// quarter is left for what compilers add, such as local accessors.
inline constexpr std::size_t max_parameter_bytes = 768;

/// An operation with the member of `profile` that it is tuned by, and its parameters, which are scalars and pointers.
template <auto Tuning, typename... Args>
struct operation : operation_base {
  static_assert((std::is_scalar_v<Args> && ...), "structures by value crash the CUDA target: pass a pointer");
  static_assert(parameter_bytes<Args...>() <= max_parameter_bytes,
                "too many parameters for some devices: pass a pointer to a record in device memory");

  static constexpr const auto& tuning(const profile& tuned) { return tuned.*Tuning; }

  constexpr operation(std::string_view name, std::string_view family, bool is_optional = false,
                      std::uint32_t sub_groups = 0)
      : operation_base{name,
                       family,
                       &type_names<Args...>,
                       &type_name<std::remove_cvref_t<decltype(tuning(std::declval<const profile&>()))>>,
                       [](const profile& tuned) { return numbers_of(tuning(tuned)); },
                       [](const profile& tuned) { return tuning(tuned).group_size; },
                       [](const profile& tuned) { return sub_group_size_of(tuning(tuned)); },
                       is_optional,
                       sub_groups} {}
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

template <auto Tuning, typename List>
struct operation_with;
template <auto Tuning, typename... Args>
struct operation_with<Tuning, parameter_list<Args...>> {
  using type = operation<Tuning, Args...>;
};

/// `operation<…>` with every `parameter_list` among the types replaced by what it stands for.
template <auto Tuning, typename... Types>
using operation_taking =
    typename operation_with<Tuning, decltype((parameter_list<>{} + ... + typename listed<Types>::type{}))>::type;

/// One argument of a submission: where its value lies, and whether the value is a pointer.
struct argument {
  const void* value;
  std::size_t size;
  bool is_pointer;
};

}  // namespace syclamp::launch
