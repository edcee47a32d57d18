// SPDX-License-Identifier: Apache-2.0
#include "syclamp/log.hpp"

#include <cstdio>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "engine/warn.hpp"
#include "support/printable.hpp"

namespace SYCLAMP_NAMESPACE {
namespace {

struct current_handler {
  std::mutex mutex;
  warning_handler handler = [](std::string_view line) {
    std::fprintf(stderr, "syclamp: warning: %s\n", printable(line).c_str());
  };
};

current_handler& current() {
  static current_handler& instance = *new current_handler;  // never destroyed: exit handlers may warn, too
  return instance;
}

}  // namespace

warning_handler on_warning(warning_handler handler) {
  const std::lock_guard lock(current().mutex);
  return std::exchange(current().handler, std::move(handler));
}

void warn_text(std::string_view line) {
  warning_handler handler;
  {
    const std::lock_guard lock(current().mutex);
    handler = current().handler;
  }
  if (handler) handler(line);  // called without the lock, because a handler may set another handler
}

void warn_once(const std::string& line) {
  static std::mutex& mutex = *new std::mutex;  // never destroyed, like the handler
  static auto& known = *new std::set<std::string>;
  {
    const std::lock_guard lock(mutex);
    if (!known.insert(line).second) return;
  }
  warn_text(line);
}

}  // namespace SYCLAMP_NAMESPACE
