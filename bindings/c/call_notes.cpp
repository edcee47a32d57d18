// SPDX-License-Identifier: Apache-2.0
#include "bindings/c/call_notes.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bindings/c/objects.hpp"
#include "syclamp/error.hpp"

namespace syclamp::c {
namespace {

thread_local call_notes* present_notes = nullptr;

}  // namespace

note_taking::note_taking(call_notes& notes) { present_notes = &notes; }
note_taking::~note_taking() { present_notes = nullptr; }
bool note_taking::is_active() noexcept { return present_notes != nullptr; }

void note_object(object_kind kind, const std::shared_ptr<void>& object) {
  if (present_notes == nullptr) return;
  if (engine_of({kind, object})->engine.queue() != present_notes->engine->engine.queue())
    throw invalid_argument(
        "the function of a recorded step uses an object of another queue, whose commands would run now and never "
        "again; "
        "make all objects of a step with one engine");
  auto& objects = present_notes->objects;
  const auto is_same = [&](const known_object& known) { return known.object == object; };
  if (std::none_of(objects.begin(), objects.end(), is_same)) objects.push_back({kind, object});
}

void note_block(const std::shared_ptr<const void>& block) {
  if (present_notes != nullptr && block) present_notes->blocks.push_back(block);
}

void note_failure(syclamp_status status, const char* message) noexcept {
  if (present_notes == nullptr || present_notes->failure != SYCLAMP_OK) return;
  present_notes->failure = status;
  try {
    present_notes->message = message;
  } catch (...) {  // NOLINT(bugprone-empty-catch): without memory, the status has to do
  }
}

void need_no_recording(const char* remedy) {
  if (note_taking::is_active())
    throw misuse_error(fmt::format("this call cannot be part of a recorded step; {}", remedy));
}

}  // namespace syclamp::c
