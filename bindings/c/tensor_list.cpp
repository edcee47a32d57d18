// SPDX-License-Identifier: Apache-2.0
#include "syclamp/c/tensor_list.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bindings/c/conversions.hpp"
#include "bindings/c/objects.hpp"
#include "bindings/c/structs.hpp"

using namespace syclamp::c;

namespace {

std::string described(std::size_t index, std::string_view name) {
  return name.empty() ? fmt::format("tensor {}", index) : fmt::format("tensor {} \"{}\"", index, name);
}

block_owner owner_of(const list_object& list, std::size_t index, const void* address) {
  const syclamp::const_array_view tensor = list.list[index];
  return find_block(*list.engine, address, tensor.count(), tensor.type(), described(index, list.list.name(index)));
}

/// Refuses to change the addresses of an optimizer's own memory.
void need_own_addresses(const list_object& list) {
  if (list.owner)
    throw syclamp::misuse_error(
        "the list is the FP32 shadow of an optimizer, whose addresses are fixed; create another list");
}

bool is_read_only(const syclamp::tensor_list& list, std::size_t index) {
  try {
    list.writable(index);
    return false;
  } catch (const syclamp::invalid_argument&) {
    return true;
  }
}

}  // namespace

syclamp_status syclamp_tensor_list_create(syclamp_engine engine, const syclamp_tensor* tensors, size_t count,
                                          syclamp_tensor_list* list) {
  return guarded(__func__, [&] {
    const auto object = get<engine_object>(engine);
    need(list, "list");
    if (count > SYCLAMP_MAX_TENSORS)
      throw syclamp::invalid_argument(
          fmt::format("the argument count is {}; a list has at most {} tensors", count, SYCLAMP_MAX_TENSORS));
    const size_t size = count == 0 ? 0 : checked_size(tensors, "tensors");
    const call_order order{object.get()};
    std::vector<syclamp::tensor> described_tensors;
    std::vector<block_owner> blocks;
    for (size_t i = 0; i < count; ++i) {
      const syclamp_tensor given = read_element(tensors, i, size, "tensors");
      const std::string name = given.name == nullptr ? "" : given.name;
      const syclamp::element_type type = to_element_type(given.type, "tensors[].type");
      blocks.push_back(find_block(*object, given.address, given.count, type, described(i, name)));
      const syclamp::element_pointer data =
          given.read_only != 0 ? syclamp::element_pointer(static_cast<const void*>(given.address), type)
                               : syclamp::element_pointer(given.address, type);
      described_tensors.push_back({.data = data,
                                   .count = given.count,
                                   .name = name,
                                   .group = given.group,
                                   .replicated = given.replicated != 0});
    }
    syclamp::tensor_list made(object->engine, std::move(described_tensors));
    *list = make_handle<syclamp_tensor_list>(std::make_shared<list_object>(object, std::move(made), std::move(blocks)));
  });
}

syclamp_status syclamp_tensor_list_destroy(syclamp_tensor_list list) {
  return guarded(__func__, [&] { remove_handle(list, object_kind::tensor_list); });
}

syclamp_status syclamp_tensor_list_describe(syclamp_tensor_list list, syclamp_tensor_list_info* info) {
  return guarded(__func__, [&] {
    const auto object = get<list_object>(list);
    const size_t size = checked_size(info, "info");
    write_struct(info,
                 {.struct_size = size,
                  .tensors = object->list.size(),
                  .elements = object->list.elements(),
                  .groups = object->list.groups(),
                  .reserved = 0},
                 size);
  });
}

syclamp_status syclamp_tensor_list_tensor(syclamp_tensor_list list, uint64_t index, syclamp_tensor* tensor) {
  return guarded(__func__, [&] {
    const auto object = get<list_object>(list);
    const size_t size = checked_size(tensor, "tensor");
    const call_order order{object->engine.get()};
    const syclamp::const_array_view elements = object->list[index];
    write_struct(tensor,
                 {.struct_size = size,
                  .address = const_cast<void*>(elements.data()),  // `read_only` says whether it may be written
                  .count = elements.count(),
                  .type = static_cast<syclamp_element_type>(elements.type()),
                  .group = object->list.group(index),
                  .name = object->list.name(index).c_str(),
                  .replicated = object->list.is_replicated(index) ? 1 : 0,
                  .read_only = is_read_only(object->list, index) ? 1 : 0},
                 size);
  });
}

syclamp_status syclamp_tensor_list_set_address(syclamp_tensor_list list, uint64_t index, void* address) {
  return guarded(__func__, [&] {
    const auto object = get<list_object>(list);
    const call_order order{object->engine.get()};
    need_own_addresses(*object);
    block_owner owner = owner_of(*object, index, address);
    object->list.set_address(index, address);
    object->blocks[index] = std::move(owner);
  });
}

syclamp_status syclamp_tensor_list_set_addresses(syclamp_tensor_list list, void* const* addresses, size_t count) {
  return guarded(__func__, [&] {
    const auto object = get<list_object>(list);
    const call_order order{object->engine.get()};
    if (count != object->list.size())
      throw syclamp::invalid_argument(
          fmt::format("the argument count is {}, but the list has {} tensors; pass one address per tensor", count,
                      object->list.size()));
    need_own_addresses(*object);
    if (count == 0) return;
    need(addresses, "addresses");
    std::vector<block_owner> owners(count);
    for (size_t i = 0; i < count; ++i) owners[i] = owner_of(*object, i, addresses[i]);
    object->list.set_addresses({addresses, count});
    object->blocks = std::move(owners);
  });
}
