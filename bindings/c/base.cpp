// SPDX-License-Identifier: Apache-2.0
#include "syclamp/c/base.h"

#include <bit>
#include <string>
#include <string_view>

#include <sycl/sycl.hpp>

#include "bindings/c/calls.hpp"
#include "bindings/c/conversions.hpp"
#include "bindings/c/handles.hpp"
#include "bindings/c/memory_blocks.hpp"
#include "bindings/c/objects.hpp"
#include "bindings/c/texts.hpp"
#include "syclamp/log.hpp"
#include "syclamp/system_info.hpp"

using namespace syclamp::c;

namespace {

std::uint16_t round_to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>(bits >> 16 | 0x40u);  // stays a NaN
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

/// True for FP16, false for BF16.
bool is_float16(syclamp_element_type type) {
  if (type != SYCLAMP_FLOAT16 && type != SYCLAMP_BFLOAT16)
    throw syclamp::invalid_argument("the argument type is not SYCLAMP_FLOAT16 or SYCLAMP_BFLOAT16");
  return type == SYCLAMP_FLOAT16;
}

}  // namespace

const char* syclamp_version(void) { return syclamp::library_version(); }

syclamp_status syclamp_text_free(char* text) {
  return guarded(__func__, [&] { free_text(text); });
}

syclamp_status syclamp_on_warning(syclamp_warning_handler handler, void* user) {
  return guarded(__func__, [&] {
    if (handler == nullptr)
      syclamp::on_warning({});
    else
      syclamp::on_warning([handler, user](std::string_view line) { handler(user, std::string(line).c_str()); });
  });
}

syclamp_status syclamp_handle_copy(const void* handle, void** copy) {
  return guarded(__func__, [&] {
    need(copy, "copy");
    *copy = copy_handle(handle);
  });
}

syclamp_status syclamp_handle_destroy(void* handle) {
  return guarded(__func__, [&] { remove_handle(handle); });
}

syclamp_status syclamp_handle_engine(const void* handle, syclamp_engine* engine) {
  return guarded(__func__, [&] {
    const known_object found = find_object(handle);
    need(engine, "engine");
    *engine = make_handle<syclamp_engine>(engine_of(found));
  });
}

size_t syclamp_live_objects(void) {
  try {
    return live_handles() + live_blocks() + live_texts();
  } catch (...) {  // a mutex that cannot be locked
    return 0;
  }
}

size_t syclamp_bytes_per_element(syclamp_element_type type) {
  const bool exists = type >= 0 && type <= static_cast<std::int32_t>(last_element_type);
  return exists ? syclamp::bytes_per_element(static_cast<syclamp::element_type>(type)) : 0;
}

syclamp_status syclamp_host_round(const float* values, syclamp_element_type type, uint16_t* bits, size_t count) {
  return guarded(__func__, [&] {
    const bool half = is_float16(type);
    if (count == 0) return;
    need(values, "values");
    need(bits, "bits");
    for (size_t i = 0; i < count; ++i)
      bits[i] = half ? std::bit_cast<std::uint16_t>(sycl::half(values[i])) : round_to_bfloat16(values[i]);
  });
}

syclamp_status syclamp_host_widen(const uint16_t* bits, syclamp_element_type type, float* values, size_t count) {
  return guarded(__func__, [&] {
    const bool half = is_float16(type);
    if (count == 0) return;
    need(bits, "bits");
    need(values, "values");
    for (size_t i = 0; i < count; ++i)
      values[i] = half ? static_cast<float>(std::bit_cast<sycl::half>(bits[i]))
                       : std::bit_cast<float>(static_cast<std::uint32_t>(bits[i]) << 16);
  });
}
