// SPDX-License-Identifier: Apache-2.0
/// \file
/// The C interface of syclamp, in C99. A program needs neither C++ nor SYCL: it links to `syclamp_c`.
///
///     syclamp_engine engine;
///     if (syclamp_engine_create(NULL, &engine) != SYCLAMP_OK) puts(syclamp_last_error());
///
/// Rules for all functions:
///   - A function returns a `syclamp_status`. After an error, `syclamp_last_error` explains it, and the outputs are
///     unchanged. No function ends the program, and no C++ exception leaves the library.
///   - A handle is a number that the library checks on every call. Null handles, handles of destroyed objects and
///     handles of another kind are SYCLAMP_INVALID_HANDLE. Destroy each handle once. Destroying a null handle does
///     nothing. An object lives as long as a handle or another object needs it, so the order does not matter.
///   - A struct begins with `struct_size`: set it to `sizeof` the struct. Set all other fields to 0, or let the
///     library fill them with defaults, and then change some. A pointer to options may be null: all defaults.
///   - Texts that a function returns belong to the caller. Free them with `syclamp_text_free`.
///   - Any thread may call any function at any time. Calls on objects of the same engine run one after the other.
///
/// Functions only submit work to the device and return, unless their description says "Waits".
#ifndef SYCLAMP_SYCLAMP_H
#define SYCLAMP_SYCLAMP_H

#include <syclamp/c/base.h>
#include <syclamp/c/checkpoint.h>
#include <syclamp/c/engine.h>
#include <syclamp/c/gradients.h>
#include <syclamp/c/inspector.h>
#include <syclamp/c/ledger.h>
#include <syclamp/c/memory.h>
#include <syclamp/c/optimizer.h>
#include <syclamp/c/policy.h>
#include <syclamp/c/recorded_step.h>
#include <syclamp/c/scaler.h>
#include <syclamp/c/spike_guard.h>
#include <syclamp/c/step_record.h>
#include <syclamp/c/tensor_list.h>

#endif
