// SPDX-License-Identifier: Apache-2.0
// cuBLAS's products, for NVIDIA GPUs. A module (module.hpp). Compiled and linked against cuBLAS 12.9, never run: there
// was no such GPU.
#include <cublas_v2.h>

#include <initializer_list>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>

#include "engine/device_facts.hpp"
#include "matrix/module.hpp"
#include "matrix/native_command.hpp"

namespace SYCLAMP_NAMESPACE::matrix {
namespace {

void check(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(std::string("cuBLAS failed: ") + cublasGetStatusString(status));
}

/// One for each stream, as cuBLAS advises; with its mutex, because a handle is for one thread at a time.
struct stream_handle {
  explicit stream_handle(cudaStream_t stream) {
    check(cublasCreate(&handle));
    check(cublasSetStream(handle, stream));
  }

  cublasHandle_t handle = nullptr;
  std::mutex mutex;
};

stream_handle& handle_for(cudaStream_t stream) {
  static std::mutex mutex;
  static auto& handles = *new std::map<cudaStream_t, stream_handle>;  // not destroyed: CUDA may be gone by then
  const std::lock_guard lock(mutex);
  return handles.try_emplace(stream, stream).first->second;
}

cudaDataType_t type_of(element_type type) {
  return type == element_type::float16 ? CUDA_R_16F : type == element_type::bfloat16 ? CUDA_R_16BF : CUDA_R_32F;
}

std::string obstacle(const sycl::device& device) {
  if (device.get_backend() == cuda_backend) return {};
  return "cuBLAS is for NVIDIA GPUs";
}

std::string refusal(const problem& product) {
  if (product.batch >= std::uint64_t{1} << 31) return "cuBLAS counts the matrices of a batch in 31 bits";
  for (const matrix_shape* matrix : std::initializer_list<const matrix_shape*>{&product.a, &product.b, &product.c})
    if (matrix->stride() >= std::uint64_t{1} << 31) return "cuBLAS counts the distance of rows in 31 bits";
  if (product.a.type() == product.b.type() &&
      (product.c.type() == product.a.type() || product.c.type() == element_type::float32))
    return {};
  return std::string("cuBLAS has no product of ") + to_string(product.a.type()) + " and " +
         to_string(product.b.type()) + " to " + to_string(product.c.type());
}

/// cuBLAS reads memory column by column, where our matrices are their transposes: C' = B' · A'.
sycl::event submit(sycl::queue& queue, const problem& product) {
  return enqueue_native<cuda_backend>(queue, [product](auto native) {
    const auto turn = [](const matrix_shape& matrix) { return matrix.is_transposed() ? CUBLAS_OP_T : CUBLAS_OP_N; };
    const auto number = [](std::uint64_t n) { return static_cast<int>(n); };
    const auto step = [](std::uint64_t n) { return static_cast<long long>(n); };
    stream_handle& to = handle_for(reinterpret_cast<cudaStream_t>(native));
    const std::lock_guard lock(to.mutex);
    check(cublasGemmStridedBatchedEx(
        to.handle, turn(product.b), turn(product.a), number(product.n), number(product.m), number(product.k),
        &product.alpha, product.b.data(), type_of(product.b.type()), number(product.b.stride()), step(product.b_step),
        product.a.data(), type_of(product.a.type()), number(product.a.stride()), step(product.a_step), &product.beta,
        product.c.data(), type_of(product.c.type()), number(product.c.stride()), step(product.c_step),
        number(product.batch), CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  });
}

}  // namespace
}  // namespace SYCLAMP_NAMESPACE::matrix

extern "C" [[gnu::visibility("default")]] const syclamp::matrix::module_functions syclamp_matrix_module{
    .version = syclamp::matrix::module_functions::current_version,
    .note = "cuBLAS, FP32 sums; A and B of one type, C of the same or FP32",
    .obstacle = &syclamp::matrix::obstacle,
    .refusal = &syclamp::matrix::refusal,
    .is_worthwhile = nullptr,
    .submit = &syclamp::matrix::submit,
};
