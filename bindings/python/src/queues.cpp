// SPDX-License-Identifier: Apache-2.0
#include "queues.hpp"

#include <memory>

namespace nb = nanobind;

namespace syclamp::python {
namespace {

constexpr const char* capsule_name = "SyclQueueRef";

std::optional<sycl::queue> queue_in_capsule(nb::handle capsule) {
  if (PyCapsule_IsValid(capsule.ptr(), capsule_name) == 0) return {};
  return *static_cast<const sycl::queue*>(PyCapsule_GetPointer(capsule.ptr(), capsule_name));
}

/// Whoever has used the capsule may have renamed it. The copy of the queue is still the capsule's.
void destroy_queue(PyObject* capsule) {
  delete static_cast<sycl::queue*>(PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule)));
}

}  // namespace

std::optional<sycl::queue> find_queue(nb::handle object) {
  if (PyCapsule_CheckExact(object.ptr())) return queue_in_capsule(object);
  if (nb::hasattr(object, "_get_capsule")) return queue_in_capsule(object.attr("_get_capsule")());
  if (nb::hasattr(object, "sycl_queue")) return find_queue(object.attr("sycl_queue"));
  return {};
}

nb::object capsule_of(const sycl::queue& queue) {
  auto copy = std::make_unique<sycl::queue>(queue);
  PyObject* capsule = PyCapsule_New(copy.get(), capsule_name, destroy_queue);
  if (capsule == nullptr) throw nb::python_error();
  copy.release();  // NOLINT(bugprone-unused-return-value): the capsule deletes it
  return nb::steal(capsule);
}

}  // namespace syclamp::python
