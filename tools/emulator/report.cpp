// SPDX-License-Identifier: Apache-2.0
// Prints what the memory accesses of the main operations would cost an NVIDIA GPU, as two tables for docs/gpu-code.md.
// Counted by the emulator, not measured.
//   emulator_report
#include <cstdint>
#include <map>
#include <string>

#include <fmt/format.h>
#include <sycl/sycl.hpp>

#include "launch/operations.hpp"
#include "matrix/tiles.hpp"
#include "syclamp/matrix/matrix.hpp"
#include "syclamp/nn/nn.hpp"
#include "syclamp/syclamp.hpp"
#include "tools/emulator/kernel_library.hpp"

namespace {

using namespace syclamp;

constexpr std::size_t elements = std::size_t{1} << 18;

/// The part of a symbol that is the name of an operation: `__sycl_kernel_syclamp_inspect_chunks_16_4` →
/// `inspect_chunks`.
std::string operation_name(std::string symbol) {
  symbol.erase(0, std::string("__sycl_kernel_syclamp_").size());
  const auto is_number = [](const std::string& text) { return text.find_first_not_of("0123456789") == text.npos; };
  for (auto end = symbol.rfind('_'); end != symbol.npos && is_number(symbol.substr(end + 1)); end = symbol.rfind('_'))
    symbol.erase(end);
  return symbol;
}

std::map<std::string, emulator::kernel_statistics> counts_before;

/// Prints a line for each kernel that has run since the last call and has moved a byte per element or more.
void print_new(const std::string& operation, std::string_view type) {
  for (const auto& [symbol, now] : emulator::executed_kernels().statistics()) {
    const emulator::kernel_statistics before = counts_before[symbol];
    const auto per_element = [&](std::uint64_t emulator::kernel_statistics::* member) {
      return static_cast<double>(now.*member - before.*member) / elements;
    };
    using counts = emulator::kernel_statistics;
    if (per_element(&counts::global_bytes) >= 1)
      fmt::print("| {} | {} | {} | {:.2f} | {:.2f} | {:.3f} | {:.3f} |\n", operation, operation_name(symbol), type,
                 per_element(&counts::global_bytes), 32 * per_element(&counts::sectors), per_element(&counts::lines),
                 per_element(&counts::bank_conflicts));
    counts_before[symbol] = now;
  }
}

/// Prints a line for each kernel that has run since the last call: accesses of warps, and their conflicts.
void print_local(const std::string& operation, std::string_view type) {
  for (const auto& [symbol, now] : emulator::executed_kernels().statistics()) {
    const emulator::kernel_statistics before = counts_before[symbol];
    const std::uint64_t accesses = now.shared_accesses - before.shared_accesses,
                        conflicts = now.bank_conflicts - before.bank_conflicts,
                        asked = now.global_bytes - before.global_bytes, sectors = now.sectors - before.sectors;
    if (now.launches != before.launches)
      fmt::print("| {} | {} | {} | {:.2f} | {} | {} | {:.3f} |\n", operation, operation_name(symbol), type,
                 32 * static_cast<double>(sectors) / static_cast<double>(asked), accesses, conflicts,
                 accesses == 0 ? 0.0 : static_cast<double>(conflicts) / static_cast<double>(accesses));
    counts_before[symbol] = now;
  }
}

/// Square matrices and rows: the second table.
void report_local(const engine& engine, element_type type) {
  constexpr std::size_t side = 128;
  sycl::queue queue = engine.queue();
  const std::size_t bytes = side * side * bytes_per_element(type);
  void* data = sycl::aligned_alloc_device(256, 3 * bytes, queue);
  queue.memset(data, 0, 3 * bytes).wait();
  auto* first = static_cast<std::byte*>(data);
  const matrix::matrix_view a(first, side, side, type), b(first + bytes, side, side, type),
      c(first + 2 * bytes, side, side, type);
  const auto multiply = [&](const auto& operation, const matrix::const_matrix_view& left,
                            const matrix::const_matrix_view& right) {
    matrix::submit_tiles(engine, operation,
                         {.a = left,
                          .b = right,
                          .c = c,
                          .m = side,
                          .n = side,
                          .k = side,
                          .batch = 1,
                          .a_step = 0,
                          .b_step = 0,
                          .c_step = 0,
                          .alpha = 1.0f,
                          .beta = 0.0f,
                          .bias = {},
                          .function = matrix::activation::none});
    engine.wait();
  };
  multiply(launch::gemm_tiles, a, b);
  print_local("A B", to_string(type));
  multiply(launch::gemm_tiles, transposed(a), transposed(b));
  print_local("transposed A and B", to_string(type));
  if (type == element_type::float16) {
    multiply(launch::gemm_joint_fp16, a, b);
    print_local("A B", to_string(type));
    multiply(launch::gemm_joint_fp16, transposed(a), transposed(b));
    print_local("transposed A and B", to_string(type));
  }
  float* numbers = sycl::aligned_alloc_device<float>(256, 6 * side, queue);
  queue.memset(numbers, 0, 6 * side * sizeof(float)).wait();
  const auto array = [&](std::size_t index) { return array_view(numbers + index * side, side); };
  const nn::row_statistics statistics{numbers + 4 * side, numbers + 5 * side};
  nn::layer_norm(engine, a, array(0), array(1), c, statistics);
  engine.wait();
  print_local("layer norm", to_string(type));
  nn::layer_norm_backward(engine, a, array(0), b, statistics, c, array(2), array(3));
  engine.wait();
  print_local("its gradients", to_string(type));
  sycl::free(numbers, queue);
  sycl::free(data, queue);
}

}  // namespace

int main() {
  const engine engine(sycl::queue{sycl::property::queue::in_order{}}, "nvidia_gpu");
  sycl::queue queue = engine.queue();
  fmt::print(
      "| operation | kernel | type | bytes asked for | bytes in sectors | cache lines | bank conflicts |\n"
      "| --- | --- | --- | --- | --- | --- | --- |\n");
  for (const element_type type : {element_type::float16, element_type::bfloat16, element_type::float32}) {
    const std::size_t bytes = elements * bytes_per_element(type);
    void* data = sycl::aligned_alloc_device(256, bytes, queue);
    queue.memset(data, 0, bytes).wait();  // zeros are finite in every type
    inspect(engine, {data, elements, type});
    engine.wait();
    print_new("inspect", to_string(type));
    float* wide = sycl::aligned_alloc_device<float>(256, elements, queue);
    const tensor_list in(engine, array_view(data, elements, type)), out(engine, array_view(wide, elements));
    cast(in, out);
    engine.wait();
    print_new("cast to FP32", to_string(type));

    void* model = sycl::aligned_alloc_device(256, bytes, queue);  // 16 bits: a copy of FP32 master weights
    queue.memset(model, 0, bytes).wait();
    fused_optimizer optimizer(
        engine, {{.gradient = array_view(data, elements, type), .model = array_view(model, elements, type)}}, adamw{});
    engine.wait();
    counts_before = emulator::executed_kernels().statistics();
    optimizer.apply();
    engine.wait();
    print_new("AdamW step", to_string(type));
    sycl::free(model, queue);
    sycl::free(wide, queue);
    sycl::free(data, queue);
  }
  fmt::print(
      "\n| operation | kernel | type | bytes in sectors per byte asked for | accesses to local memory | bank conflicts "
      "| per access |\n"
      "| --- | --- | --- | --- | --- | --- | --- |\n");
  for (const element_type type : {element_type::float16, element_type::float32}) report_local(engine, type);
}
