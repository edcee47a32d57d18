// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the tests of the C interface share. They call the shared library only through its C header.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <syclamp/syclamp.h>

namespace c_tests {

/// Fails the case, with the message of the library, if a call does.
inline void ok(syclamp_status status) {
  INFO(syclamp_last_error());
  REQUIRE(status == SYCLAMP_OK);
}

/// The message of a call that has to fail with a status.
inline std::string message(syclamp_status expected, syclamp_status status) {
  CHECK(std::string(syclamp_status_name(status)) == syclamp_status_name(expected));
  return status == SYCLAMP_OK ? "" : syclamp_last_error();
}

/// A struct with its size set and all else 0.
template <typename Struct>
Struct sized() {
  Struct made;
  std::memset(&made, 0, sizeof made);
  made.struct_size = sizeof made;
  return made;
}

/// One engine for all cases of a program: making it takes time.
inline syclamp_engine engine() {
  static const syclamp_engine only = [] {
    syclamp_engine made = nullptr;
    ok(syclamp_engine_create(nullptr, &made));
    return made;
  }();
  return only;
}

/// Device memory that frees itself.
template <typename T>
class device_values {
 public:
  explicit device_values(const std::vector<T>& values) : count_(values.size()) {
    ok(syclamp_memory_allocate(engine(), bytes(), SYCLAMP_DEVICE_MEMORY, &address_));
    ok(syclamp_memory_copy_in(engine(), address_, values.data(), bytes()));
  }
  ~device_values() { CHECK(syclamp_memory_free(address_) == SYCLAMP_OK); }
  device_values(const device_values&) = delete;
  device_values& operator=(const device_values&) = delete;

  T* data() const { return static_cast<T*>(address_); }
  std::uint64_t count() const { return count_; }
  std::uint64_t bytes() const { return count_ * sizeof(T); }

  void write(const std::vector<T>& values) {
    ok(syclamp_memory_copy_in(engine(), address_, values.data(), values.size() * sizeof(T)));
  }
  std::vector<T> read() const {
    std::vector<T> values(count_);
    ok(syclamp_memory_copy_out(engine(), values.data(), address_, bytes()));
    return values;
  }

 private:
  std::uint64_t count_;
  void* address_ = nullptr;
};

using device_floats = device_values<float>;

/// A handle that destroys itself.
template <typename Handle>
class owned {
 public:
  owned() = default;
  ~owned() { CHECK(syclamp_handle_destroy(handle_) == SYCLAMP_OK); }
  owned(owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  owned(const owned&) = delete;
  owned& operator=(const owned&) = delete;
  owned& operator=(owned&&) = delete;

  Handle* address() { return &handle_; }
  operator Handle() const { return handle_; }  // NOLINT(google-explicit-constructor)

 private:
  Handle handle_ = nullptr;
};

inline syclamp_tensor tensor(void* address, std::uint64_t count, syclamp_element_type type = SYCLAMP_FLOAT32) {
  auto made = sized<syclamp_tensor>();
  made.address = address;
  made.count = count;
  made.type = type;
  return made;
}

inline owned<syclamp_tensor_list> list_of(const std::vector<syclamp_tensor>& tensors) {
  owned<syclamp_tensor_list> list;
  ok(syclamp_tensor_list_create(engine(), tensors.data(), tensors.size(), list.address()));
  return list;
}

inline syclamp_optimizer_settings settings(syclamp_optimizer_kind kind, double lr) {
  auto made = sized<syclamp_optimizer_settings>();
  ok(syclamp_optimizer_defaults(kind, &made));
  made.lr = lr;
  return made;
}

/// An optimizer of one FP32 tensor.
inline owned<syclamp_optimizer> optimizer_of(const device_floats& gradient, const device_floats& model,
                                             const syclamp_optimizer_settings& chosen) {
  auto parameter = sized<syclamp_parameter>();
  parameter.count = model.count();
  parameter.gradient = gradient.data();
  parameter.gradient_type = SYCLAMP_FLOAT32;
  parameter.model = model.data();
  parameter.model_type = SYCLAMP_FLOAT32;
  parameter.name = "weights";
  owned<syclamp_optimizer> made;
  ok(syclamp_optimizer_create(engine(), &parameter, 1, &chosen, 1, nullptr, made.address()));
  return made;
}

inline owned<syclamp_scaler> scaler_of(const syclamp_policy* policy = nullptr,
                                       const syclamp_scaler_options* options = nullptr) {
  owned<syclamp_scaler> made;
  ok(syclamp_scaler_create(engine(), policy, options, made.address()));
  return made;
}

}  // namespace c_tests
