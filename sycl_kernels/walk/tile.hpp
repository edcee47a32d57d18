// SPDX-License-Identifier: Apache-2.0
// Products of matrices, tile by tile. Each work-group makes one tile of C:
//
//   for each step of the inner dimension:
//     stage      blocks of A and B → local memory, in the multiplier's layout; zeros beyond the edges
//     multiply   the multiplier adds their product to what it keeps
//   store        what the multiplier kept → local memory, FP32
//   finish       alpha, beta, bias, activation → C
//
// All indices, edges, types and transposes are dealt with here; a multiplier sees whole blocks in local memory only. So
// they are tested on any device with a plain multiplier, and are right with the one that uses matrix units.
#pragma once

#include "sycl_kernels/base/activation.hpp"
#include "sycl_kernels/base/format.hpp"
#include "sycl_kernels/base/global_memory.hpp"
#include "sycl_kernels/base/pack.hpp"
#include "sycl_kernels/base/work_group.hpp"
#include "sycl_kernels/shared/layout.hpp"
#include "sycl_kernels/walk/pack_walk.hpp"

namespace syclamp::kernels {

/// Calls `action(format<type>{})` for a type in which matrices are stored, and nothing for any other.
template <typename Action>
[[gnu::always_inline]] inline void with_matrix_format(element_type type, Action action) {
  with_format_among<matrix_types>(type, action);
}

/// None of `matrix_types`.
inline constexpr element_type no_type = static_cast<element_type>(~0u);

/// A matrix of a batch in memory. Rows and columns are those after transposing.
struct operand {
  const void* data;
  element_type type;
  std::uint64_t stride;
  bool transposed;
  std::uint32_t rows, columns;
};

/// Blocks as FP32.
struct as_float {
  using type = float;

  template <typename Action>
  [[gnu::always_inline]] static void with_format(element_type type, Action action) {
    with_matrix_format(type, action);
  }

  template <typename Format, unsigned Lanes>
  [[gnu::always_inline]] static pack<float, Lanes> convert(pack<typename Format::bits, Lanes> x) {
    return Format::template widen<Lanes>(x);
  }
};

/// Blocks as the 16 bits that they are: one code for FP16 and BF16.
struct as_bits {
  using type = std::uint16_t;

  template <typename Action>
  [[gnu::always_inline]] static void with_format(element_type type, Action action) {
    if (type == element_type::float16 || type == element_type::bfloat16) action(format<element_type::float16>{});
  }

  template <typename Format, unsigned Lanes>
  [[gnu::always_inline]] static pack<std::uint16_t, Lanes> convert(pack<typename Format::bits, Lanes> x) {
    return __builtin_convertvector(x, pack<std::uint16_t, Lanes>);
  }
};

/// Packs in blocks of local memory that are aligned to 16 bytes and have `Stride` elements between rows. GPUs access
/// them in parts of up to 16 bytes that are aligned in every row. CPUs, whose groups have one work-item, need no
/// alignment.
template <typename T, unsigned Lanes, unsigned Stride, unsigned GroupSize>
struct local_packs {
  /// `from` is a multiple of `Lanes` elements from the beginning of a row.
  [[gnu::always_inline]] static pack<T, Lanes> load(const T* from) {
    if constexpr (GroupSize == 1) {
      return load_pack<Lanes, false>(from, 0);
    } else {
      pack<T, Lanes> whole;
#pragma unroll
      for (unsigned i = 0; i < Lanes; i += part) {
        const auto loaded = load_pack<part, true>(from + i, 0);
#pragma unroll
        for (unsigned j = 0; j < part; ++j) whole[i + j] = loaded[j];
      }
      return whole;
    }
  }

  [[gnu::always_inline]] static void store(T* to, pack<T, Lanes> value) {
    if constexpr (GroupSize == 1) {
      store_pack<Lanes, false>(to, 0, value);
    } else {
#pragma unroll
      for (unsigned i = 0; i < Lanes; i += part) {
        pack<T, part> stored;
#pragma unroll
        for (unsigned j = 0; j < part; ++j) stored[j] = value[i + j];
        store_pack<part, true>(to + i, 0, stored);
      }
    }
  }

 private:
  static constexpr unsigned part = [] {
    unsigned lanes = 1;
    while (lanes < Lanes && 2 * lanes * sizeof(T) <= 16 && Stride % (2 * lanes) == 0) lanes *= 2;
    return lanes;
  }();
};

/// Copies a block of a matrix to local memory, row by row with `Stride` elements between rows, and zeros where the
/// matrix has ended. It is read by packs, along the rows (or, transposed, the columns) as they lie in memory.
///
/// A large work-group may do it in two steps: `fetch` loads into registers, `put` stores to local memory. What is done
/// between them hides the latency of the loads.
template <typename As, unsigned Rows, unsigned Columns, unsigned Stride, unsigned Lanes, unsigned GroupSize>
class stager {
 public:
  using staged = typename As::type;
  static constexpr unsigned packs = Rows * Columns / Lanes;  // of a block
  static_assert(Rows % Lanes == 0 || Rows == 1);
  static_assert(Columns % Lanes == 0);

