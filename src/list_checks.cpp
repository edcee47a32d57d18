// SPDX-License-Identifier: Apache-2.0
#include "list_checks.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "syclamp/error.hpp"
#include "tensor_table.hpp"

namespace syclamp {
namespace {

/// The addresses that a tensor occupies, the end not included.
struct extent {
  std::uintptr_t begin, end;
  std::size_t tensor;
  bool is_output;

  extent(const array_view& of, std::size_t index, bool output)
      : begin(reinterpret_cast<std::uintptr_t>(of.data())),
        end(begin + of.count() * size_of(of.type())),
        tensor(index),
        is_output(output) {}
};

bool has_place(const array_view& tensor) { return tensor.data() != nullptr && tensor.count() != 0; }

void check_sizes(const char* operation, const tensor_list& in, const tensor_list& out) {
  if (in.on().queue() != out.on().queue())
    throw invalid_argument(
        fmt::format("{}: the lists belong to different queues; make both with the same engine", operation));
  if (in.size() != out.size())
    throw invalid_argument(
        fmt::format("{}: the lists have {} and {} tensors; they must have the same", operation, in.size(), out.size()));
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (in[i].count() != out[i].count())
      throw invalid_argument(fmt::format("{}: {} has {} elements in one list and {} in the other", operation,
                                         described(in, i), in[i].count(), out[i].count()));
    if (out[i].type() == element_type::float64)
      throw invalid_argument(
          fmt::format("{}: {} is float64, which can be read but not written; make the output float32", operation,
                      described(out, i)));
  }
}

/// Sorted by address, anything that overlaps follows what it overlaps.
void check_overlaps(const char* operation, const tensor_list& in, const tensor_list& out) {
  static thread_local std::vector<extent> all;  // kept, so that a step with other addresses allocates nothing
  all.clear();
  all.reserve(in.size() + out.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    const array_view from = in[i], to = out[i];
    if (!has_place(from) || !has_place(to)) continue;  // left out by the operation
    all.emplace_back(to, i, true);
    const bool in_place = from.data() == to.data() && from.type() == to.type();
    if (!in_place) all.emplace_back(from, i, false);
  }
  std::sort(all.begin(), all.end(), [](const extent& a, const extent& b) { return a.begin < b.begin; });
  const extent *input = nullptr, *output = nullptr;  // of those so far, the ones that reach farthest
  for (const extent& one : all) {
    const extent* hit = output != nullptr && one.begin < output->end                  ? output
                        : one.is_output && input != nullptr && one.begin < input->end ? input
                                                                                      : nullptr;
    if (hit != nullptr) {
      const extent &written = one.is_output ? one : *hit, &other = one.is_output ? *hit : one;
      throw invalid_argument(
          fmt::format("{}: the output {} overlaps the {} {}; use separate memory, or the very same with the same type",
                      operation, described(out, written.tensor), other.is_output ? "output" : "input",
                      described(other.is_output ? out : in, other.tensor)));
    }
    const extent*& farthest = one.is_output ? output : input;
    if (farthest == nullptr || one.end > farthest->end) farthest = &one;
  }
}

}  // namespace

std::string described(std::size_t index, const std::string& name) {
  return name.empty() ? fmt::format("tensor {}", index) : fmt::format("tensor {} (\"{}\")", index, name);
}

std::string described(const tensor_list& list, std::size_t index) { return described(index, list.name(index)); }

void check_pair(const char* operation, const tensor_list& in, const tensor_list& out) {
  constexpr std::size_t remembered = 8;
  const auto &from = in.prepared(), &to = out.prepared();
  const auto known = std::find_if(to.fits.begin(), to.fits.end(), [&](const auto& fit) {
    return fit.other_id == from.id && fit.other_version == from.version && fit.version == to.version;
  });
  if (known != to.fits.end()) return;
  check_sizes(operation, in, out);
  check_overlaps(operation, in, out);
  std::erase_if(to.fits, [&](const auto& fit) { return fit.other_id == from.id || fit.version != to.version; });
  if (to.fits.size() == remembered) to.fits.erase(to.fits.begin());
  to.fits.reserve(remembered);
  to.fits.push_back({from.id, from.version, to.version});
}

void check_float32(const char* operation, const tensor_list& list, const char* remedy) {
  if (list.is_all(element_type::float32)) return;
  for (std::size_t i = 0; i < list.size(); ++i)
    if (list[i].type() != element_type::float32)
      throw invalid_argument(fmt::format("{}: {} is {}, but must be float32; {}", operation, described(list, i),
                                         name_of(list[i].type()), remedy));
}

void check_unscaling(const tensor_list& in, const tensor_list& out) {
  check_pair("unscale", in, out);
  check_float32("unscale", out, "unscaled gradients vanish in 16 bits; give it an FP32 shadow, or use unscale_lossy");
}

void check_given(const char* operation, const char* parameter, const void* pointer) {
  if (pointer == nullptr)
    throw invalid_argument(fmt::format("{}: {} is null; give it an address in device memory", operation, parameter));
}

}  // namespace syclamp
