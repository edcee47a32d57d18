// SPDX-License-Identifier: Apache-2.0
/// \file
/// A typed array that owns device memory.
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

/// Untyped USM memory of an engine's device, aligned to 64 bytes. Programs use `device_array` instead.
class SYCLAMP_API device_memory {
 public:
  device_memory() = default;  ///< no memory
  /// Allocates `count` elements of `bytes_each` bytes.
  /// \throws out_of_memory_error if the allocation fails
  device_memory(const engine& engine, std::uint64_t count, std::size_t bytes_each, sycl::usm::alloc kind);

  void* data() const { return data_; }                   ///< address of the first byte; null if there is no memory
  void upload(const void* values, std::size_t bytes);    ///< copies from the host; waits
  void download(void* values, std::size_t bytes) const;  ///< copies to the host; waits

 private:
  struct impl;
  std::shared_ptr<impl> impl_;
  void* data_ = nullptr;
};

/// An array that owns memory of an engine's device. The destructor frees the memory after all work submitted to the
/// engine, and never throws. The array may outlive all handles of the engine, and may be a static object.
///
/// The default kind is device memory. The host can also read and write memory of the kinds `shared` and `host` through
/// `data()`, while no submitted work uses it.
///
/// Constructors throw out_of_memory_error if the allocation fails, and misuse_error while the queue is recorded. Use an
/// array from one thread at a time.
/// \tparam T  a trivially copyable type
template <typename T>
class device_array {
  static_assert(std::is_trivially_copyable_v<T>, "elements travel between host and device as bytes");

 public:
  /// An empty array without memory.
  device_array() = default;

  /// Allocates `count` uninitialised elements.
  device_array(const engine& engine, std::uint64_t count, sycl::usm::alloc kind = sycl::usm::alloc::device)
      : memory_(engine, count, sizeof(T), kind), size_(count) {}

  /// Allocates memory for `values` and copies them to the device. Waits.
  device_array(const engine& engine, std::span<const T> values, sycl::usm::alloc kind = sycl::usm::alloc::device)
      : device_array(engine, values.size(), kind) {
    upload(values);
  }

  /// Allocates `count` elements and sets each to `value`. Waits.
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

  /// The address of the first element; null if the array was default-constructed or moved from.
  T* data() const { return static_cast<T*>(memory_.data()); }
  std::uint64_t size() const { return size_; }  ///< number of elements

  /// Copies `values` from the host to the first elements, after all submitted work. Waits.
  /// \throws invalid_argument if there are more values than elements
  void upload(std::span<const T> values) { memory_.upload(values.data(), values.size_bytes()); }

  /// Copies all elements to the host, after all submitted work. Waits.
  std::vector<T> to_vector() const {
    std::vector<T> values(size_);
    memory_.download(values.data(), size_ * sizeof(T));
    return values;
  }

  /// Converts to a view, as tensor lists and optimizers take it, if T is an element type.
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
