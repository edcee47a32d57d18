// SPDX-License-Identifier: Apache-2.0
// Device memory of the training program.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "syclamp/matrix/matrix.hpp"
#include "syclamp/syclamp.hpp"

namespace syclamp::training {

/// Elements of a type that is known at run time, in device memory. Copies share it.
class device_array {
 public:
  device_array() = default;

  /// \throws out_of_memory_error
  device_array(const engine& engine, std::uint64_t count, element_type type) : count_(count), type_(type) {
    const std::uint64_t bytes = count * bytes_per_element(type);
    memory_ = {sycl::malloc_device(bytes, engine.queue()),
               [engine](void* memory) { sycl::free(memory, engine.queue()); }};
    if (!memory_ && bytes != 0)
      throw out_of_memory_error(
          fmt::format("train: the device has no {} bytes of memory left; use another device, or fewer samples", bytes));
  }

  void* data() const { return memory_.get(); }
  float* floats() const { return static_cast<float*>(data()); }
  std::uint64_t count() const { return count_; }
  element_type type() const { return type_; }

  array_view view() const { return {data(), count_, type_}; }

  /// The first elements as a matrix.
  matrix_view matrix(std::uint64_t rows, std::uint64_t columns) const { return {data(), rows, columns, type_}; }

 private:
  std::shared_ptr<void> memory_;
  std::uint64_t count_ = 0;
  element_type type_ = element_type::float32;
};

}  // namespace syclamp::training
