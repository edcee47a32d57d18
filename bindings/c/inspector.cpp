// SPDX-License-Identifier: Apache-2.0
#include "syclamp/c/inspector.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bindings/c/conversions.hpp"
#include "bindings/c/objects.hpp"
#include "bindings/c/structs.hpp"

using namespace syclamp::c;

namespace {

/// Writes result `index` of an inspection.
void write_result(const std::vector<syclamp::inspection>& results, std::uint64_t index, const char* what,
                  syclamp_inspection* given) {
  const size_t size = checked_size(given, "result");
  if (index >= results.size())
    throw syclamp::invalid_argument(
        fmt::format("there is no {} {}; the number of {}s is {}", what, index, what, results.size()));
  write_struct(given, from_inspection(results[index]), size);
}

}  // namespace

syclamp_status syclamp_inspector_create(syclamp_tensor_list list, syclamp_inspection_level level,
                                        syclamp_inspector* inspector) {
  return guarded(__func__, [&] {
    const auto object = get<list_object>(list);
    need(inspector, "inspector");
    const call_order order{object->engine.get()};
    const auto detail = checked_enumeration(level, syclamp::inspection_level::histogram, "the argument level");
    syclamp::inspector made(object->list, detail);
    const std::uint32_t results = detail == syclamp::inspection_level::list ? 1 : std::max(1u, object->list.groups());
    syclamp::device_array<syclamp::clip_result> clips(object->engine->engine, results, syclamp::clip_result{});
    *inspector =
        make_handle<syclamp_inspector>(std::make_shared<inspector_object>(object, std::move(made), std::move(clips)));
  });
}

syclamp_status syclamp_inspector_destroy(syclamp_inspector inspector) {
  return guarded(__func__, [&] { remove_handle(inspector, object_kind::inspector); });
}

syclamp_status syclamp_inspector_run(syclamp_inspector inspector, float scale, const float* device_scale) {
  return guarded(__func__, [&] {
    const auto object = get<inspector_object>(inspector);
    const engine_object& engine = *object->list->engine;
    const call_order order{&engine};
    object->inspector.run(to_scalar(engine, scale, device_scale, "device_scale"));
  });
}

syclamp_status syclamp_inspector_unscale(syclamp_inspector inspector, syclamp_tensor_list out, float scale,
                                         const float* device_scale, syclamp_unscaled* unscaled) {
  return guarded(__func__, [&] {
    const auto object = get<inspector_object>(inspector);
    const auto target = get<list_object>(out);
    const engine_object& engine = *object->list->engine;
    const call_order order{&engine, target->engine.get()};
    syclamp::unscaled_gradients made =
        object->inspector.unscale(target->list, to_scalar(engine, scale, device_scale, "device_scale"));
    if (unscaled != nullptr)
      *unscaled =
          make_handle<syclamp_unscaled>(std::make_shared<unscaled_object>(target->engine, std::move(made), target));
  });
}

syclamp_status syclamp_inspector_result(syclamp_inspector inspector, syclamp_inspection* result) {
  return guarded(__func__, [&] {
    const auto object = get<inspector_object>(inspector);
    const size_t size = checked_size(result, "result");
    const call_order order{object->list->engine.get()};
    write_struct(result, from_inspection(object->inspector.result()), size);
  });
}

syclamp_status syclamp_inspector_tensor(syclamp_inspector inspector, uint64_t index, syclamp_inspection* result) {
  return guarded(__func__, [&] {
    const auto object = get<inspector_object>(inspector);
    const call_order order{object->list->engine.get()};
    write_result(object->inspector.tensors(), index, "tensor", result);
  });
}

syclamp_status syclamp_inspector_tensors(syclamp_inspector inspector, syclamp_inspection* results, size_t count) {
  return guarded(__func__, [&] {
    const auto object = get<inspector_object>(inspector);
    const call_order order{object->list->engine.get()};
    const std::vector<syclamp::inspection> found = object->inspector.tensors();
    if (count != found.size())
      throw syclamp::invalid_argument(fmt::format(
          "the argument count is {}, but the list has {} tensors; pass one result per tensor", count, found.size()));
    if (count == 0) return;
    const size_t size = checked_size(results, "results");
    for (size_t i = 0; i < count; ++i) write_struct(element(results, i, size), from_inspection(found[i]), size);
  });
}

syclamp_status syclamp_inspector_group(syclamp_inspector inspector, uint32_t index, syclamp_inspection* result) {
  return guarded(__func__, [&] {
    const auto object = get<inspector_object>(inspector);
    const call_order order{object->list->engine.get()};
    write_result(object->inspector.groups(), index, "group", result);
  });
}

syclamp_status syclamp_inspector_histogram(syclamp_inspector inspector, uint64_t counts[256]) {
  return guarded(__func__, [&] {
    const auto object = get<inspector_object>(inspector);
    need(counts, "counts");
    const call_order order{object->list->engine.get()};
    const syclamp::exponent_histogram histogram = object->inspector.histogram();
    static_assert(syclamp::exponent_histogram::size == 256);
    std::copy(std::begin(histogram.counts), std::end(histogram.counts), counts);
  });
}

syclamp_status syclamp_inspector_device_results(syclamp_inspector inspector, const syclamp_device_inspection** whole,
                                                const syclamp_device_inspection** tensors,
                                                const syclamp_device_inspection** groups, const uint64_t** histogram) {
  return guarded(__func__, [&] {
    const auto object = get<inspector_object>(inspector);
    const auto cast = [](const syclamp::inspection* results) {
      return reinterpret_cast<const syclamp_device_inspection*>(results);
    };
    const syclamp::exponent_histogram* counts = object->inspector.device_histogram();
    if (whole != nullptr) *whole = cast(object->inspector.device_result());
    if (tensors != nullptr) *tensors = cast(object->inspector.device_tensors());
    if (groups != nullptr) *groups = cast(object->inspector.device_groups());
    if (histogram != nullptr) *histogram = counts == nullptr ? nullptr : reinterpret_cast<const uint64_t*>(counts);
  });
}

syclamp_status syclamp_inspector_list(syclamp_inspector inspector, syclamp_tensor_list* list) {
  return guarded(__func__, [&] {
    const auto object = get<inspector_object>(inspector);
    need(list, "list");
    *list = make_handle<syclamp_tensor_list>(object->list);
  });
}

syclamp_status syclamp_inspect(syclamp_engine engine, const void* address, uint64_t count, syclamp_element_type type,
                               syclamp_inspection* result) {
  return guarded(__func__, [&] {
    const auto object = get<engine_object>(engine);
    const size_t size = checked_size(result, "result");
    if (count != 0) need(address, "address");
    const syclamp::element_type format = to_element_type(type, "the argument type");
    const call_order order{object.get()};
    const block_owner owner = find_block(*object, address, count, format, "address");
    const syclamp::const_array_view elements(address, count, format);
    write_struct(result, from_inspection(syclamp::inspect(object->engine, elements)), size);
  });
}

syclamp_status syclamp_inspection_headroom(const syclamp_inspection* inspection, double amax_limit, double* headroom) {
  return guarded(__func__, [&] {
    const syclamp_inspection given = read_struct(inspection, "inspection");
    need(headroom, "headroom");
    *headroom = given.headroom + std::log2(amax_limit / 65504.0);
  });
}