  /// The packs that a work-item has loaded.
  struct fetched {
    static constexpr unsigned count = (packs + GroupSize - 1) / GroupSize;
    pack<staged, Lanes> values[count];
  };

  [[gnu::always_inline]] static void run(const work_item& item, const operand& from, std::uint32_t row,
                                         std::uint32_t column, staged* block) {
    with_layout(from, [&](auto format, auto transposed) __attribute__((always_inline)) {
      const source_block<decltype(format), transposed> source(from, row, column);
      for (std::uint32_t i = item.id; i < packs; i += GroupSize) put<transposed>(block, i, source.load(i));
    });
  }

  [[gnu::always_inline]] static void fetch(const work_item& item, const operand& from, std::uint32_t row,
                                           std::uint32_t column, fetched& loaded) {
    with_layout(from, [&](auto format, auto transposed) __attribute__((always_inline)) {
      const source_block<decltype(format), transposed> source(from, row, column);
#pragma unroll
      for (unsigned i = 0; i < fetched::count; ++i) loaded.values[i] = source.load(item.id + i * GroupSize);
    });
  }

  [[gnu::always_inline]] static void put(const work_item& item, const operand& from, const fetched& loaded,
                                         staged* block) {
    const auto put_all = [&](auto transposed) __attribute__((always_inline)) {
#pragma unroll
      for (unsigned i = 0; i < fetched::count; ++i)
        if (packs % GroupSize == 0 || item.id + i * GroupSize < packs)
          put<transposed>(block, item.id + i * GroupSize, loaded.values[i]);
    };
    if (from.transposed) {
      put_all(std::true_type{});
    } else {
      put_all(std::false_type{});
    }
  }

 private:
  /// Packs in a line, which is a row or column that is contiguous in memory. (A bias has one row and is never
  /// transposed.)
  template <bool Transposed>
  static constexpr std::uint32_t packs_across =
      (Transposed ? Rows : Columns) / Lanes != 0 ? (Transposed ? Rows : Columns) / Lanes : 1;

  /// Where the block lies in memory, and how much of it exists.
  template <typename Format, bool Transposed>
  class source_block {
   public:
    [[gnu::always_inline]] source_block(const operand& from, std::uint32_t row, std::uint32_t column)
        : stride_(from.stride),
          lines_(left(Transposed ? from.columns : from.rows, Transposed ? column : row)),
          places_(left(Transposed ? from.rows : from.columns, Transposed ? row : column)),
          start_(static_cast<const bits*>(from.data) + (Transposed ? column : row) * from.stride +
                 (Transposed ? row : column)),
          // Unaligned loads cost a CPU nothing; a GPU loads lane by lane then.
          has_whole_packs_(GroupSize == 1 ||
                           (reinterpret_cast<std::uintptr_t>(start_) % pack_bytes == 0 && stride_ % Lanes == 0)) {}

    /// Number `index` of the packs of the block.
    [[gnu::always_inline]] pack<staged, Lanes> load(std::uint32_t index) const {
      constexpr std::uint32_t across = packs_across<Transposed>;
      const std::uint32_t line = index / across, place = index % across * Lanes;
      const std::uint32_t count = line < lines_ && index < packs ? left(places_, place) : 0;
      const bits* from = start_ + line * stride_ + place;
      pack<bits, Lanes> raw = 0;
      if (has_whole_packs_ && count >= Lanes) {
        raw = load_pack<Lanes, (GroupSize > 1)>(from, 0);
      } else {
#pragma unroll
        for (unsigned i = 0; i < Lanes; ++i)
          if (i < count) raw[i] = from[i];
      }
      return As::template convert<Format, Lanes>(raw);
    }

   private:
    using bits = typename Format::bits;
    static constexpr unsigned pack_bytes = Lanes * sizeof(bits);
    std::uint64_t stride_;
    std::uint32_t lines_, places_;  // of the matrix, from the first of the block
    const bits* start_;
    bool has_whole_packs_;
  };

  template <typename Action>
  [[gnu::always_inline]] static void with_layout(const operand& from, Action action) {
    As::with_format(from.type, [&](auto format) __attribute__((always_inline)) {
      if (from.transposed) {
        action(format, std::true_type{});
      } else {
        action(format, std::false_type{});
      }
    });
  }

