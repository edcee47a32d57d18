// SPDX-License-Identifier: Apache-2.0
#include "syclamp/device_array.hpp"

#include <fmt/format.h>

#include "engine/command_queue.hpp"
#include "engine/device_memory.hpp"

namespace SYCLAMP_NAMESPACE {

struct SYCLAMP_HIDDEN device_memory::impl {
  syclamp::engine engine;
  std::size_t bytes;
  usm_array<std::byte> memory;
};

device_memory::device_memory(const engine& engine, std::uint64_t count, std::size_t bytes_each, sycl::usm::alloc kind) {
  need_fitting(count, bytes_each);
  const std::size_t bytes = count * bytes_each;
  impl_ = make_state<impl>(engine, bytes, allocate<std::byte>(engine.queue(), bytes, kind));
  data_ = impl_->memory.get();
}

void device_memory::upload(const void* values, std::size_t bytes) {
  if (bytes == 0) return;
  const std::size_t room = impl_ ? impl_->bytes : 0;
  if (bytes > room)
    throw invalid_argument(
        fmt::format("device_array: {} bytes of values do not fit into {} bytes; make the array as large as the values",
                    bytes, room));
  need_no_recording(impl_->engine.queue());
  command_queue(impl_->engine).memcpy(data_, values, bytes);
  impl_->engine.wait();
}

void device_memory::download(void* values, std::size_t bytes) const {
  if (bytes == 0) return;
  need_no_recording(impl_->engine.queue());
  command_queue(impl_->engine).memcpy(values, data_, bytes);
  impl_->engine.wait();
}

}  // namespace SYCLAMP_NAMESPACE
