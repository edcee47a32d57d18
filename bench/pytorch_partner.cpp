// SPDX-License-Identifier: Apache-2.0
// Our side of pytorch.py: AdamW with clipping on FP16 gradients, a step at a time, on request.
//
//     pytorch_partner ELEMENTS TENSORS GRADIENTS [float16|float32] [apart]
//
// GRADIENTS is a file of raw numbers, already scaled by 1024: FP16, with an FP16 copy of the weights, or FP32, without
// one. With `apart`, each tensor is a separate allocation, as in PyTorch; without it, all share one allocation.
// Requests are words on standard input: `step`, answered by its seconds; `weights FILE`, which writes the FP32 weights
// there. They begin at 1.
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "bench/data.hpp"

namespace {

using namespace syclamp;

/// Copies of tensors, each in a separate allocation.
class separate_tensors {
 public:
  explicit separate_tensors(const std::vector<tensor>& tensors) {
    for (const tensor& from : tensors) {
      const std::size_t words = (from.count * bytes_per_element(from.data.type()) + sizeof(word) - 1) / sizeof(word);
      memory_.push_back(std::make_unique<word[]>(words));
      std::memcpy(memory_.back().get(), from.data.address(), from.count * bytes_per_element(from.data.type()));
      tensors_.push_back({.data = {memory_.back().get(), from.data.type()}, .count = from.count});
    }
  }
  const std::vector<tensor>& tensors() const { return tensors_; }

 private:
  struct alignas(64) word {
    unsigned char bytes[64];
  };
  std::vector<std::unique_ptr<word[]>> memory_;
  std::vector<tensor> tensors_;
};

void run(const bench::settings& options, const char* gradients_file, element_type type, bool apart) {
  const syclamp::engine engine;
  const std::size_t bytes = options.elements * bytes_per_element(type);
  const bench::buffer gradient(engine, bytes), model(engine, bytes), scalar(engine, sizeof(float));
  std::ifstream file(gradients_file, std::ios::binary);
  if (!file.read(reinterpret_cast<char*>(gradient.data), static_cast<std::streamsize>(bytes)))
    throw invalid_argument(std::string("pytorch_partner: cannot read the gradients from ") + gradients_file);
  if (type == element_type::float16)
    engine.queue().fill(reinterpret_cast<std::uint16_t*>(model.data), std::uint16_t{0x3c00}, options.elements).wait();
  else
    engine.queue().fill(reinterpret_cast<float*>(model.data), 1.0f, options.elements).wait();
  std::vector<parameter> parameters;
  auto from = bench::cut(gradient.data, type, options), to = bench::cut(model.data, type, options);
  const separate_tensors gradients(apart ? from : std::vector<tensor>{}), models(apart ? to : std::vector<tensor>{});
  if (apart) {
    from = gradients.tensors();
    to = models.tensors();
  }
  for (std::size_t i = 0; i < from.size(); ++i)
    parameters.push_back({.gradient = bench::view_of(from[i]), .model = bench::view_of(to[i])});
  fused_optimizer optimizer(engine, parameters, adamw{});
  loss_scaler scaler(engine, {.init_scale = 1024});
  scaler.prepare(optimizer.gradients());

  std::cout << "ready" << '\n' << std::flush;
  for (std::string word; std::cin >> word;) {
    if (word == "step") {
      const auto start = std::chrono::steady_clock::now();
      scaler.begin_step();
      scaler.step(optimizer, {.max_norm = 1.0f});
      scaler.update();
      engine.wait();
      std::cout << std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() << '\n'
                << std::flush;
    } else if (std::string path; word == "weights" && std::cin >> path) {
      std::ofstream out(path, std::ios::binary);
      for (std::size_t i = 0; i < optimizer.size(); ++i) {
        const auto values = optimizer.weights(i);
        out.write(reinterpret_cast<const char*>(values.data()),
                  static_cast<std::streamsize>(values.size() * sizeof(float)));
      }
      out.close();
      std::cout << (out.good() ? "written" : "failed") << '\n' << std::flush;
    } else {
      throw invalid_argument("pytorch_partner: unknown request (expected step or weights):  " + word);
    }
  }
}

}  // namespace

int main(int count, char** words) try {
  const std::string type = count > 4 ? words[4] : "float16";
  const bool apart = count > 5 && words[5] == std::string("apart");
  if (count < 4 || count > 5 + (apart ? 1 : 0) || (type != "float16" && type != "float32")) {
    std::cerr << "usage: pytorch_partner ELEMENTS TENSORS GRADIENTS [float16|float32] [apart]\n";
    return 2;
  }
  run({.elements = std::stoull(words[1]), .tensors = std::stoull(words[2])}, words[3],
      type == "float16" ? element_type::float16 : element_type::float32, apart);
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
