// SPDX-License-Identifier: Apache-2.0
// File descriptors that close themselves.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "syclamp/export.hpp"

namespace SYCLAMP_NAMESPACE {

/// Repeats a call that a signal has interrupted.
template <typename Call>
auto uninterrupted(Call call) {
  decltype(call()) result;
  do result = call();
  while (result < 0 && errno == EINTR);
  return result;
}

/// An open file or folder, or -1.
class descriptor {
 public:
  descriptor() = default;
  explicit descriptor(int number) : number_(number) {}
  ~descriptor() { close(); }
  descriptor(descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  bool close() { return number_ < 0 || ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_ = -1;
};

inline constexpr mode_t anybody = 0666;  // the umask applies

/// Opens `name`, which is relative to the open folder `folder`. Not open if that fails; `errno` has the reason.
inline descriptor open_at(int folder, const char* name, int flags, mode_t mode = anybody) {
  return descriptor(uninterrupted([&] { return ::openat(folder, name, flags | O_CLOEXEC, mode); }));
}

}  // namespace SYCLAMP_NAMESPACE
