// SPDX-License-Identifier: Apache-2.0
#include "torch_exchange.hpp"

#include <algorithm>
#include <numeric>

#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace syclamp::python {

namespace {

using dlpack::type_code;

bool is_host_memory(const dlpack::device& device) {
  return device.type == dlpack::device_type::cpu || device.type == dlpack::device_type::cuda_host;
}

bool type_of(const dlpack::data_type& type, element_type* found) {
  if (type.lanes != 1) return false;
  if (type.code == type_code::floating && type.bits == 16) return *found = element_type::float16, true;
  if (type.code == type_code::floating && type.bits == 32) return *found = element_type::float32, true;
  if (type.code == type_code::floating && type.bits == 64) return *found = element_type::float64, true;
  if (type.code == type_code::bfloat && type.bits == 16) return *found = element_type::bfloat16, true;
  return false;
}

/// The newest table that has the layout of DLPack 1.x.
const dlpack::exchange_api* usable(const dlpack::exchange_api* table) {
  while (table != nullptr && table->header.version.major != dlpack::supported_major) table = table->header.previous;
  return table;
}

void* address_of(const dlpack::tensor& tensor) { return static_cast<char*>(tensor.data) + tensor.byte_offset; }

std::string text_of(nb::handle object) { return nb::cast<std::string>(nb::str(object)); }

}  // namespace

bool tensor_layout::is_dense() const {
  std::vector<std::size_t> order(shape.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return strides[a] < strides[b]; });
  std::int64_t expected = 1;
  for (const std::size_t i : order) {
    if (shape[i] == 0) return true;
    if (shape[i] == 1) continue;
    if (strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

tensor_reader::attribute::attribute(nb::handle tensor_class, const char* name)
    : descriptor(nb::getattr(tensor_class, name)),
      getter(reinterpret_cast<descrgetfunc>(PyType_GetSlot(Py_TYPE(descriptor.ptr()), Py_tp_descr_get))) {
  if (getter == nullptr)
    throw nb::type_error((std::string("syclamp.torch: torch.Tensor.") + name + " is not a descriptor").c_str());
}

PyObject* tensor_reader::attribute::get(PyObject* tensor) const {
  PyObject* value = getter(descriptor.ptr(), tensor, reinterpret_cast<PyObject*>(Py_TYPE(tensor)));
  if (value == nullptr) throw nb::python_error();
  return value;
}

tensor_reader::tensor_reader(nb::handle tensor_class)
    : gradient_(tensor_class, "grad"), version_(tensor_class, "_version") {
  const nb::object capsule = nb::getattr(tensor_class, "__dlpack_c_exchange_api__", nb::none());
  if (!capsule.is_none())
    table_ =
        usable(static_cast<const dlpack::exchange_api*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api")));
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  if (table_ == nullptr || table_->tensor_from_object == nullptr)
    throw nb::import_error(
        "syclamp.torch: this PyTorch does not offer DLPack's C exchange table of version 1.3; install PyTorch 2.10 or "
        "newer");
}

std::int64_t tensor_reader::version_of(PyObject* tensor) const {
  const nb::object number = nb::steal(version_.get(tensor));
  return PyLong_AsLongLong(number.ptr());
}

tensor_layout tensor_reader::read(nb::handle tensor, const std::string& described) const {
  const std::string layout = text_of(tensor.attr("layout"));
  if (layout != "torch.strided")
    throw nb::type_error((described + " has the layout " + layout +
                          ", but the optimizers of syclamp.torch need dense tensors; make the embedding with "
                          "sparse=False, or use torch.optim.SparseAdam for it")
                             .c_str());
  const std::string device = text_of(tensor.attr("device").attr("type"));
  if (device != "cpu")
    throw nb::value_error((described + " is on the device \"" + device +
                           "\", but syclamp.torch works on CPU tensors; use torch.optim and torch.amp there")
                              .c_str());
  dlpack::tensor view{};  // NOLINT(bugprone-invalid-enum-default-initialization): filled by the next call
  if (table_->tensor_from_object(tensor.ptr(), &view) != 0) throw nb::python_error();
  tensor_layout result;
  if (!is_host_memory(view.device) || !type_of(view.type, &result.type))
    throw nb::type_error((described + " has the type " + text_of(tensor.attr("dtype")) +
                          "; supported are torch.float32, torch.float16 and torch.bfloat16")
                             .c_str());
  result.data = address_of(view);
  result.count = 1;
  for (std::int32_t i = 0; i < view.dimensions; ++i) {
    result.shape.push_back(view.shape[i]);
    result.count *= static_cast<std::uint64_t>(view.shape[i]);
  }
  result.strides.resize(result.shape.size());
  std::int64_t row_major = 1;
  for (std::size_t i = result.shape.size(); i-- > 0;) {
    result.strides[i] = view.strides != nullptr ? view.strides[i] : row_major;
    row_major *= result.shape[i];
  }
  return result;
}

bool tensor_reader::read_again(PyObject* tensor, const expected_layout& expected, void** address) const {
  dlpack::tensor view{};  // NOLINT(bugprone-invalid-enum-default-initialization): filled by the next call
  if (table_->tensor_from_object(tensor, &view) != 0) {
    PyErr_Clear();  // `read` will say what is wrong
    return false;
  }
  element_type type;
  if (!is_host_memory(view.device) || !type_of(view.type, &type) || type != expected.type ||
      static_cast<std::size_t>(view.dimensions) != expected.shape.size())
    return false;
  for (std::size_t i = 0; i < expected.shape.size(); ++i) {
    if (view.shape[i] != expected.shape[i]) return false;
    // The stride of a dimension with one element means nothing.
    if (view.strides != nullptr && view.strides[i] != expected.strides[i] && expected.shape[i] > 1) return false;
  }
  *address = address_of(view);
  return true;
}

}  // namespace syclamp::python
