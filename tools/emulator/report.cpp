// SPDX-License-Identifier: Apache-2.0
// Prints what the memory accesses of the main operations would cost an NVIDIA GPU, as a table for docs/gpu-code.md.
// Counted by the emulator, not measured.
//   emulator_report
#include <cstdint>
#include <map>
#include <string>

#include <fmt/format.h>
#include <sycl/sycl.hpp>

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
}
