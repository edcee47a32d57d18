// SPDX-License-Identifier: Apache-2.0
// Device memory of the training program, whose type is known at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "syclamp/matrix/matrix.hpp"
#include "syclamp/syclamp.hpp"

namespace syclamp::training {

/// Elements of a type that is known at run time, in device memory. Copies share it.
class typed_array {
 public:
  typed_array() = default;

  /// \throws out_of_memory_error
  typed_array(const engine& engine, std::uint64_t count, element_type type)
      : memory_(std::make_shared<const device_array<std::byte>>(engine, count * bytes_per_element(type))),
        count_(count),
        type_(type) {}

  void* data() const { return memory_ ? memory_->data() : nullptr; }
  float* floats() const { return static_cast<float*>(data()); }
  std::uint64_t count() const { return count_; }
  element_type type() const { return type_; }

  array_view view() const { return {data(), count_, type_}; }

  /// The first elements as a matrix.
  matrix::matrix_view matrix(std::uint64_t rows, std::uint64_t columns) const { return {data(), rows, columns, type_}; }

 private:
  std::shared_ptr<const device_array<std::byte>> memory_;
  std::uint64_t count_ = 0;
  element_type type_ = element_type::float32;
};

}  // namespace syclamp::training
