// SPDX-License-Identifier: Apache-2.0
/// \file
/// The devices of this machine, and whether their arithmetic is strict.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <syclamp/engine.hpp>
#include <syclamp/export.hpp>

namespace SYCLAMP_NAMESPACE {

/// One test of a device's arithmetic.
struct arithmetic_check {
  std::string name;  ///< for example `half_subnormals`
  bool passed;       ///< the result
  bool relied_upon;  ///< true if the library needs it for correct results; false if it is only informative
};

/// The results of the arithmetic self-test, which runs a kernel on the device.
struct SYCLAMP_API arithmetic_report {
  /// The tests:
  ///   half_subnormals       FP16 subnormals convert to FP32 and back without loss
  /// half_rounds_to_even   FP32 to FP16 rounds to nearest even and overflows to Inf at 65520
  /// no_reassociation      (a + b) - a is computed as written
  /// no_contraction        a * b + c is rounded twice unless an FMA is requested
  /// exact_fma             an FMA is rounded once
  /// exact_division        division is correctly rounded
  /// exact_square_root     square root is correctly rounded
  /// nan_tests_survive     x != x is true for a NaN: no fast-math (not relied upon: bits are tested)
  /// float_subnormals      FP32 subnormals are kept, not flushed (not relied upon)
  std::vector<arithmetic_check> checks;

  /// True if the self-test ran and all tests that the library relies upon passed.
  bool sound() const;
};

/// The description of a device.
struct device_report {
  sycl::device device;                ///< the device itself
  std::string name = {};              ///< name of the device
  std::string vendor = {};            ///< maker of the device
  std::string driver = {};            ///< version of the driver
  std::string platform = {};          ///< the runtime behind SYCL, for example `Intel(R) OpenCL`
  std::string kind = {};              ///< cpu, gpu or accelerator
  std::string profile = {};           ///< tuning profile that an engine uses on it
  std::string profile_note = {};      ///< why a profile that matches the device better is not used; empty if none does
  std::uint32_t compute_units = 0;    ///< number of compute units
  std::uint64_t memory_bytes = 0;     ///< size of its global memory, in bytes
  bool has_fp64 = false;              ///< true if it supports FP64, which syclamp does not need
  bool has_fp16 = false;              ///< true if it supports FP16 arithmetic
  bool usable = false;                ///< true if syclamp can use it; otherwise see `problem`
  std::string problem = {};           ///< why it cannot be used; empty if it can
  arithmetic_report arithmetic = {};  ///< results of the self-test
};

/// The description of the machine and of this build of syclamp.
struct system_report {
  std::string version;                 ///< version of syclamp
  std::string kernel_mode;             ///< `jit` or `aot`
  std::string compiler;                ///< device compiler or runtime, with version
  std::string cache;                   ///< folder of compiled kernels; empty if there is none
  std::uint64_t cache_files = 0;       ///< number of files in that folder
  std::uint64_t cache_bytes = 0;       ///< their total size, in bytes
  std::vector<device_report> devices;  ///< all SYCL devices
  std::vector<std::string> advice;     ///< GPUs of the machine that SYCL does not see, with what to install
};

/// The version of the linked library, as `major.minor.patch`.
SYCLAMP_API const char* library_version() noexcept;

/// A tuning profile: the numbers that tune kernels, by classes of operations. sycl_kernels/shared/tuning.hpp explains
/// them, and backends/ holds their values.
struct profile_report {
  /// A tuning number.
  struct number {
    std::string name;     ///< for example `group_size`
    std::uint32_t value;  ///< its value
  };
  /// The numbers of a class of operations.
  struct operation_class {
    std::string name;             ///< for example `reduction`
    std::vector<number> numbers;  ///< the numbers of the class
  };
  std::string name;                      ///< name of the profile
  std::vector<operation_class> classes;  ///< all classes of operations
};

/// The numbers of a tuning profile.
/// \param name  one of `profile_names()`
/// \throws invalid_argument if there is no such profile
SYCLAMP_API profile_report describe_profile(std::string_view name);

/// Describes all devices and runs the arithmetic self-test on each device that can be used. Waits, and compiles
/// kernels.
SYCLAMP_API system_report describe_system();

/// Runs the arithmetic self-test on the device of an engine. Waits.
SYCLAMP_API arithmetic_report test_arithmetic(const engine& engine);

}  // namespace SYCLAMP_NAMESPACE
