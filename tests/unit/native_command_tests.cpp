// SPDX-License-Identifier: Apache-2.0
// Modules for cuBLAS and rocBLAS submit to the stream behind a queue. Compiling is the test: no test machine has one.
#include "matrix/native_command.hpp"

#include <array>
#include <type_traits>

#include <catch2/catch_test_macros.hpp>

using namespace syclamp::matrix;

TEST_CASE("this SYCL has the native stream of a queue for CUDA and for HIP") {
  const auto use_stream = [](auto stream) { static_assert(std::is_pointer_v<decltype(stream)>); };
  using action = std::remove_const_t<decltype(use_stream)>;
  using function = sycl::event (*)(sycl::queue&, action);
  const std::array<function, 2> both{&enqueue_native<cuda_backend, action>, &enqueue_native<hip_backend, action>};
  CHECK(both[0] != both[1]);
}
