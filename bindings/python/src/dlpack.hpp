// SPDX-License-Identifier: Apache-2.0
// The binary interface of DLPack 1.3, by which Python's array libraries exchange arrays without copies.
// Names and layout are those of its specification; only what this package uses is declared.
#pragma once

#include <cstdint>

namespace syclamp::python::dlpack {

/// Where an array lies.
enum class device_type : std::int32_t {
  cpu = 1,
  cuda = 2,
  cuda_host = 3,  ///< pinned host memory
  rocm = 10,
  rocm_host = 11,
  one_api = 14,  ///< USM memory of SYCL
};

/// Codes of number formats.
enum class type_code : std::uint8_t {
  signed_integer = 0,
  unsigned_integer = 1,
  floating = 2,
  bfloat = 4,
  float8_e4m3fn = 10,
  float8_e5m2 = 12,
};

struct device {
  device_type type;
  std::int32_t id;
};

struct data_type {
  type_code code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct tensor {
  void* data;
  dlpack::device device;
  std::int32_t dimensions;
  data_type type;
  std::int64_t* shape;
  std::int64_t* strides;  ///< in elements; null: row-major without gaps
  std::uint64_t byte_offset;
};

struct version {
  std::uint32_t major, minor;
};
inline constexpr std::uint32_t supported_major = 1;

/// Of version 1.0 on. Version and deleter keep their place in every version.
struct managed_tensor_versioned {
  dlpack::version version;
  void* context;
  void (*deleter)(managed_tensor_versioned* self);
  std::uint64_t flags;
  dlpack::tensor tensor;
};
inline constexpr std::uint64_t flag_read_only = 1;

/// Before version 1.0.
struct managed_tensor {
  dlpack::tensor tensor;
  void* context;
  void (*deleter)(managed_tensor* self);
};

/// The table behind `__dlpack_c_exchange_api__`: functions that convert Python objects without a Python call. Functions
/// return 0 on success; otherwise a Python exception is set.
struct exchange_api {
  struct {
    dlpack::version version;
    exchange_api* previous;  ///< a table of an earlier major version, or null
  } header;
  void* managed_tensor_allocator;
  int (*managed_tensor_from_object)(void* object, managed_tensor_versioned** out);
  int (*managed_tensor_to_object)(managed_tensor_versioned* tensor, void** out);
  int (*tensor_from_object)(void* object, tensor* out);                       ///< without ownership; may be null
  int (*current_work_stream)(device_type type, std::int32_t id, void** out);  ///< for `one_api`: a sycl::queue, or null
};

}  // namespace syclamp::python::dlpack
