// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

#include <sycl/sycl.hpp>

/// Device memory filled from the host, at any offset from an aligned address, with canaries on both sides.
template <typename T>
class device_buffer {
 public:
  device_buffer(sycl::queue queue, const std::vector<T>& content, std::size_t offset = 0)
      : queue_(queue), count_(content.size()), offset_(margin + offset) {
    std::vector<T> image(offset_ + count_ + margin);
    std::memset(static_cast<void*>(image.data()), canary, image.size() * sizeof(T));
    std::copy(content.begin(), content.end(), image.begin() + static_cast<std::ptrdiff_t>(offset_));
    const std::size_t bytes = (image.size() * sizeof(T) + 63) / 64 * 64;
    memory_ = static_cast<T*>(sycl::aligned_alloc_device(64, bytes, queue_));
    if (memory_ == nullptr) throw std::bad_alloc();
    queue_.memcpy(memory_, image.data(), image.size() * sizeof(T)).wait();
  }
  ~device_buffer() { sycl::free(memory_, queue_); }
  device_buffer(const device_buffer&) = delete;
  device_buffer& operator=(const device_buffer&) = delete;

  T* data() const { return memory_ + offset_; }

  std::vector<T> read() const {
    std::vector<T> content(count_);
    queue_.memcpy(content.data(), data(), count_ * sizeof(T)).wait();
    return content;
  }

  /// True if nothing was written outside the content.
  bool canaries_are_alive() const {
    std::vector<T> image(offset_ + count_ + margin);
    queue_.memcpy(image.data(), memory_, image.size() * sizeof(T)).wait();
    const auto alive = [&](std::size_t begin, std::size_t end) {
      const auto* bytes = reinterpret_cast<const unsigned char*>(image.data());
      for (std::size_t i = begin * sizeof(T); i < end * sizeof(T); ++i)
        if (bytes[i] != canary) return false;
      return true;
    };
    return alive(0, offset_) && alive(offset_ + count_, image.size());
  }

 private:
  static constexpr unsigned char canary = 0xff;  // a NaN in every format: reading beside the content shows, too
  static constexpr std::size_t margin = 64;      // elements; keeps the alignment of the content

  mutable sycl::queue queue_;
  std::size_t count_, offset_;
  T* memory_;
};
