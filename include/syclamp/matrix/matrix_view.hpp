// SPDX-License-Identifier: Apache-2.0
/// \file
/// A matrix in somebody else's device memory.
#pragma once

#include <cstdint>

#include <sycl/sycl.hpp>

#include <syclamp/element_type.hpp>
#include <syclamp/export.hpp>

namespace SYCLAMP_NAMESPACE {

/// A row-major matrix of FP16, BF16 or FP32 in USM memory that the caller owns, or a batch of them at equal distances;
/// or the transpose of one, which costs nothing: memory stays as it is and is read the other way.
///
///     matrix_view x(pointer, 128, 512);                      // 128 rows, 512 columns
///     matrix_view part(pointer, 128, 64, type, 512);         // 64 of its columns
///     gemm(on, transposed(x), dy, dw);
///     gemm(on, batched(q, 12, 64 * 128), transposed(batched(k, 12, 64 * 128)), batched(scores, 12, 128 * 128));
///
/// The pointer needs no more than the alignment of one element.
class matrix_view {
 public:
  /// `rows` × `columns` elements of `type` at `data`; `stride` elements lie between the beginnings of two rows, and 0
  /// stands for `columns`.
  matrix_view(const void* data, std::uint64_t rows, std::uint64_t columns, element_type type, std::uint64_t stride = 0)
      : data_(data), type_(type), rows_(rows), columns_(columns), stride_(stride == 0 ? columns : stride) {}

  matrix_view(const float* data, std::uint64_t rows, std::uint64_t columns, std::uint64_t stride = 0)
      : matrix_view(data, rows, columns, element_type::float32, stride) {}
  matrix_view(const sycl::half* data, std::uint64_t rows, std::uint64_t columns, std::uint64_t stride = 0)
      : matrix_view(data, rows, columns, element_type::float16, stride) {}
#if defined(SYCL_EXT_ONEAPI_BFLOAT16_MATH_FUNCTIONS)  // a DPC++ extension; elsewhere name the type
  matrix_view(const sycl::ext::oneapi::bfloat16* data, std::uint64_t rows, std::uint64_t columns,
              std::uint64_t stride = 0)
      : matrix_view(data, rows, columns, element_type::bfloat16, stride) {}
#endif

  const void* data() const { return data_; }
  element_type type() const { return type_; }
  std::uint64_t rows() const { return is_transposed_ ? columns_ : rows_; }
  std::uint64_t columns() const { return is_transposed_ ? rows_ : columns_; }
  std::uint64_t stride() const { return stride_; }  ///< between the rows that are in memory
  bool is_transposed() const { return is_transposed_; }
  std::uint64_t batch() const { return batch_; }                ///< how many matrices
  std::uint64_t batch_stride() const { return batch_stride_; }  ///< from one to the next, in elements

  /// The transpose, or of each of a batch.
  friend matrix_view transposed(matrix_view matrix) {
    matrix.is_transposed_ = !matrix.is_transposed_;
    return matrix;
  }

  /// `count` matrices, of which this is the first, each `stride` elements after the one before.
  friend matrix_view batched(matrix_view first, std::uint64_t count, std::uint64_t stride) {
    first.batch_ = count;
    first.batch_stride_ = stride;
    return first;
  }

 private:
  const void* data_;
  element_type type_;
  std::uint64_t rows_, columns_, stride_;  // as they are in memory
  bool is_transposed_ = false;
  std::uint64_t batch_ = 1, batch_stride_ = 0;
};

}  // namespace SYCLAMP_NAMESPACE