  template <bool Transposed>
  [[gnu::always_inline]] static void put(staged* block, std::uint32_t index, pack<staged, Lanes> x) {
    constexpr std::uint32_t across = packs_across<Transposed>;
    const std::uint32_t line = index / across, place = index % across * Lanes;
    if constexpr (Transposed) {
#pragma unroll
      for (unsigned i = 0; i < Lanes; ++i) block[(place + i) * Stride + line] = x[i];
    } else {
      local_packs<staged, Lanes, Stride, GroupSize>::store(block + line * Stride + place, x);
    }
  }

  static std::uint32_t left(std::uint32_t size, std::uint32_t begin) { return size > begin ? size - begin : 0; }
};

/// The steps after a product: alpha, beta, bias, activation.
struct finish {
  void* c;
  element_type type;
  std::uint64_t stride;
  float alpha, beta;
  activation function;
};

/// Parameters of every kernel that multiplies matrices, as the host passes them.
struct product {
  operand a, b, bias;  ///< the bias is a matrix of one row; its data may be null
  finish end;
  std::uint32_t tile_row, tile_column;  ///< where this work-group's tile begins

  /// Work-groups take tiles row by row, matrix after matrix.
  template <unsigned TileRows, unsigned TileColumns>
  [[gnu::always_inline]] static product of_group(const work_item& item, const void* a, element_type a_type,
                                                 std::uint64_t a_stride, std::uint64_t a_batch, bool a_transposed,
                                                 const void* b, element_type b_type, std::uint64_t b_stride,
                                                 std::uint64_t b_batch, bool b_transposed, void* c, element_type c_type,
                                                 std::uint64_t c_stride, std::uint64_t c_batch, std::uint32_t m,
                                                 std::uint32_t n, std::uint32_t k, float alpha, float beta,
                                                 const void* bias, element_type bias_type, activation function) {
    const std::uint32_t across = (n - 1) / TileColumns + 1, tiles = ((m - 1) / TileRows + 1) * across;
    const std::uint32_t matrix = item.group / tiles, tile = item.group % tiles;
    // With a factor of another type, nothing is staged: so nothing must be written.
    const bool is_known = is_among<matrix_types>(a_type) && is_among<matrix_types>(b_type) &&
                          (bias == nullptr || is_among<matrix_types>(bias_type));
    const auto at = [&](const void* first, element_type type, std::uint64_t distance) {
      return reinterpret_cast<std::uintptr_t>(first) + matrix * distance * bytes_per_element(type);
    };
    return {
        {in_global_memory<const void>(at(a, a_type, a_batch)), a_type, a_stride, a_transposed, m, k},
        {in_global_memory<const void>(at(b, b_type, b_batch)), b_type, b_stride, b_transposed, k, n},
        {bias, bias_type, 0, false, bias != nullptr ? 1u : 0u, n},
        {in_global_memory<void>(at(c, c_type, c_batch)), is_known ? c_type : no_type, c_stride, alpha, beta, function},
        tile / across * TileRows,
        tile % across * TileColumns};
  }
};

/// The walk of a work-group, with a multiplier that has
///
///   as                            how blocks are staged (`as_float`, `as_bits`)
///   tile_rows, tile_columns       of C
///   depth                         how much of the inner dimension is staged at a time
///   buffers                       2: the next blocks are loaded while these are multiplied; or 1
///   a_stride, b_stride, c_stride  between rows of the blocks in local memory
///   a constructor that takes the work-item
///   add(item, a, b)               adds the product of two blocks to what this work-item keeps
///   store(item, c)                writes what it keeps
template <typename Multiplier, unsigned Lanes, unsigned GroupSize>
struct tile_walk {
  using as = typename Multiplier::as;
  static constexpr unsigned tile_rows = Multiplier::tile_rows, tile_columns = Multiplier::tile_columns;
  static constexpr unsigned depth = Multiplier::depth;

  struct blocks {
    typename as::type a[tile_rows * Multiplier::a_stride];
    typename as::type b[depth * Multiplier::b_stride];
  };
  struct result {
    float c[tile_rows * Multiplier::c_stride];
    float bias[tile_columns];
  };
  static_assert(sizeof(blocks::a) % 16 == 0 && sizeof(blocks) % 16 == 0 && sizeof(result::c) % 16 == 0,
                "local_packs needs arrays that are aligned to 16 bytes");
  union alignas(32) shared {  // matrix units load whole rows
    blocks in[Multiplier::buffers];
    result out;  // when the last blocks have been multiplied
  };

