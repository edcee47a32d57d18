// SPDX-License-Identifier: Apache-2.0
// Instructions that compute, as the PTX ISA defines them. An instruction that is not in the table is refused: a
// modifier such as .ftz or .sat is never ignored.
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <type_traits>

#include "tools/emulator/lanes.hpp"
#include "tools/emulator/machine.hpp"
#include "tools/emulator/program.hpp"

namespace emulator {
namespace {

/// An instruction with one result of type `Result`, computed by `Function` from operands of the types `Args`.
template <auto Function, typename Result, typename... Args>
struct computed {
  static void run(warp& self, const instruction& what, lane_mask active) {
    run_with(self, what, active, std::index_sequence_for<Args...>{});
  }

 private:
  template <std::size_t... I>
  static void run_with(warp& self, const instruction& what, lane_mask active, std::index_sequence<I...>) {
    u64* result = self.values(what.writes[0]);
    const u64* operands[] = {self.values(what.reads[I])...};
    for_lanes(active,
              [&](u32 lane) { result[lane] = to_bits<Result>(Function(from_bits<Args>(operands[I][lane])...)); });
  }
};

template <typename T>
T shift_left(T value, u32 by) {
  return by >= sizeof(T) * 8 ? T{0} : static_cast<T>(value << by);
}
template <typename T>
T shift_right(T value, u32 by) {
  if (by >= sizeof(T) * 8) return value < 0 ? static_cast<T>(-1) : T{0};
  return static_cast<T>(value >> by);
}
template <typename T>
T extracted(T value, u32 position, u32 length) {
  position &= 255;
  length &= 255;
  if (length == 0 || position >= sizeof(T) * 8) return 0;
  value >>= position;
  return length >= sizeof(T) * 8 ? value : static_cast<T>(value & ((T{1} << length) - 1));
}
u64 upper_half(u64 a, u64 b) {
  const u64 low = (a & 0xffffffff) * (b & 0xffffffff), middle = (a >> 32) * (b & 0xffffffff) + (low >> 32);
  const u64 other = (a & 0xffffffff) * (b >> 32) + (middle & 0xffffffff);
  return (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32);
}
u32 inserted(u32 what, u32 into, u32 position, u32 length) {
  position &= 255;
  length &= 255;
  if (position > 31) return into;
  const u32 field = (length > 31 ? ~u32{0} : (u32{1} << length) - 1) << position;
  return (what << position & field) | (into & ~field);
}
u32 permuted(u32 low, u32 high, u32 selector) {
  const u64 both = u64{high} << 32 | low;
  u32 result = 0;
  for (int i = 0; i < 4; ++i) {
    const u32 choice = selector >> (4 * i) & 15;
    u32 byte = static_cast<u32>(both >> (8 * (choice & 7)) & 255);
    if ((choice & 8) != 0) byte = (byte & 128) != 0 ? 255 : 0;
    result |= byte << (8 * i);
  }
  return result;
}
template <typename T>
T truncated(f32 value) {
  if (std::isnan(value)) return 0;
  if (value <= static_cast<f32>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  if (value >= static_cast<f32>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  return static_cast<T>(value);
}
/// -0 is less than +0, and a NaN yields the other operand.
f32 larger(f32 a, f32 b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? b : a;
  return a == b ? (std::signbit(a) ? b : a) : (a > b ? a : b);
}
f32 smaller(f32 a, f32 b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? b : a;
  return a == b ? (std::signbit(a) ? a : b) : (a < b ? a : b);
}

using table = std::map<std::string, executor, std::less<>>;

/// Unsigned arithmetic stands for signed where the bits are the same: signed overflow wraps around.
template <typename U, typename S>
void add_integers(table& t, const std::string& bits) {
  for (const char* sign : {".u", ".s"}) {
    t["add" + (sign + bits)] = computed<[](U a, U b) { return static_cast<U>(a + b); }, U, U, U>::run;
    t["sub" + (sign + bits)] = computed<[](U a, U b) { return static_cast<U>(a - b); }, U, U, U>::run;
    t["mul.lo" + (sign + bits)] = computed<[](U a, U b) { return static_cast<U>(u64{a} * b); }, U, U, U>::run;
    t["mad.lo" + (sign + bits)] =
        computed<[](U a, U b, U c) { return static_cast<U>(u64{a} * b + c); }, U, U, U, U>::run;
  }
  t["neg.s" + bits] = computed<[](U a) { return static_cast<U>(U{0} - a); }, U, U>::run;
  t["abs.s" + bits] =
      computed<[](S a) { return static_cast<U>(a < 0 ? U{0} - static_cast<U>(a) : static_cast<U>(a)); }, U, S>::run;
  t["min.u" + bits] = computed<[](U a, U b) { return a < b ? a : b; }, U, U, U>::run;
  t["max.u" + bits] = computed<[](U a, U b) { return b < a ? a : b; }, U, U, U>::run;
  t["min.s" + bits] = computed<[](S a, S b) { return a < b ? a : b; }, S, S, S>::run;
  t["max.s" + bits] = computed<[](S a, S b) { return b < a ? a : b; }, S, S, S>::run;
  // What a division by zero yields is unspecified; all ones is what GPUs return.
  t["div.u" + bits] =
      computed<[](U a, U b) { return b == 0 ? static_cast<U>(~U{0}) : static_cast<U>(a / b); }, U, U, U>::run;
  t["rem.u" + bits] = computed<[](U a, U b) { return b == 0 ? a : static_cast<U>(a % b); }, U, U, U>::run;
  t["and.b" + bits] = computed<[](U a, U b) { return static_cast<U>(a & b); }, U, U, U>::run;
  t["or.b" + bits] = computed<[](U a, U b) { return static_cast<U>(a | b); }, U, U, U>::run;
  t["xor.b" + bits] = computed<[](U a, U b) { return static_cast<U>(a ^ b); }, U, U, U>::run;
  t["not.b" + bits] = computed<[](U a) { return static_cast<U>(~a); }, U, U>::run;
  t["shl.b" + bits] = computed<shift_left<U>, U, U, u32>::run;
  t["shr.u" + bits] = t["shr.b" + bits] = computed<shift_right<U>, U, U, u32>::run;
  t["shr.s" + bits] = computed<shift_right<S>, S, S, u32>::run;
  for (const char* sign : {".u", ".s", ".b", ".f"}) {
    t["mov" + (sign + bits)] = computed<[](U a) { return a; }, U, U>::run;
    t["selp" + (sign + bits)] = computed<[](U a, U b, bool first) { return first ? a : b; }, U, U, U, bool>::run;
  }
}

template <typename T>
void add_comparisons(table& t, const std::string& type) {
  const auto key = [&](const char* relation) { return std::string("setp.") + relation + "." + type; };
  t[key("eq")] = computed<[](T a, T b) { return a == b; }, bool, T, T>::run;
  t[key("lt")] = t[key("lo")] = computed<[](T a, T b) { return a < b; }, bool, T, T>::run;
  t[key("le")] = t[key("ls")] = computed<[](T a, T b) { return a <= b; }, bool, T, T>::run;
  t[key("gt")] = t[key("hi")] = computed<[](T a, T b) { return b < a; }, bool, T, T>::run;
  t[key("ge")] = t[key("hs")] = computed<[](T a, T b) { return b <= a; }, bool, T, T>::run;
  if constexpr (std::is_same_v<T, f32>) {  // with a u: also true if an operand is NaN
    t[key("ne")] = computed<[](T a, T b) { return a < b || b < a; }, bool, T, T>::run;
    t[key("equ")] = computed<[](T a, T b) { return !(a < b || b < a); }, bool, T, T>::run;
    t[key("neu")] = computed<[](T a, T b) { return a != b; }, bool, T, T>::run;
    t[key("ltu")] = computed<[](T a, T b) { return !(b <= a); }, bool, T, T>::run;
    t[key("leu")] = computed<[](T a, T b) { return !(b < a); }, bool, T, T>::run;
    t[key("gtu")] = computed<[](T a, T b) { return !(a <= b); }, bool, T, T>::run;
    t[key("geu")] = computed<[](T a, T b) { return !(a < b); }, bool, T, T>::run;
    t[key("nan")] = computed<[](T a, T b) { return std::isnan(a) || std::isnan(b); }, bool, T, T>::run;
    t[key("num")] = computed<[](T a, T b) { return !std::isnan(a) && !std::isnan(b); }, bool, T, T>::run;
  } else {
    t[key("ne")] = computed<[](T a, T b) { return a != b; }, bool, T, T>::run;
  }
}

/// From each type in turn to `To`; a register that is wider than `To` gets zeros or signs.
template <typename To, typename Wide, typename... From>
void add_integer_conversions(table& t, const std::string& to, std::initializer_list<const char*> from) {
  const char* const* name = from.begin();
  ((t["cvt." + to + "." + *name++] =
        computed<[](From a) { return static_cast<Wide>(static_cast<To>(a)); }, Wide, From>::run),
   ...);
}

template <typename From>
void add_float_conversions(table& t, const std::string& from) {
  t["cvt.rn.f32." + from] = computed<[](From a) { return static_cast<f32>(a); }, f32, From>::run;
  t["cvt.rzi." + from + ".f32"] = computed<truncated<From>, From, f32>::run;
}

void add_floats(table& t) {
  t["add.rn.f32"] = t["add.f32"] = computed<[](f32 a, f32 b) { return a + b; }, f32, f32, f32>::run;
  t["sub.rn.f32"] = t["sub.f32"] = computed<[](f32 a, f32 b) { return a - b; }, f32, f32, f32>::run;
  t["mul.rn.f32"] = t["mul.f32"] = computed<[](f32 a, f32 b) { return a * b; }, f32, f32, f32>::run;
  t["div.rn.f32"] = computed<[](f32 a, f32 b) { return a / b; }, f32, f32, f32>::run;
  t["fma.rn.f32"] = computed<[](f32 a, f32 b, f32 c) { return std::fma(a, b, c); }, f32, f32, f32, f32>::run;
  t["rcp.rn.f32"] = computed<[](f32 a) { return 1.0f / a; }, f32, f32>::run;
  t["sqrt.rn.f32"] = computed<[](f32 a) { return std::sqrt(a); }, f32, f32>::run;
  t["neg.f32"] = computed<[](u32 a) { return a ^ 0x80000000u; }, u32, u32>::run;
  t["abs.f32"] = computed<[](u32 a) { return a & 0x7fffffffu; }, u32, u32>::run;
  t["min.f32"] = computed<smaller, f32, f32, f32>::run;
  t["max.f32"] = computed<larger, f32, f32, f32>::run;
  t["cvt.f32.f16"] = computed<[](f16 a) { return static_cast<f32>(a); }, f32, f16>::run;
  t["cvt.rn.f16x2.f32"] = computed<[](f32 high, f32 low) {
    return static_cast<u32>(to_bits(static_cast<f16>(high)) << 16 | to_bits(static_cast<f16>(low)));
  },
                                   u32, f32, f32>::run;
  t["cvt.rn.f16.f32"] = computed<[](f32 a) { return static_cast<f16>(a); }, f16, f32>::run;
}

table make_table() {
  table t;
  add_integers<u16, s16>(t, "16");
  add_integers<u32, s32>(t, "32");
  add_integers<u64, s64>(t, "64");
  add_floats(t);
  add_comparisons<u16>(t, "b16"), add_comparisons<u16>(t, "u16"), add_comparisons<s16>(t, "s16");
  add_comparisons<u32>(t, "b32"), add_comparisons<u32>(t, "u32"), add_comparisons<s32>(t, "s32");
  add_comparisons<u64>(t, "b64"), add_comparisons<u64>(t, "u64"), add_comparisons<s64>(t, "s64");
  add_comparisons<f32>(t, "f32");
  const auto names = {"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"};
  add_integer_conversions<u8, u64, u8, s8, u16, s16, u32, s32, u64, s64>(t, "u8", names);
  add_integer_conversions<s8, s64, u8, s8, u16, s16, u32, s32, u64, s64>(t, "s8", names);
  add_integer_conversions<u16, u64, u8, s8, u16, s16, u32, s32, u64, s64>(t, "u16", names);
  add_integer_conversions<s16, s64, u8, s8, u16, s16, u32, s32, u64, s64>(t, "s16", names);
  add_integer_conversions<u32, u64, u8, s8, u16, s16, u32, s32, u64, s64>(t, "u32", names);
  add_integer_conversions<s32, s64, u8, s8, u16, s16, u32, s32, u64, s64>(t, "s32", names);
  add_integer_conversions<u64, u64, u8, s8, u16, s16, u32, s32, u64, s64>(t, "u64", names);
  add_integer_conversions<s64, s64, u8, s8, u16, s16, u32, s32, u64, s64>(t, "s64", names);
  add_float_conversions<u32>(t, "u32"), add_float_conversions<s32>(t, "s32");
  add_float_conversions<u64>(t, "u64"), add_float_conversions<s64>(t, "s64");

  t["mul.wide.u16"] = computed<[](u16 a, u16 b) { return u32{a} * b; }, u32, u16, u16>::run;
  t["mul.wide.s16"] = computed<[](s16 a, s16 b) { return s32{a} * b; }, s32, s16, s16>::run;
  t["mul.wide.u32"] = computed<[](u32 a, u32 b) { return u64{a} * b; }, u64, u32, u32>::run;
  t["mul.wide.s32"] = computed<[](s32 a, s32 b) { return s64{a} * b; }, s64, s32, s32>::run;
  t["mad.wide.u32"] = computed<[](u32 a, u32 b, u64 c) { return u64{a} * b + c; }, u64, u32, u32, u64>::run;
  t["mul.hi.u32"] = computed<[](u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); }, u32, u32, u32>::run;
  t["mul.hi.u64"] = computed<upper_half, u64, u64, u64>::run;
  t["shf.l.wrap.b32"] =
      computed<[](u32 low, u32 high, u32 by) { return static_cast<u32>((u64{high} << 32 | low) << (by & 31) >> 32); },
               u32, u32, u32, u32>::run;
  t["shf.r.wrap.b32"] =
      computed<[](u32 low, u32 high, u32 by) { return static_cast<u32>((u64{high} << 32 | low) >> (by & 31)); }, u32,
               u32, u32, u32>::run;
  t["bfe.u32"] = computed<extracted<u32>, u32, u32, u32, u32>::run;
  t["bfe.u64"] = computed<extracted<u64>, u64, u64, u32, u32>::run;
  t["bfi.b32"] = computed<inserted, u32, u32, u32, u32, u32>::run;
  t["prmt.b32"] = computed<permuted, u32, u32, u32, u32>::run;
  t["clz.b32"] = computed<[](u32 a) { return static_cast<u32>(std::countl_zero(a)); }, u32, u32>::run;
  t["clz.b64"] = computed<[](u64 a) { return static_cast<u32>(std::countl_zero(a)); }, u32, u64>::run;
  t["popc.b32"] = computed<[](u32 a) { return static_cast<u32>(std::popcount(a)); }, u32, u32>::run;
  t["mov.pred"] = computed<[](bool a) { return a; }, bool, bool>::run;
  t["not.pred"] = computed<[](bool a) { return !a; }, bool, bool>::run;
  t["and.pred"] = computed<[](bool a, bool b) { return a && b; }, bool, bool, bool>::run;
  t["or.pred"] = computed<[](bool a, bool b) { return a || b; }, bool, bool, bool>::run;
  t["xor.pred"] = computed<[](bool a, bool b) { return a != b; }, bool, bool, bool>::run;

  // Addresses. The same numbers are generic and global addresses.
  t["cvta.global.u64"] = t["cvta.to.global.u64"] = computed<[](u64 a) { return a; }, u64, u64>::run;
  t["cvta.shared.u64"] = computed<[](u64 a) { return a + shared_window; }, u64, u64>::run;
  t["cvta.to.shared.u64"] = computed<[](u64 a) { return a - shared_window; }, u64, u64>::run;
  t["cvta.local.u64"] = computed<[](u64 a) { return a + local_window; }, u64, u64>::run;
  t["cvta.to.local.u64"] = computed<[](u64 a) { return a - local_window; }, u64, u64>::run;
  constexpr u64 window_bytes = u64{1} << 32;
  t["isspacep.shared"] = computed<[](u64 a) { return a - shared_window < window_bytes; }, bool, u64>::run;
  t["isspacep.local"] = computed<[](u64 a) { return a - local_window < window_bytes; }, bool, u64>::run;
  t["isspacep.global"] = computed<[](u64 a) { return a < shared_window; }, bool, u64>::run;
  return t;
}

}  // namespace

void pack(warp& self, const instruction& what, lane_mask active) {
  const u32 bits = what.bytes * 8u;
  for_lanes(active, [&](u32 lane) {
    u64 whole = 0;
    for (u32 i = 0; i < what.reads.size(); ++i)
      whole |= (self.values(what.reads[i])[lane] & ((u64{1} << bits) - 1)) << (i * bits);
    self.values(what.writes[0])[lane] = whole;
  });
}

void unpack(warp& self, const instruction& what, lane_mask active) {
  const u32 bits = what.bytes * 8u;
  for_lanes(active, [&](u32 lane) {
    const u64 whole = self.values(what.reads[0])[lane];
    for (u32 i = 0; i < what.writes.size(); ++i)
      self.values(what.writes[i])[lane] = whole >> (i * bits) & ((u64{1} << bits) - 1);
  });
}

executor find_arithmetic(std::string_view name) {
  static const table all = make_table();
  const auto found = all.find(name);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace emulator
