// Loss scaling on an existing Level Zero command list. An immediate command list is Level Zero's queue. It executes in
// the order of submission, so the SYCL queue around it is made with the property in_order.
//
// NOT RUN: compiled against the headers of Level Zero and DPC++, but never run, because the authors have no Intel GPU.
#include <syclamp/syclamp.hpp>

#include <cstdint>
#include <iostream>
#include <stdexcept>
#include <string>

#include <level_zero/ze_api.h>
#include <sycl/ext/oneapi/backend/level_zero.hpp>

namespace {

constexpr auto level_zero = sycl::backend::ext_oneapi_level_zero;

void check(ze_result_t status) {
  if (status != ZE_RESULT_SUCCESS) throw std::runtime_error("Level Zero error " + std::to_string(status));
}

}  // namespace

int main() try {
  // Your own code: driver, device, context, an immediate command list, and gradients that are written through it. If
  // all bits are set, an FP16 number is a NaN.
  std::uint32_t count = 1;
  ze_driver_handle_t driver = nullptr;
  if (zeInit(0) != ZE_RESULT_SUCCESS || zeDriverGet(&count, &driver) != ZE_RESULT_SUCCESS || count == 0) {
    std::cout << "there is no Level Zero driver here\n";
    return 0;
  }
  ze_device_handle_t device = nullptr;
  count = 1;
  check(zeDeviceGet(driver, &count, &device));
  ze_context_handle_t context = nullptr;
  const ze_context_desc_t context_description{ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, 0};
  check(zeContextCreate(driver, &context_description, &context));
  ze_command_queue_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
  description.flags = ZE_COMMAND_QUEUE_FLAG_IN_ORDER;
  description.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
  ze_command_list_handle_t commands = nullptr;
  check(zeCommandListCreateImmediate(context, device, &description, &commands));

  constexpr std::uint64_t elements = 1'000'000;
  void* gradients = nullptr;
  ze_device_mem_alloc_desc_t memory{};
  memory.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC;
  check(zeMemAllocDevice(context, &memory, elements * sizeof(sycl::half), 64, device, &gradients));
  const std::uint16_t zero = 0, nan = 0xffff;
  check(zeCommandListAppendMemoryFill(commands, gradients, &zero, sizeof zero, elements * sizeof zero, nullptr, 0,
                                      nullptr));
  check(zeCommandListAppendMemoryFill(commands, static_cast<std::uint16_t*>(gradients) + 1234, &nan, sizeof nan,
                                      sizeof nan, nullptr, 0, nullptr));

  {
    // SYCL objects around them. You still own the Level Zero objects. Destroy them after the SYCL objects.
    constexpr auto keep = sycl::ext::oneapi::level_zero::ownership::keep;
    const sycl::device sycl_device = sycl::make_device<level_zero>(device);
    const sycl::context sycl_context = sycl::make_context<level_zero>({context, {sycl_device}, keep});
    const sycl::queue queue =
        sycl::make_queue<level_zero>({commands, sycl_device, keep, {sycl::property::queue::in_order{}}}, sycl_context);

    const syclamp::engine engine(queue);
    const syclamp::tensor_list list(
        engine, {{.data = static_cast<sycl::half*>(gradients), .count = elements, .name = "weights"}});
    const syclamp::inspector inspect(list);
    inspect.run();                                       // runs after the commands appended above
    const syclamp::inspection found = inspect.result();  // waits
    std::cout << found.nan_count << " NaN, the first at " << found.first_nonfinite << '\n';
  }
  check(zeMemFree(context, gradients));
  check(zeCommandListDestroy(commands));
  check(zeContextDestroy(context));
  return 0;
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}
