// SPDX-License-Identifier: Apache-2.0
// wmma: products of matrices by all lanes of a warp. Which lane holds which element is up to the hardware, so a kernel
// must not depend on it. Here lane l holds elements 8 l to 8 l + 7 of a 16 × 16 matrix: FP16 twice in 8 registers, BF16
// once in 4.
#include <map>
#include <string>

#include <fmt/format.h>

#include "tools/emulator/lanes.hpp"
#include "tools/emulator/memory.hpp"

namespace emulator {
namespace {

constexpr u32 side = 16, elements = side * side, per_lane = elements / warp_size;

void need_whole_warp(warp& self, const instruction& what, lane_mask active) {
  if (active != ~lane_mask{0})
    self.fail(fault_kind::wrong_warp, what, 0, "not all lanes of the warp take part in a matrix instruction");
}

/// The address of each element. All lanes must agree on the matrix.
template <typename T>
struct matrix_in_memory {
  matrix_in_memory(warp& self, const instruction& what) : layout(what.layout) {
    base = self.values(what.reads[0])[0] + static_cast<u64>(what.offset);
    stride = static_cast<u32>(self.values(what.reads[1])[0]);
    for (u32 lane = 1; lane < warp_size; ++lane)
      if (self.values(what.reads[0])[lane] + static_cast<u64>(what.offset) != base ||
          static_cast<u32>(self.values(what.reads[1])[lane]) != stride)
        self.fail(fault_kind::wrong_warp, what, lane, "lanes of a warp name different matrices");
    if (base % 32 != 0 || stride * sizeof(T) % 16 != 0)
      self.fail(
          fault_kind::alignment, what, 0,
          "a matrix must begin at a multiple of 32 bytes, with rows that are a multiple of 16 bytes apart; the rows "
          "are " +
              std::to_string(stride * sizeof(T)) + " bytes apart");
  }
  u64 address(u32 index) const {
    const u32 row = index / side, column = index % side;
    const u64 position = layout == matrix_layout::row ? u64{row} * stride + column : u64{column} * stride + row;
    return base + position * sizeof(T);
  }
  u64 base;
  u32 stride;
  matrix_layout layout;
};

/// For the statistics: a warp moves 16 bytes per lane at a time, as the rows lie in memory.
template <typename T>
void count_matrix(warp& self, const instruction& what, const matrix_in_memory<T>& matrix) {
  constexpr u32 per_access = 16 / sizeof(T), accesses = elements / per_access;
  u64 addresses[warp_size];
  for (u32 first = 0; first < accesses; first += warp_size) {
    for (u32 lane = 0; lane < warp_size; ++lane) {
      const u32 index = (first + lane) * per_access, row = index / side, column = index % side;
      addresses[lane] = matrix.base + (u64{row} * matrix.stride + column) * sizeof(T);
    }
    count_access(self, what, {addresses, ~lane_mask{0}, 16});
  }
}

f32 widen_fp16(u16 bits) { return static_cast<f32>(from_bits<f16>(bits)); }
f32 widen_bf16(u16 bits) { return from_bits<f32>(u64{bits} << 16); }

/// Two numbers of 16 bits are in a register.
template <u32 Registers>
void load_halves(warp& self, const instruction& what, lane_mask active) {
  need_whole_warp(self, what, active);
  const matrix_in_memory<u16> matrix(self, what);
  count_matrix(self, what, matrix);
  for (u32 lane = 0; lane < warp_size; ++lane) {
    u16 values[per_lane];
    for (u32 i = 0; i < per_lane; ++i)
      std::memcpy(&values[i],
                  checked_memory(self, what, lane, matrix.address(lane * per_lane + i), 2, 2, access_kind::read), 2);
    for (u32 i = 0; i < Registers; ++i)
      self.values(what.writes[i])[lane] = values[2 * i % per_lane] | u32{values[(2 * i + 1) % per_lane]} << 16;
  }
}

void load_floats(warp& self, const instruction& what, lane_mask active) {
  need_whole_warp(self, what, active);
  const matrix_in_memory<u32> matrix(self, what);
  count_matrix(self, what, matrix);
  for (u32 lane = 0; lane < warp_size; ++lane)
    for (u32 i = 0; i < per_lane; ++i) {
      u32 value = 0;
      std::memcpy(&value,
                  checked_memory(self, what, lane, matrix.address(lane * per_lane + i), 4, 4, access_kind::read), 4);
      self.values(what.writes[i])[lane] = value;
    }
}

void store_floats(warp& self, const instruction& what, lane_mask active) {
  need_whole_warp(self, what, active);
  const matrix_in_memory<u32> matrix(self, what);
  count_matrix(self, what, matrix);
  for (u32 lane = 0; lane < warp_size; ++lane)
    for (u32 i = 0; i < per_lane; ++i)
      std::memcpy(checked_memory(self, what, lane, matrix.address(lane * per_lane + i), 4, 4, access_kind::write),
                  &self.values(what.reads[2 + i])[lane], 4);
}

u16 half_element(warp& self, const instruction& what, u32 first, u32 index) {
  const u64 pair = self.values(what.reads[first + index % per_lane / 2])[index / per_lane];
  return static_cast<u16>(index % 2 == 0 ? pair : pair >> 16);
}

/// Products of 16-bit numbers are exact in FP32. The order of the sum is not defined; here it is that of the inner
/// dimension.
template <f32 (*Widen)(u16), u32 Registers>
void multiply(warp& self, const instruction& what, lane_mask active) {
  need_whole_warp(self, what, active);
  f32 a[elements], b[elements], sums[elements];
  for (u32 i = 0; i < elements; ++i) {
    a[i] = Widen(half_element(self, what, 0, i));
    b[i] = Widen(half_element(self, what, Registers, i));
    sums[i] = from_bits<f32>(self.values(what.reads[2 * Registers + i % per_lane])[i / per_lane]);
  }
  for (u32 row = 0; row < side; ++row)
    for (u32 inner = 0; inner < side; ++inner)
      for (u32 column = 0; column < side; ++column)
        sums[row * side + column] += a[row * side + inner] * b[inner * side + column];
  for (u32 i = 0; i < elements; ++i) self.values(what.writes[i % per_lane])[i / per_lane] = to_bits(sums[i]);
}

}  // namespace

executor find_matrix(std::string_view name) {
  static const auto table = [] {
    std::map<std::string, executor, std::less<>> all;
    for (const char* space : {"", ".global", ".shared"})
      for (const char* layout : {"row", "col"}) {
        for (const char* matrix : {"a", "b"}) {
          const auto name = fmt::format("wmma.load.{}.sync.aligned.{}.m16n16k16{}.", matrix, layout, space);
          all[name + "f16"] = load_halves<8>;
          all[name + "bf16"] = load_halves<4>;
        }
        all[fmt::format("wmma.load.c.sync.aligned.{}.m16n16k16{}.f32", layout, space)] = load_floats;
        all[fmt::format("wmma.store.d.sync.aligned.{}.m16n16k16{}.f32", layout, space)] = store_floats;
        for (const char* other : {"row", "col"}) {
          const auto name = fmt::format("wmma.mma.sync.aligned.{}.{}.m16n16k16.f32.", layout, other);
          all[name + "f32"] = multiply<widen_fp16, 8>;
          all[name + "bf16.bf16.f32"] = multiply<widen_bf16, 4>;
        }
      }
    return all;
  }();
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace emulator
