// SPDX-License-Identifier: Apache-2.0
#include "syclamp/gradients.hpp"

#include <fmt/format.h>

#include "launch/kernel_library.hpp"
#include "launch/operations.hpp"
#include "syclamp/error.hpp"
#include "tensor_table.hpp"

namespace syclamp {
namespace {

using kernels::factor_kind;

/// Half-open range of addresses that a tensor occupies.
struct extent {
  std::uintptr_t begin, end;

  explicit extent(const array_view& of)
      : begin(reinterpret_cast<std::uintptr_t>(of.data())), end(begin + of.count() * size_of(of.type())) {}
};

void check_pair(const char* operation, const tensor_list& in, const tensor_list& out) {
  if (&in.on().queue() != &out.on().queue() && in.on().queue() != out.on().queue())
    throw invalid_argument(
        fmt::format("{}: the lists belong to different queues; make both with the same engine", operation));
  if (in.size() != out.size())
    throw invalid_argument(
        fmt::format("{}: the lists have {} and {} tensors; they must have the same", operation, in.size(), out.size()));
  for (std::size_t i = 0; i < in.size(); ++i) {
    const array_view a = in[i], b = out[i];
    if (a.count() != b.count())
      throw invalid_argument(fmt::format("{}: tensor {} (\"{}\") has {} elements in one list and {} in the other",
                                         operation, i, in.name(i), a.count(), b.count()));
    if (a.data() == nullptr || b.data() == nullptr || a.count() == 0) continue;
    const extent x(a), y(b);
    const bool same = x.begin == y.begin && a.type() == b.type();
    if (!same && x.begin < y.end && y.begin < x.end)
      throw invalid_argument(
          fmt::format("{}: tensor {} (\"{}\") overlaps its output; use separate memory, or the very "
                      "same with the same type",
                      operation, i, in.name(i)));
  }
}

void need_fp32(const char* operation, const tensor_list& list, const char* remedy) {
  for (std::size_t i = 0; i < list.size(); ++i)
    if (list[i].type() != element_type::float32)
      throw invalid_argument(fmt::format("{}: tensor {} (\"{}\") is {}, but must be float32; {}", operation, i,
                                         list.name(i), name_of(list[i].type()), remedy));
}

sycl::event convert(const tensor_list& in, const tensor_list& out, const float* scalar, factor_kind kind,
                    bool accumulate = false, const inspection* skip_if_bad = nullptr) {
  const auto &from = in.prepared(), &to = out.prepared();
  launch::kernel_library& library = in.on().kernels();
  const auto groups = library.groups_for(launch::convert_list, from.chunks);
  if (groups == 0) return {};
  return library.submit(in.on().queue(), launch::convert_list, groups, from.addresses, from.kinds, to.addresses,
                        to.kinds, from.starts, from.tensors, scalar, kind, accumulate, skip_if_bad);
}

}  // namespace

sycl::event unscale(const tensor_list& in, const tensor_list& out, const float* scale) {
  check_pair("unscale", in, out);
  need_fp32("unscale", out, "unscaled gradients vanish in 16 bits; give it an FP32 shadow, or use unscale_lossy");
  return convert(in, out, scale, factor_kind::divide);
}

sycl::event unscale_lossy(const tensor_list& in, const tensor_list& out, const float* scale) {
  check_pair("unscale_lossy", in, out);
  return convert(in, out, scale, factor_kind::divide);
}

sycl::event scale(const tensor_list& in, const tensor_list& out, const float* factor) {
  check_pair("scale", in, out);
  return convert(in, out, factor, factor_kind::multiply);
}

sycl::event cast(const tensor_list& in, const tensor_list& out) {
  check_pair("cast", in, out);
  return convert(in, out, nullptr, factor_kind::one);
}

sycl::event accumulate(const tensor_list& in, const tensor_list& sum, const float* scale,
                       const inspection* unless_bad) {
  check_pair("accumulate", in, sum);
  need_fp32("accumulate", sum, "sums of many small gradients need FP32");
  return convert(in, sum, scale, factor_kind::divide, true, unless_bad);
}

sycl::event clear(const tensor_list& list, const inspection* only_if_bad) {
  const auto& table = list.prepared();
  launch::kernel_library& library = list.on().kernels();
  const auto groups = library.groups_for(launch::clear_list, table.chunks);
  if (groups == 0) return {};
  return library.submit(list.on().queue(), launch::clear_list, groups, table.addresses, table.starts, table.kinds,
                        table.tensors, only_if_bad);
}

sycl::event clip_coefficient(const engine& on, const inspection* seen, const float* scale, const float* max_norm,
                             clip_result* result) {
  return on.kernels().submit(on.queue(), launch::clip_coefficient, 1, seen, scale, max_norm, result);
}

sycl::event clip(const tensor_list& gradients, const clip_result* by) {
  need_fp32("clip", gradients, "unscale it to FP32 first");
  return convert(gradients, gradients, &by->coefficient, factor_kind::multiply);
}

}  // namespace syclamp
