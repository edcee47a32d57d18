// SPDX-License-Identifier: Apache-2.0
#include "bindings/c/calls.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <string_view>

#include <fmt/format.h>
#include <sycl/sycl.hpp>

#include "bindings/c/call_notes.hpp"
#include "syclamp/error.hpp"

namespace syclamp::c {
namespace {

/// The message of this thread: an array, because there must be a message even if no memory is left.
thread_local std::array<char, 4096> last_message{};

syclamp_status record(syclamp_status status, const char* function, const char* message) noexcept {
  const std::string_view pieces[] = {function, ": ", message};
  std::size_t used = 0;
  const std::size_t room = last_message.size() - 1;
  for (const std::string_view piece : pieces) {
    const std::size_t length = std::min(piece.size(), room - used);
    std::memcpy(last_message.data() + used, piece.data(), length);
    used += length;
  }
  // A character of UTF-8 is not cut in two.
  if (used == room)
    while (used > 0 && (static_cast<unsigned char>(last_message[used - 1]) & 0x80u) != 0) --used;
  last_message[used] = '\0';
  note_failure(status, last_message.data());
  return status;
}

}  // namespace

syclamp_status record_exception(const char* function) noexcept {
  try {
    throw;
  } catch (const handle_error& problem) {
    return record(SYCLAMP_INVALID_HANDLE, function, problem.what());
  } catch (const call_error& problem) {
    return record(problem.status(), function, problem.what());
  } catch (const callback_error& problem) {
    return record(SYCLAMP_CALLBACK_FAILED, function, problem.what());
  } catch (const invalid_argument& problem) {
    return record(SYCLAMP_INVALID_ARGUMENT, function, problem.what());
  } catch (const misuse_error& problem) {
    return record(SYCLAMP_MISUSE, function, problem.what());
  } catch (const no_device_error& problem) {
    return record(SYCLAMP_NO_DEVICE, function, problem.what());
  } catch (const device_error& problem) {
    return record(SYCLAMP_DEVICE_FAULT, function, problem.what());
  } catch (const file_error& problem) {
    return record(SYCLAMP_FILE_ERROR, function, problem.what());
  } catch (const kernel_build_error& problem) {
    return record(SYCLAMP_KERNEL_BUILD, function, problem.what());
  } catch (const out_of_memory_error& problem) {
    return record(SYCLAMP_OUT_OF_MEMORY, function, problem.what());
  } catch (const std::bad_alloc&) {
    return record(SYCLAMP_OUT_OF_MEMORY, function, "the host has no memory left");
  } catch (const std::length_error&) {
    return record(SYCLAMP_OUT_OF_MEMORY, function, "more elements are asked for than memory can hold");
  } catch (const sycl::exception& problem) {
    const bool is_memory = problem.code() == sycl::errc::memory_allocation;
    return record(is_memory ? SYCLAMP_OUT_OF_MEMORY : SYCLAMP_DEVICE_FAULT, function, problem.what());
  } catch (const std::exception& problem) {
    return record(SYCLAMP_INTERNAL_ERROR, function, problem.what());
  } catch (...) {
    return record(SYCLAMP_INTERNAL_ERROR, function, "an exception of an unknown type");
  }
}

void need(const void* pointer, const char* argument) {
  if (pointer == nullptr) throw invalid_argument(fmt::format("the argument {} is null; pass an address", argument));
}

}  // namespace syclamp::c

const char* syclamp_last_error(void) { return syclamp::c::last_message.data(); }

const char* syclamp_status_name(syclamp_status status) {
  switch (status) {
    case SYCLAMP_OK: return "ok";
    case SYCLAMP_INVALID_HANDLE: return "invalid_handle";
    case SYCLAMP_INVALID_ARGUMENT: return "invalid_argument";
    case SYCLAMP_MISUSE: return "misuse";
    case SYCLAMP_NO_DEVICE: return "no_device";
    case SYCLAMP_DEVICE_FAULT: return "device_fault";
    case SYCLAMP_OUT_OF_MEMORY: return "out_of_memory";
    case SYCLAMP_FILE_ERROR: return "file_error";
    case SYCLAMP_KERNEL_BUILD: return "kernel_build";
    case SYCLAMP_CALLBACK_FAILED: return "callback_failed";
    case SYCLAMP_INTERNAL_ERROR: return "internal_error";
    default: return "unknown";
  }
}
