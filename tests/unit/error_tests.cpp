// SPDX-License-Identifier: Apache-2.0
// Errors are of this library and of the standard library at once, and faults of SYCL become errors.
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "engine/device_fault.hpp"
#include "syclamp/error.hpp"

using namespace syclamp;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

template <typename Error, typename Standard>
struct pair {
  using error_type = Error;
  using standard_type = Standard;
};

template <typename Error>
Error make() {
  if constexpr (std::is_same_v<Error, kernel_build_error>)
    return {"the message", "the log"};
  else
    return Error("the message");
}

}  // namespace

static_assert(!std::is_base_of_v<std::exception, error>, "else a class of both had two std::exceptions");
static_assert(std::is_abstract_v<error>);

TEMPLATE_TEST_CASE("an error can be caught as ours, as the standard type and as any exception", "",
                   (pair<invalid_argument, std::invalid_argument>), (pair<misuse_error, std::logic_error>),
                   (pair<no_device_error, std::runtime_error>), (pair<device_error, std::runtime_error>),
                   (pair<file_error, std::runtime_error>), (pair<kernel_build_error, std::runtime_error>),
                   (pair<out_of_memory_error, std::bad_alloc>)) {
  using error_type = typename TestType::error_type;
  static_assert(std::is_convertible_v<error_type*, std::exception*>, "a base that is there twice cannot be caught");
  static_assert(std::is_nothrow_copy_constructible_v<typename TestType::standard_type>);
  const error_type original = make<error_type>();
  const auto text_as = [&]<typename Caught>(const Caught*) -> std::string {
    try {
      throw error_type(original);
    } catch (const Caught& caught) {
      return caught.what();
    }
  };

  CHECK(text_as(static_cast<const error*>(nullptr)) == "the message");
  CHECK(text_as(static_cast<const typename TestType::standard_type*>(nullptr)) == "the message");
  CHECK(text_as(static_cast<const std::exception*>(nullptr)) == "the message");
}

TEST_CASE("a fault of SYCL becomes an error with the operation, the device's words and a remedy") {
  const auto fail = [](sycl::errc code) {
    translated("inspect_chunks", [&] { throw sycl::exception(sycl::make_error_code(code), "Device lost.\n(42)\n"); });
  };

  CHECK_THROWS_MATCHES(fail(sycl::errc::runtime), device_error,
                       MessageMatches(ContainsSubstring("inspect_chunks: ") &&
                                      ContainsSubstring("\"Device lost. (42)\"") && ContainsSubstring("checkpoint")));
  CHECK_THROWS_MATCHES(fail(sycl::errc::invalid), device_error, MessageMatches(ContainsSubstring("address")));
  CHECK_THROWS_MATCHES(fail(sycl::errc::memory_allocation), out_of_memory_error,
                       MessageMatches(ContainsSubstring("free device memory")));
}

TEST_CASE("what is no fault of SYCL stays as it is") {
  CHECK(translated("operation", [] { return 7; }) == 7);
  CHECK_THROWS_AS(translated("operation", [] { throw misuse_error("no"); }), misuse_error);
}
