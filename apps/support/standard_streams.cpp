// SPDX-License-Identifier: Apache-2.0
#include "apps/support/standard_streams.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <system_error>

#include "support/printable.hpp"

namespace syclamp::program {

void reserve_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    // open() returns the lowest free number, which is this one. The wrong direction makes every use fail.
    const int opened = open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (opened > STDERR_FILENO) close(opened);
  }
}

void print_error(std::string_view message) { std::fprintf(stderr, "syclamp: %s\n", printable(message).c_str()); }

void flush_output() {
  errno = 0;
  const bool is_flushed = std::fflush(stdout) == 0;
  const int reason = errno;
  if (is_flushed && std::ferror(stdout) == 0) return;
  throw std::runtime_error("cannot write to standard output: " +
                           std::generic_category().message(reason != 0 ? reason : EIO));
}

}  // namespace syclamp::program
