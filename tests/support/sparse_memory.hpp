// SPDX-License-Identifier: Apache-2.0
// Ranges of addresses that are larger than the memory behind them, for tests with huge tensors.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <new>

/// Zeros, of which only what is written takes memory.
class zero_memory {
 public:
  explicit zero_memory(std::size_t bytes)
      : bytes_(bytes),
        first_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (first_ == MAP_FAILED) throw std::bad_alloc();
    madvise(first_, bytes, MADV_NOHUGEPAGE);  // a byte that is written must not take 2 MiB
  }
  ~zero_memory() { munmap(first_, bytes_); }
  zero_memory(const zero_memory&) = delete;
  zero_memory& operator=(const zero_memory&) = delete;

  template <typename T>
  T* as() const {
    return static_cast<T*>(first_);
  }

 private:
  std::size_t bytes_;
  void* first_;
};

/// A long range whose blocks are all the same block of memory, but for the last two. So it can be written as a whole
/// with values that repeat, and the end has values of its own.
class folded_memory {
 public:
  static constexpr std::size_t block = std::size_t{1} << 26;

  explicit folded_memory(std::size_t bytes)
      : blocks_((bytes + block - 1) / block), file_(memfd_create("folded_memory", MFD_CLOEXEC)) {
    if (file_ < 0 || blocks_ < 3 || ftruncate(file_, 3 * block) != 0) throw std::bad_alloc();
    void* range = mmap(nullptr, blocks_ * block, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) throw std::bad_alloc();
    first_ = static_cast<std::byte*>(range);
    for (std::size_t i = 0; i < blocks_; ++i) {
      const std::size_t source = i + 2 >= blocks_ ? i + 3 - blocks_ : 0;
      if (mmap(first_ + i * block, block, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_,
               static_cast<off_t>(source * block)) == MAP_FAILED)
        throw std::bad_alloc();
    }
  }
  ~folded_memory() {
    munmap(first_, blocks_ * block);
    close(file_);
  }
  folded_memory(const folded_memory&) = delete;
  folded_memory& operator=(const folded_memory&) = delete;

  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(first_);
  }

  /// Whether the block that stands for all but the last two is zero.
  bool is_repeated_block_zero() const {
    return first_[0] == std::byte{0} && std::memcmp(first_, first_ + 1, block - 1) == 0;
  }

 private:
  std::size_t blocks_;
  int file_;
  std::byte* first_ = nullptr;
};
