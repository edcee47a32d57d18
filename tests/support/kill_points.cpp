// SPDX-License-Identifier: Apache-2.0
// The program's own functions of these names are found before those of the C library, by the library under test, too.
#include "tests/support/kill_points.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdarg>

namespace {

std::atomic<bool> is_armed = false;
std::atomic<unsigned> count = 0, deadly = 0;
bool kills_afterwards = false;

[[noreturn]] void die() {
  while (true) syscall(SYS_kill, getpid(), SIGKILL);
}

/// Whether this is the call; ends the process if that has to be before it.
bool is_last() {
  if (!is_armed) return false;
  const bool is_it = ++count == deadly;
  if (is_it && !kills_afterwards) die();
  return is_it;
}

template <typename... Args>
long call(long number, Args... args) {
  const bool is_it = is_last();
  const long result = syscall(number, args...);
  if (is_it) die();
  return result;
}

}  // namespace

void kill_at(unsigned call, bool afterwards) {
  kills_afterwards = afterwards;
  deadly = call;
  count = 0;
  is_armed = true;
}

extern "C" {

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const unsigned mode = (flags & O_CREAT) != 0 ? va_arg(rest, unsigned) : 0u;
  va_end(rest);
  return static_cast<int>(call(SYS_openat, AT_FDCWD, path, flags, mode));
}

int openat(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const unsigned mode = (flags & O_CREAT) != 0 ? va_arg(rest, unsigned) : 0u;
  va_end(rest);
  return static_cast<int>(call(SYS_openat, folder, path, flags, mode));
}

ssize_t write(int file, const void* data, size_t bytes) {
  const bool is_it = is_last();
  const long written = syscall(SYS_write, file, data, is_it ? bytes / 2 : bytes);
  if (is_it) die();
  return written;
}

int fsync(int file) { return static_cast<int>(call(SYS_fsync, file)); }
int flock(int file, int signal) { return static_cast<int>(call(SYS_flock, file, signal)); }
int fchmod(int file, mode_t mode) noexcept { return static_cast<int>(call(SYS_fchmod, file, mode)); }
int close(int file) { return static_cast<int>(call(SYS_close, file)); }
int unlink(const char* path) noexcept { return static_cast<int>(call(SYS_unlinkat, AT_FDCWD, path, 0)); }
int unlinkat(int folder, const char* path, int flags) noexcept {
  return static_cast<int>(call(SYS_unlinkat, folder, path, flags));
}
int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  return static_cast<int>(call(SYS_renameat2, from_folder, from, to_folder, to, 0));
}
int rename(const char* from, const char* to) noexcept {
  return static_cast<int>(call(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
}
