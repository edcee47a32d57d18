// SPDX-License-Identifier: Apache-2.0
// oneMKL's products, for CPUs and Intel GPUs. A module (module.hpp): to load oneMKL takes 35 ms and 40 MB.
#include <algorithm>

#include <oneapi/mkl/blas.hpp>

#include "engine/device_facts.hpp"
#include "matrix/module.hpp"

namespace SYCLAMP_NAMESPACE::matrix {
namespace {

namespace blas = oneapi::mkl::blas::row_major;
using oneapi::mkl::transpose;
using sycl::ext::oneapi::bfloat16;

/// Scalars are FP32 in every combination of types: a half could not hold them.
template <typename In, typename Out>
sycl::event multiply(sycl::queue& queue, const problem& product) {
  const auto turn = [](const matrix_shape& view) {
    return view.is_transposed() ? transpose::trans : transpose::nontrans;
  };
  const auto size = [](std::uint64_t number) { return static_cast<std::int64_t>(number); };
  const auto* a = static_cast<const In*>(product.a.data());
  const auto* b = static_cast<const In*>(product.b.data());
  auto* c = static_cast<Out*>(product.c.data());
  const auto lead = [&](const matrix_shape& view) { return size(std::max<std::uint64_t>(view.stride(), 1)); };
  if (product.batch == 1)
    return blas::gemm(queue, turn(product.a), turn(product.b), product.m, product.n, product.k, product.alpha, a,
                      lead(product.a), b, lead(product.b), product.beta, c, lead(product.c));
  return blas::gemm_batch(queue, turn(product.a), turn(product.b), product.m, product.n, product.k, product.alpha, a,
                          lead(product.a), size(product.a_step), b, lead(product.b), size(product.b_step), product.beta,
                          c, lead(product.c), size(product.c_step), size(product.batch));
}

using function = sycl::event (*)(sycl::queue&, const problem&);

/// Null if oneMKL has no such combination, or not as it should be: to half it truncates instead of rounding to nearest
/// (2026.2, on a CPU), which would bias every gradient.
function function_for(element_type in, element_type out) {
  const auto is = [&](element_type a, element_type b) { return in == a && out == b; };
  if (is(element_type::float32, element_type::float32)) return &multiply<float, float>;
  if (is(element_type::float16, element_type::float32)) return &multiply<sycl::half, float>;
  if (is(element_type::bfloat16, element_type::float32)) return &multiply<bfloat16, float>;
  if (is(element_type::bfloat16, element_type::bfloat16)) return &multiply<bfloat16, bfloat16>;
  return nullptr;
}

std::string obstacle(const sycl::device& device) {
  const auto facts = facts_of(device);
  if (facts.is_cpu || (facts.is_gpu && facts.vendor_id == backends::intel_vendor)) return {};
  return "oneMKL is for CPUs and Intel GPUs";
}

std::string refusal(const problem& product) {
  if (product.a.type() == product.b.type() && function_for(product.a.type(), product.c.type()) != nullptr) return {};
  return std::string("oneMKL has no correctly rounded product of ") + to_string(product.a.type()) + " and " +
         to_string(product.b.type()) + " to " + to_string(product.c.type());
}

/// True if this process's CPU computes with halves: where it does not, oneMKL widens both matrices first, one element
/// after the other.
bool cpu_multiplies_halves() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512fp16") != 0;
#else
  return true;
#endif
}

/// On a CPU a product of oneMKL's is a task of the host, and wakes threads of its own.
///
/// AMD EPYC (Zen 4, no FP16 arithmetic), 2 cores, oneMKL 2026.2, 2026-11-16, milliseconds of oneMKL and of our kernel,
/// alternated:
///   128 × 128 × 128     FP16 0.126, 0.040   BF16 0.061, 0.033   FP32 0.097, 0.054
///   64 × 4096 × 4096    FP16 74, 16         BF16 19, 14         FP32 15, 15
///   1024 × 1024 × 1024  FP16 14.3, 11.6     BF16 12.1, 11.4     FP32 11.5, 12.1
///   512 × 4096 × 4096   FP16 148, 114       BF16 95, 113        FP32 93, 121
/// (B transposed: FP16 74, 28; 14.5, 14.8; 148, 193: there a quarter is lost.) CPUs with matrix units were not
/// measured.
bool is_worthwhile(const sycl::device& device, const problem& product) {
  constexpr std::uint64_t small = std::uint64_t{1} << 22;
  if (!device.is_cpu()) return true;
  if (std::uint64_t{product.m} * product.n * product.k * product.batch < small) return false;
  return product.a.type() != element_type::float16 || cpu_multiplies_halves();
}

sycl::event submit(sycl::queue& queue, const problem& product) {
  return function_for(product.a.type(), product.c.type())(queue, product);
}

}  // namespace
}  // namespace SYCLAMP_NAMESPACE::matrix

extern "C" [[gnu::visibility("default")]] const syclamp::matrix::module_functions syclamp_matrix_module{
    .version = syclamp::matrix::module_functions::current_version,
    .note = "oneMKL, FP32 sums; A and B of one type, C FP32, or all of them BF16",
    .obstacle = &syclamp::matrix::obstacle,
    .refusal = &syclamp::matrix::refusal,
    .is_worthwhile = &syclamp::matrix::is_worthwhile,
    .submit = &syclamp::matrix::submit,
};
