// SPDX-License-Identifier: Apache-2.0
#include "bindings/c/texts.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "bindings/c/calls.hpp"

namespace syclamp::c {
namespace {

struct table {
  std::mutex mutex;
  std::unordered_map<const char*, std::unique_ptr<std::string>> texts;
};

/// Never destroyed, as the table of handles.
table& known() {
  static table& only = *new table;
  return only;
}

}  // namespace

char* make_text(std::string_view text) {
  auto copy = std::make_unique<std::string>(text);
  char* address = copy->data();
  table& all = known();
  const std::lock_guard lock(all.mutex);
  all.texts.emplace(address, std::move(copy));
  return address;
}

void free_text(const char* text) {
  if (text == nullptr) return;
  table& all = known();
  const std::lock_guard lock(all.mutex);
  if (all.texts.erase(text) == 0)
    throw handle_error(fmt::format("{} is no text of this library, or was freed before; free each text once",
                                   static_cast<const void*>(text)));
}

std::size_t live_texts() {
  table& all = known();
  const std::lock_guard lock(all.mutex);
  return all.texts.size();
}

}  // namespace syclamp::c
