// SPDX-License-Identifier: Apache-2.0
#include "torch_tensors.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace syclamp::python {

namespace {

bool type_of(const torch_functions& torch, std::int32_t dtype, element_type* found) {
  if (dtype == torch.float16) return *found = element_type::float16, true;
  if (dtype == torch.bfloat16) return *found = element_type::bfloat16, true;
  if (dtype == torch.float32) return *found = element_type::float32, true;
  if (dtype == torch.float64) return *found = element_type::float64, true;
  return false;
}

/// The offset of the pointer to the content of `object`, in bytes `begin` to `end` at `memory`; 0 if it is not there.
std::size_t find_word(const void* memory, std::size_t begin, std::size_t end, nb::handle object) {
  const auto content = nb::cast<std::uintptr_t>(object.attr("_cdata"));
  for (std::size_t i = begin; i < end; i += sizeof content)
    if (std::memcmp(static_cast<const char*>(memory) + i, &content, sizeof content) == 0) return i;
  return 0;
}

void prefetch_lines(const void* content, std::size_t count) {
  for (std::size_t line = 0; line < count; ++line) __builtin_prefetch(static_cast<const char*>(content) + 64 * line);
}

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

nb::object tensor_reader::attribute::get(PyObject* tensor) const {
  PyObject* value = getter(descriptor.ptr(), tensor, reinterpret_cast<PyObject*>(Py_TYPE(tensor)));
  if (value == nullptr) throw nb::python_error();
  return nb::steal(value);
}

tensor_reader::tensor_reader(nb::handle tensor_class)
    : tensor_class_(nb::borrow(tensor_class)),
      functions_(torch_functions::get()),
      gradient_(tensor_class, "grad"),
      version_(tensor_class, "_version"),
      is_direct_(reads_directly && functions_.direct.grad != nullptr),
      handle_offset_(find_handle()),
      storage_offset_(find_storage()) {}

// PyTorch tells the pointers that an `at::Tensor` and its content hold, so that they can be found there.
std::size_t tensor_reader::find_handle() {
  const nb::object tensor = nb::module_::import_("torch").attr("empty")(0);
  const std::size_t found = find_word(tensor.ptr(), sizeof(PyObject), sizeof(PyObject) + 2 * sizeof(void*), tensor);
  if (found == 0)
    throw nb::import_error("syclamp.torch: the tensors of this PyTorch have an unknown layout; tests use PyTorch 2.15");
  return found;
}

std::size_t tensor_reader::find_storage() const {
  const nb::object tensor = nb::module_::import_("torch").attr("empty")(0);
  return find_word(*handle_of(tensor.ptr()), sizeof(void*), 8 * sizeof(void*), tensor.attr("untyped_storage")());
}

tensor_handle tensor_reader::gradient_of(PyObject* parameter, nb::object& holder) const {
  if (!is_direct_) {
    holder = gradient_.get(parameter);
    return holder.is_none() ? nullptr : handle_of(holder.ptr());
  }
  tensor_handle gradient = functions_.direct.grad(*handle_of(parameter));
  bool is_defined = false;
  functions_.is_defined(gradient, &is_defined);
  return is_defined ? gradient : nullptr;
}

bool tensor_reader::is_negated(tensor_handle gradient, nb::handle holder) const {
  return is_direct_ ? functions_.direct.is_negated(gradient) : nb::cast<bool>(holder.attr("is_neg")());
}

std::int64_t tensor_reader::version_of(PyObject* tensor) const {
  if (is_direct_) return functions_.direct.version(handle_of(tensor));
  return nb::cast<std::int64_t>(version_.get(tensor));
}

/// Also what the word behind the pointer to the storage points to: there PyTorch 2.15 keeps the gradient's owner. The
/// words are only hints, so another order of members does no harm.
void tensor_reader::prefetch_storage(const void* content) const {
  if (storage_offset_ == 0) return;
  const void* words[2];
  std::memcpy(words, static_cast<const char*>(content) + storage_offset_, sizeof words);
  prefetch_lines(words[0], 2);
  prefetch_lines(words[1], 2);
}

void tensor_reader::prefetch(PyObject* parameter, stage next) const {
  if (next == stage::object) return __builtin_prefetch(parameter);
  const void* content = *handle_of(parameter);
  if (next == stage::tensor) return prefetch_lines(content, 4);
  if (next == stage::storage) return prefetch_storage(content);
  if (!is_direct_) return;
  const void* gradient = *functions_.direct.grad(content);
  if (next == stage::gradient) return prefetch_lines(gradient, 4);
  prefetch_storage(gradient);
}

/// By the type of the object itself: `isinstance` also accepts proxies and mocks, which only claim to be tensors.
void tensor_reader::need_tensor(nb::handle object, const std::string& described) const {
  if (PyType_IsSubtype(Py_TYPE(object.ptr()), reinterpret_cast<PyTypeObject*>(tensor_class_.ptr())) == 0)
    throw nb::type_error((described + " is not a tensor of PyTorch").c_str());
}

tensor_layout tensor_reader::read(nb::handle tensor, const std::string& described) const {
  need_tensor(tensor, described);
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
  const tensor_handle handle = handle_of(tensor.ptr());
  tensor_layout result;
  std::int32_t dtype = 0;
  if (functions_.get_dtype(handle, &dtype) != 0 || !type_of(functions_, dtype, &result.type))
    throw nb::type_error((described + " has the type " + text_of(tensor.attr("dtype")) +
                          "; supported are torch.float32, torch.float16 and torch.bfloat16")
                             .c_str());
  std::int64_t dimensions = 0, *shape = nullptr, *strides = nullptr;
  bool is_stored = functions_.get_data_ptr(handle, &result.data) == 0 && functions_.get_dim(handle, &dimensions) == 0 &&
                   functions_.get_sizes(handle, &shape) == 0 && functions_.get_strides(handle, &strides) == 0;
  if (is_stored) {
    result.shape.assign(shape, shape + dimensions);
    result.strides.assign(strides, strides + dimensions);
    result.count =
        std::accumulate(shape, shape + dimensions, std::uint64_t{1},
                        [](std::uint64_t product, std::int64_t n) { return product * static_cast<std::uint64_t>(n); });
    is_stored = result.data != nullptr || result.count == 0;
  }
  if (!is_stored)
    throw nb::type_error((described + " has no memory that can be read; its type is " +
                          text_of(nb::type_name(tensor.type())) + ", but syclamp.torch needs ordinary tensors")
                             .c_str());
  return result;
}

bool tensor_reader::read_again(tensor_handle tensor, const expected_layout& expected, void** address) const {
  std::int32_t layout = 0, device = 0, dtype = 0;
  std::int64_t dimensions = 0, *shape = nullptr, *strides = nullptr;
  element_type type;
  if (functions_.get_layout(tensor, &layout) != 0 || layout != functions_.strided ||
      functions_.get_device_type(tensor, &device) != 0 || device != functions_.cpu ||
      functions_.get_dtype(tensor, &dtype) != 0 || !type_of(functions_, dtype, &type) || type != expected.type ||
      functions_.get_dim(tensor, &dimensions) != 0 || static_cast<std::size_t>(dimensions) != expected.shape.size() ||
      functions_.get_sizes(tensor, &shape) != 0 || functions_.get_strides(tensor, &strides) != 0)
    return false;
  for (std::size_t i = 0; i < expected.shape.size(); ++i) {
    if (shape[i] != expected.shape[i]) return false;
    // The stride of a dimension with one element means nothing.
    if (strides[i] != expected.strides[i] && expected.shape[i] > 1) return false;
  }
  if (functions_.get_data_ptr(tensor, address) != 0) return false;
  return *address != nullptr || std::find(expected.shape.begin(), expected.shape.end(), 0) != expected.shape.end();
}

}  // namespace syclamp::python
