// SPDX-License-Identifier: Apache-2.0
/// \file
/// Notes on the calls that a function of the caller makes. A recorded step repeats these calls later, so it keeps what
/// they use, and must know whether one of them has failed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bindings/c/handles.hpp"
#include "syclamp/c/base.h"

namespace syclamp::c {

struct engine_object;

/// What the calls of one thread have used.
struct call_notes {
  const engine_object* engine = nullptr;            ///< of the step; objects of other queues are refused
  std::vector<known_object> objects;                ///< each one once
  std::vector<std::shared_ptr<const void>> blocks;  ///< of memory
  syclamp_status failure = SYCLAMP_OK;              ///< status of the first call that failed
  std::string message;                              ///< its message
};

/// Takes notes on the calls of this thread while it exists.
class note_taking {
 public:
  explicit note_taking(call_notes& notes);
  ~note_taking();
  note_taking(const note_taking&) = delete;
  note_taking& operator=(const note_taking&) = delete;

  /// True while this thread runs the function of a recorded step.
  static bool is_active() noexcept;
};

// Called wherever an object or a block is looked up, or a call fails. They do nothing if no notes are taken.
// `note_object` throws invalid_argument if the object belongs to another queue than the step.
void note_object(object_kind kind, const std::shared_ptr<void>& object);
void note_block(const std::shared_ptr<const void>& block);
void note_failure(syclamp_status status, const char* message) noexcept;

/// Refuses a call inside the function of a recorded step.
/// \throws misuse_error with the remedy
void need_no_recording(const char* remedy);

}  // namespace syclamp::c
