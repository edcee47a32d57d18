// SPDX-License-Identifier: Apache-2.0
/// \file
/// An owner of device memory.
///
///     syclamp::device_array<float> weights(engine, 1000, 0.0f);          // on the device, all 0
///     syclamp::device_array gradients(engine, std::vector<float>(1000));  // on the device, copied from the host
///     const std::vector<float> values = weights.to_vector();             // back to the host
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <sycl/sycl.hpp>

#include <syclamp/array_view.hpp>
#include <syclamp/engine.hpp>
#include <syclamp/export.hpp>

namespace SYCLAMP_NAMESPACE {

/// Bytes that an engine's device can use, aligned to 64. `device_array` is what programs use.
class SYCLAMP_API device_memory {
 public:
  device_memory() = default;
  device_memory(const engine& engine, std::uint64_t count, std::size_t bytes_each, sycl::usm::alloc kind);

  void* data() const { return data_; }
  void upload(const void* values, std::size_t bytes);
  void download(void* values, std::size_t bytes) const;

 private:
  struct impl;
  std::shared_ptr<impl> impl_;
  void* data_ = nullptr;
};

/// Elements in memory of an engine's device. They are freed with this object, after work that was submitted to the
/// engine. The object may outlive all handles of the engine, and may be a static object. Its destructor never throws.
///
/// `kind` is device memory unless you say otherwise. Memory of the kinds `shared` and `host` can also be read and
/// written by the host through `data()`, while no submitted work uses it.
///
/// Constructors throw out_of_memory_error if there is no room, and misuse_error while the queue is recorded. An array
/// is for one thread at a time.
template <typename T>
class device_array {
  static_assert(std::is_trivially_copyable_v<T>, "elements travel between host and device as bytes");

 public:
  /// No elements.
  device_array() = default;

  /// `count` elements without a value.
  device_array(const engine& engine, std::uint64_t count, sycl::usm::alloc kind = sycl::usm::alloc::device)
      : memory_(engine, count, sizeof(T), kind), size_(count) {}

  /// Copies `values` to the device. Waits.
  device_array(const engine& engine, std::span<const T> values, sycl::usm::alloc kind = sycl::usm::alloc::device)
      : device_array(engine, values.size(), kind) {
    upload(values);
  }

  /// `count` times `value`. Waits.
  device_array(const engine& engine, std::uint64_t count, const T& value,
               sycl::usm::alloc kind = sycl::usm::alloc::device)
      : device_array(engine, std::span<const T>(std::vector<T>(count, value)), kind) {}

  device_array(device_array&& other) noexcept
      : memory_(std::exchange(other.memory_, {})), size_(std::exchange(other.size_, 0)) {}
  device_array& operator=(device_array&& other) noexcept {
    memory_ = std::exchange(other.memory_, {});
    size_ = std::exchange(other.size_, 0);
    return *this;
  }
  device_array(const device_array&) = delete;
  device_array& operator=(const device_array&) = delete;
  ~device_array() = default;

  /// Address of the first element; null if the array was made without an engine or was moved from.
  T* data() const { return static_cast<T*>(memory_.data()); }
  std::uint64_t size() const { return size_; }

  /// Copies `values` to the first elements, after work that was submitted before. Waits.
  /// \throws invalid_argument if there are more values than elements
  void upload(std::span<const T> values) { memory_.upload(values.data(), values.size_bytes()); }

  /// All elements, as work that was submitted before leaves them. Waits.
  std::vector<T> to_vector() const {
    std::vector<T> values(size_);
    memory_.download(values.data(), size_ * sizeof(T));
    return values;
  }

  /// The elements as what lists and optimizers take, if T is a type of elements.
  // NOLINTNEXTLINE(google-explicit-constructor): an array is used where a view is
  operator array_view() const
    requires std::constructible_from<array_view, T*, std::uint64_t>
  {
    return array_view(data(), size_);
  }

 private:
  device_memory memory_;
  std::uint64_t size_ = 0;
};

template <typename T>
device_array(const engine&, const std::vector<T>&) -> device_array<T>;
template <typename T>
device_array(const engine&, const std::vector<T>&, sycl::usm::alloc) -> device_array<T>;

}  // namespace SYCLAMP_NAMESPACE
