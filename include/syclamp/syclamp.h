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
///     handles of another kind are SYCLAMP_INVALID_HANDLE. A null handle is allowed where the description says so, and
///     in destroy functions, which then do nothing. An object lives as long as a handle or another object needs it, so
///     the order does not matter.
///   - Handles that a function hands out belong to the caller: destroy each one once. Texts of type `char*` belong to
///     the caller, too: free them with `syclamp_text_free`. Texts of type `const char*` belong to the library.
///   - Structs, arrays and texts that you pass in are read during the call, and may then be freed. Memory with tensors,
///     device addresses and pointers called `user` must stay valid as long as the library uses them.
///   - A struct begins with `struct_size`: set it to `sizeof` the struct, also if a function fills the struct. Set all
///     other fields to 0, or let the library fill them with defaults, and then change some. A pointer to options may be
///     null: all defaults.
///   - Indices start at 0. Parameters and fields called `device_…` are addresses in device memory.
///   - Any thread may call any function at any time. Calls on objects of the same engine run one after the other.
///     Functions of yours that the library calls may call the library, but only on objects of the same engine.
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
