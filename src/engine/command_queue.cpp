// SPDX-License-Identifier: Apache-2.0
#include "engine/command_queue.hpp"

#include <algorithm>

namespace SYCLAMP_NAMESPACE {

bool fills_by_kernel([[maybe_unused]] const sycl::queue& queue) {
#if defined(SYCL_EXT_ONEAPI_BACKEND_LEVEL_ZERO)
  return queue.get_backend() == sycl::backend::ext_oneapi_level_zero;
#else
  return false;
#endif
}

sycl::event fill_by_copies(sycl::queue& queue, void* target, const void* value, std::size_t bytes, std::size_t count) {
  sycl::event done;
  if (count == 0) return done;
  auto* begin = static_cast<unsigned char*>(target);
  for (std::size_t i = 0; i < bytes; ++i)
    done = queue.memset(begin + i, static_cast<const unsigned char*>(value)[i], 1);
  for (std::size_t filled = bytes; filled < bytes * count;) {
    const std::size_t part = std::min(filled, bytes * count - filled);
    done = queue.memcpy(begin + filled, begin, part);
    filled += part;
  }
  return done;
}

}  // namespace SYCLAMP_NAMESPACE