  template <typename... Args>
  [[gnu::always_inline]] static void run(const work_item& item, shared& local, Args... args) {
    const product mine = product::of_group<tile_rows, tile_columns>(item, args...);
    Multiplier multiplier(item);
    multiply(item, mine, local, multiplier, std::integral_constant<unsigned, Multiplier::buffers>{});
    stager<as_float, 1, tile_columns, tile_columns, Lanes, GroupSize>::run(item, mine.bias, 0, mine.tile_column,
                                                                           local.out.bias);
    multiplier.store(item, local.out.c);
    item.barrier();
    write(item, mine, local);
  }

 private:
  using a_stager = stager<as, tile_rows, depth, Multiplier::a_stride, Lanes, GroupSize>;
  using b_stager = stager<as, depth, tile_columns, Multiplier::b_stride, Lanes, GroupSize>;

  [[gnu::always_inline]] static void multiply(const work_item& item, const product& mine, shared& local,
                                              Multiplier& multiplier, std::integral_constant<unsigned, 1>) {
    for (std::uint32_t k = 0; k < mine.a.columns; k += depth) {
      a_stager::run(item, mine.a, mine.tile_row, k, local.in[0].a);
      b_stager::run(item, mine.b, k, mine.tile_column, local.in[0].b);
      item.barrier();
      multiplier.add(item, local.in[0].a, local.in[0].b);
      item.barrier();
    }
  }

  /// Loads a pair of blocks while the pair before it is multiplied. One barrier per step is enough: a buffer is written
  /// while all work-items read the other one.
  [[gnu::always_inline]] static void multiply(const work_item& item, const product& mine, shared& local,
                                              Multiplier& multiplier, std::integral_constant<unsigned, 2>) {
    const std::uint64_t end = mine.a.columns;
    unsigned current = 0;
    for (std::uint64_t k = 0; k < end + depth; k += depth) {
      const auto column = static_cast<std::uint32_t>(k);
      typename a_stager::fetched a;
      typename b_stager::fetched b;
      if (k < end) {
        a_stager::fetch(item, mine.a, mine.tile_row, column, a);
        b_stager::fetch(item, mine.b, column, mine.tile_column, b);
      }
      if (k != 0) multiplier.add(item, local.in[1 - current].a, local.in[1 - current].b);
      if (k < end) {
        a_stager::put(item, mine.a, a, local.in[current].a);
        b_stager::put(item, mine.b, b, local.in[current].b);
      }
      item.barrier();
      current = 1 - current;
    }
  }

  [[gnu::always_inline]] static void write(const work_item& item, const product& mine, const shared& local) {
    using sums = local_packs<float, Lanes, Multiplier::c_stride, GroupSize>;
    using biases = local_packs<float, Lanes, tile_columns, GroupSize>;
    constexpr std::uint32_t across = tile_columns / Lanes;
    const std::uint32_t rows = mine.a.rows, columns = mine.b.columns;
    with_matrix_format(mine.end.type, [&](auto format) __attribute__((always_inline)) {
      const typed_stream<decltype(format)> out{reinterpret_cast<std::uintptr_t>(mine.end.c)};
      const std::uint32_t pack_bytes = Lanes * sizeof(typename decltype(format)::bits);
      const bool aligned = out.address % pack_bytes == 0 && mine.end.stride % Lanes == 0;
      for (std::uint32_t i = item.id; i < tile_rows * across; i += GroupSize) {
        const std::uint32_t in_row = i / across, in_column = i % across * Lanes;
        const std::uint32_t row = mine.tile_row + in_row, column = mine.tile_column + in_column;
        const std::uint64_t first = row * mine.end.stride + column;
        const auto sum = sums::load(local.out.c + in_row * Multiplier::c_stride + in_column);
        const auto bias = biases::load(local.out.bias + in_column);
        if (row < rows && column < columns) {
          if (columns - column < Lanes) {
            finish_pack(mine.end, out, part_of_pack<Lanes>{first, columns - column}, sum, bias);
          } else if (GroupSize > 1 && aligned) {
            finish_pack(mine.end, out, whole_pack<Lanes, true>{first}, sum, bias);
          } else {
            finish_pack(mine.end, out, whole_pack<Lanes, false>{first}, sum, bias);
          }
        }
      }
    });
  }

  template <typename Out, typename Place>
  [[gnu::always_inline]] static void finish_pack(const finish& options, const Out& out, const Place& place,
                                                 pack<float, Lanes> sum, pack<float, Lanes> bias) {
    pack<float, Lanes> x = options.alpha * sum;
    if (options.beta != 0.0f)
      x = __builtin_elementwise_fma(pack<float, Lanes>(options.beta), out.template load<Lanes>(place), x);
    out.template store<Lanes>(place, activate<Lanes>(options.function, x + bias));
  }
};

}  // namespace syclamp::kernels
