// SPDX-License-Identifier: Apache-2.0
// Work for a vendor's library on the stream behind a SYCL queue, in order with its kernels and without the host
// waiting.
#pragma once

#include <sycl/sycl.hpp>

#include "syclamp/export.hpp"

#if defined(SYCL_EXT_ONEAPI_ENQUEUE_NATIVE_COMMAND)  // DPC++
#include <sycl/ext/oneapi/backend/hip.hpp>  // sycl.hpp includes it only if DPC++ was built with its HIP backend
#endif

namespace SYCLAMP_NAMESPACE::matrix {

#if defined(SYCL_EXT_ONEAPI_ENQUEUE_NATIVE_COMMAND)  // DPC++

inline constexpr auto cuda_backend = sycl::backend::ext_oneapi_cuda;
inline constexpr auto hip_backend = sycl::backend::ext_oneapi_hip;

/// Calls `action(stream)`, which only enqueues.
template <sycl::backend Backend, typename Action>
sycl::event enqueue_native(sycl::queue& queue, Action action) {
  return queue.submit([&](sycl::handler& handler) {
    handler.ext_codeplay_enqueue_native_command(
        [=](const sycl::interop_handle& native) { action(native.template get_native_queue<Backend>()); });
  });
}

#else  // AdaptiveCpp

inline constexpr auto cuda_backend = sycl::backend::cuda;
inline constexpr auto hip_backend = sycl::backend::hip;

template <sycl::backend Backend, typename Action>
sycl::event enqueue_native(sycl::queue& queue, Action action) {
  return queue.submit([&](sycl::handler& handler) {
    handler.AdaptiveCpp_enqueue_custom_operation(
        [=](sycl::interop_handle& native) { action(native.template get_native_queue<Backend>()); });
  });
}

#endif

}  // namespace SYCLAMP_NAMESPACE::matrix
