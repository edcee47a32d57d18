// SPDX-License-Identifier: Apache-2.0
// rocBLAS's products, for AMD GPUs. A module (module.hpp). Neither compiled nor run so far: there was no ROCm.
#include <rocblas/rocblas.h>

#include <map>
#include <mutex>
#include <stdexcept>
#include <string>

#include "engine/device_facts.hpp"
#include "matrix/module.hpp"
#include "matrix/native_command.hpp"

namespace syclamp::matrix {
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

std::string refusal(const problem& of) {
  if (of.batch >= std::uint64_t{1} << 31) return "rocBLAS counts the matrices of a batch in 31 bits";
  for (const matrix_view* one : {&of.a, &of.b, &of.c})
    if (one->stride() >= std::uint64_t{1} << 31) return "rocBLAS counts the distance of rows in 31 bits";
  if (of.a.type() == of.b.type() && (of.c.type() == of.a.type() || of.c.type() == element_type::float32)) return {};
  return std::string("rocBLAS has no product of ") + name_of(of.a.type()) + " and " + name_of(of.b.type()) + " to " +
         name_of(of.c.type());
}

/// rocBLAS reads memory column by column, where our matrices are their transposes: C' = B' · A'.
sycl::event submit(sycl::queue& queue, const problem& what) {
  return enqueue_native<hip_backend>(queue, [what](auto native) {
    const auto turn = [](const matrix_view& of) {
      return of.is_transposed() ? rocblas_operation_transpose : rocblas_operation_none;
    };
    const auto number = [](std::uint64_t n) { return static_cast<rocblas_int>(n); };
    const auto step = [](std::uint64_t n) { return static_cast<rocblas_stride>(n); };
    stream_handle& to = handle_for(reinterpret_cast<hipStream_t>(native));
    const std::lock_guard lock(to.mutex);
    auto* c = what.output();
    check(rocblas_gemm_strided_batched_ex(
        to.handle, turn(what.b), turn(what.a), number(what.n), number(what.m), number(what.k), &what.alpha,
        what.b.data(), type_of(what.b.type()), number(what.b.stride()), step(what.b_step), what.a.data(),
        type_of(what.a.type()), number(what.a.stride()), step(what.a_step), &what.beta, c, type_of(what.c.type()),
        number(what.c.stride()), step(what.c_step), c, type_of(what.c.type()), number(what.c.stride()),
        step(what.c_step), number(what.batch), rocblas_datatype_f32_r, rocblas_gemm_algo_standard, 0, 0));
  });
}

}  // namespace
}  // namespace syclamp::matrix

extern "C" [[gnu::visibility("default")]] const syclamp::matrix::module_functions syclamp_matrix_module{
    .version = syclamp::matrix::module_functions::current_version,
    .note = "rocBLAS, FP32 sums; A and B of one type, C of the same or FP32",
    .obstacle = &syclamp::matrix::obstacle,
    .refusal = &syclamp::matrix::refusal,
    .is_worthwhile = nullptr,
    .submit = &syclamp::matrix::submit,
};
