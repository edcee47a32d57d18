// SPDX-License-Identifier: Apache-2.0
#include "queues.hpp"

namespace nb = nanobind;

namespace syclamp::python {
namespace {

std::optional<sycl::queue> queue_in_capsule(nb::handle capsule) {
  constexpr const char* name = "SyclQueueRef";
  if (PyCapsule_IsValid(capsule.ptr(), name) == 0) return {};
  return *static_cast<const sycl::queue*>(PyCapsule_GetPointer(capsule.ptr(), name));
}

}  // namespace

std::optional<sycl::queue> find_queue(nb::handle object) {
  if (PyCapsule_CheckExact(object.ptr())) return queue_in_capsule(object);
  if (nb::hasattr(object, "_get_capsule")) return queue_in_capsule(object.attr("_get_capsule")());
  if (nb::hasattr(object, "sycl_queue")) return find_queue(object.attr("sycl_queue"));
  return {};
}

}  // namespace syclamp::python
