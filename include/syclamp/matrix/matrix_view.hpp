// SPDX-License-Identifier: Apache-2.0
/// \file
/// Views of matrices in device memory that the caller owns.
#pragma once

#include <concepts>
#include <cstdint>

#include <sycl/sycl.hpp>

#include <syclamp/element_type.hpp>
#include <syclamp/export.hpp>

namespace SYCLAMP_NAMESPACE::matrix {

/// The shape of a matrix view: everything but the pointer.
class matrix_shape {
 public:
  element_type type() const { return type_; }                                  ///< storage format
  std::uint64_t rows() const { return is_transposed_ ? columns_ : rows_; }     ///< rows, after transposing
  std::uint64_t columns() const { return is_transposed_ ? rows_ : columns_; }  ///< columns, after transposing
  std::uint64_t stride() const { return stride_; }              ///< distance between rows in memory, in elements
  bool is_transposed() const { return is_transposed_; }         ///< true if memory holds the transpose
  std::uint64_t batch() const { return batch_; }                ///< number of matrices
  std::uint64_t batch_stride() const { return batch_stride_; }  ///< distance between two matrices, in elements

 protected:
  matrix_shape(std::uint64_t rows, std::uint64_t columns, element_type type, std::uint64_t stride)
      : type_(type), rows_(rows), columns_(columns), stride_(stride == 0 ? columns : stride) {}

  void transpose() { is_transposed_ = !is_transposed_; }

  void repeat(std::uint64_t count, std::uint64_t stride) {
    batch_ = count;
    batch_stride_ = stride;
  }

 private:
  element_type type_;
  std::uint64_t rows_, columns_, stride_;  // as they are in memory
  bool is_transposed_ = false;
  std::uint64_t batch_ = 1, batch_stride_ = 0;
};

/// A view of a row-major matrix in USM memory that an operation may write, of FP16, BF16 or FP32, or of a batch of such
/// matrices at equal distances. A view may also be transposed; the memory does not change. It does not own the memory.
///
///     matrix_view x(pointer, 128, 512);                      // 128 rows, 512 columns
///     matrix_view part(pointer, 128, 64, type, 512);         // 64 of its columns
///     gemm(engine, transposed(x), dy, dw);
///     gemm(engine, batched(q, 12, 64 * 128), transposed(batched(k, 12, 64 * 128)), batched(scores, 12, 128 * 128));
///
/// The pointer must be aligned to one element.
class matrix_view : public matrix_shape {
 public:
  /// A view of `rows` × `columns` elements of `type` at `data`.
  /// \param stride  distance between the beginnings of two rows, in elements; 0: `columns`
  matrix_view(void* data, std::uint64_t rows, std::uint64_t columns, element_type type, std::uint64_t stride = 0)
      : matrix_shape(rows, columns, type, stride), data_(data) {}

  /// A view of `rows` × `columns` elements at `data`. The pointer's type names the format.
  matrix_view(float* data, std::uint64_t rows, std::uint64_t columns, std::uint64_t stride = 0)
      : matrix_view(data, rows, columns, element_type::float32, stride) {}
  /// \overload
  matrix_view(sycl::half* data, std::uint64_t rows, std::uint64_t columns, std::uint64_t stride = 0)
      : matrix_view(data, rows, columns, element_type::float16, stride) {}
#if defined(SYCL_EXT_ONEAPI_BFLOAT16_MATH_FUNCTIONS)  // a DPC++ extension; elsewhere name the type
  /// \overload
  matrix_view(sycl::ext::oneapi::bfloat16* data, std::uint64_t rows, std::uint64_t columns, std::uint64_t stride = 0)
      : matrix_view(data, rows, columns, element_type::bfloat16, stride) {}
#endif

  void* data() const { return data_; }  ///< address of the first element

  /// The transposed view of a matrix, or of each matrix of a batch.
  friend matrix_view transposed(matrix_view matrix) {
    matrix.transpose();
    return matrix;
  }

  /// A batch of `count` matrices, the first of which is `first`, at a distance of `stride` elements.
  friend matrix_view batched(matrix_view first, std::uint64_t count, std::uint64_t stride) {
    first.repeat(count, stride);
    return first;
  }

 private:
  void* data_;
};

/// A view of a matrix in USM memory that an operation only reads. Otherwise like `matrix_view`.
class const_matrix_view : public matrix_shape {
 public:
  /// A view of `rows` × `columns` elements of `type` at `data`.
  const_matrix_view(const void* data, std::uint64_t rows, std::uint64_t columns, element_type type,
                    std::uint64_t stride = 0)
      : matrix_shape(rows, columns, type, stride), data_(data) {}

  /// A view of `rows` × `columns` elements at `data`. The pointer's type names the format.
  const_matrix_view(const float* data, std::uint64_t rows, std::uint64_t columns, std::uint64_t stride = 0)
      : const_matrix_view(data, rows, columns, element_type::float32, stride) {}
  /// \overload
  const_matrix_view(const sycl::half* data, std::uint64_t rows, std::uint64_t columns, std::uint64_t stride = 0)
      : const_matrix_view(data, rows, columns, element_type::float16, stride) {}
#if defined(SYCL_EXT_ONEAPI_BFLOAT16_MATH_FUNCTIONS)  // a DPC++ extension; elsewhere name the type
  /// \overload
  const_matrix_view(const sycl::ext::oneapi::bfloat16* data, std::uint64_t rows, std::uint64_t columns,
                    std::uint64_t stride = 0)
      : const_matrix_view(data, rows, columns, element_type::bfloat16, stride) {}
#endif

  /// Converts a writable view, or anything that converts to one.
  template <typename View>
    requires(!std::same_as<View, const_matrix_view> && std::convertible_to<const View&, matrix_view>)
  const_matrix_view(const View& view)  // NOLINT(google-explicit-constructor)
      : const_matrix_view(static_cast<const matrix_view&>(view)) {}
  const_matrix_view(const matrix_view& view)  // NOLINT(google-explicit-constructor)
      : matrix_shape(view), data_(view.data()) {}

  const void* data() const { return data_; }  ///< address of the first element

  /// The transposed view of a matrix, or of each matrix of a batch.
  friend const_matrix_view transposed(const_matrix_view matrix) {
    matrix.transpose();
    return matrix;
  }

  /// A batch of `count` matrices, the first of which is `first`, at a distance of `stride` elements.
  friend const_matrix_view batched(const_matrix_view first, std::uint64_t count, std::uint64_t stride) {
    first.repeat(count, stride);
    return first;
  }

 private:
  const void* data_;
};

}  // namespace SYCLAMP_NAMESPACE::matrix
