// SPDX-License-Identifier: Apache-2.0
// rocBLAS's products, for AMD GPUs. A module (module.hpp). Never run. Only compiled against the headers of rocBLAS
// 6.4.4 and HIP 6.4.3 (2026-11-18).
#include <rocblas/rocblas.h>

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

void check(rocblas_status status) {
  if (status != rocblas_status_success)
    throw std::runtime_error(std::string("rocBLAS failed: ") + rocblas_status_to_string(status));
}

/// One for each stream; with its mutex, because a handle is for one thread at a time.
struct stream_handle {
  explicit stream_handle(hipStream_t stream) {
    check(rocblas_create_handle(&handle));
    check(rocblas_set_stream(handle, stream));
  }

  rocblas_handle handle = nullptr;
  std::mutex mutex;
};

stream_handle& handle_for(hipStream_t stream) {
  static std::mutex mutex;
  static auto& handles = *new std::map<hipStream_t, stream_handle>;  // not destroyed: HIP may be gone by then
  const std::lock_guard lock(mutex);
  return handles.try_emplace(stream, stream).first->second;
}

rocblas_datatype type_of(element_type type) {
  return type == element_type::float16    ? rocblas_datatype_f16_r
         : type == element_type::bfloat16 ? rocblas_datatype_bf16_r
                                          : rocblas_datatype_f32_r;
}

std::string obstacle(const sycl::device& device) {
  if (device.get_backend() == hip_backend) return {};
  return "rocBLAS is for AMD GPUs";
}

std::string refusal(const problem& product) {
  if (product.batch >= std::uint64_t{1} << 31) return "rocBLAS counts the matrices of a batch in 31 bits";
  for (const matrix_shape* matrix : std::initializer_list<const matrix_shape*>{&product.a, &product.b, &product.c})
    if (matrix->stride() >= std::uint64_t{1} << 31) return "rocBLAS counts the distance of rows in 31 bits";
  if (product.a.type() == product.b.type() &&
      (product.c.type() == product.a.type() || product.c.type() == element_type::float32))
    return {};
  return std::string("rocBLAS has no product of ") + to_string(product.a.type()) + " and " +
         to_string(product.b.type()) + " to " + to_string(product.c.type());
}

/// rocBLAS reads memory column by column, where our matrices are their transposes: C' = B' · A'.
sycl::event submit(sycl::queue& queue, const problem& product) {
  return enqueue_native<hip_backend>(queue, [product](auto native) {
    const auto turn = [](const matrix_shape& matrix) {
      return matrix.is_transposed() ? rocblas_operation_transpose : rocblas_operation_none;
    };
    const auto number = [](std::uint64_t n) { return static_cast<rocblas_int>(n); };
    const auto step = [](std::uint64_t n) { return static_cast<rocblas_stride>(n); };
    stream_handle& to = handle_for(reinterpret_cast<hipStream_t>(native));
    const std::lock_guard lock(to.mutex);
    auto* c = product.c.data();
    check(rocblas_gemm_strided_batched_ex(
        to.handle, turn(product.b), turn(product.a), number(product.n), number(product.m), number(product.k),
        &product.alpha, product.b.data(), type_of(product.b.type()), number(product.b.stride()), step(product.b_step),
        product.a.data(), type_of(product.a.type()), number(product.a.stride()), step(product.a_step), &product.beta, c,
        type_of(product.c.type()), number(product.c.stride()), step(product.c_step), c, type_of(product.c.type()),
        number(product.c.stride()), step(product.c_step), number(product.batch), rocblas_datatype_f32_r,
        rocblas_gemm_algo_standard, 0, 0));
  });
}

}  // namespace
}  // namespace SYCLAMP_NAMESPACE::matrix

extern "C" [[gnu::visibility("default")]] const syclamp::matrix::module_functions syclamp_matrix_module{
    .version = syclamp::matrix::module_functions::current_version,
    .note = "rocBLAS, FP32 sums; A and B of one type, C of the same or FP32",
    .obstacle = &syclamp::matrix::obstacle,
    .refusal = &syclamp::matrix::refusal,
    .is_worthwhile = nullptr,
    .submit = &syclamp::matrix::submit,
};
