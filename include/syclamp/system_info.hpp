// SPDX-License-Identifier: Apache-2.0
/// \file
/// What this machine offers, and whether its arithmetic can be trusted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <syclamp/engine.hpp>
#include <syclamp/export.hpp>

namespace SYCLAMP_NAMESPACE {

/// One question about how a device computes.
struct arithmetic_check {
  std::string name;  ///< for example `half_subnormals`
  bool passed;
  bool relied_upon;  ///< the library gives wrong results without it; the others are told for those who compare devices
};

/// How a device computes, found by running a kernel on it.
struct SYCLAMP_API arithmetic_report {
  /// half_subnormals       FP16 subnormals convert to FP32 and back without loss
  /// half_rounds_to_even   FP32 to FP16 rounds to nearest even and overflows to Inf at 65520
  /// no_reassociation      (a + b) - a is computed as written
  /// no_contraction        a * b + c is rounded twice unless an FMA is asked for
  /// exact_fma             an FMA is rounded once
  /// exact_division        division is correctly rounded
  /// exact_square_root     square root is correctly rounded
  /// nan_tests_survive     x != x is true for a NaN: no fast-math (not relied upon: bits are tested)
  /// float_subnormals      FP32 subnormals are kept, not flushed (not relied upon)
  std::vector<arithmetic_check> checks;

  /// True if the self-test ran and everything that the library relies upon holds.
  bool sound() const;
};

struct device_report {
  sycl::device device;
  std::string name = {};
  std::string vendor = {};
  std::string driver = {};
  std::string platform = {};  ///< the runtime behind SYCL, for example `Intel(R) OpenCL`
  std::string kind = {};      ///< cpu, gpu or accelerator
  std::string profile = {};   ///< tuning profile that an engine on it uses
  std::uint32_t compute_units = 0;
  std::uint64_t memory_bytes = 0;
  bool has_fp64 = false;  ///< never needed
  bool has_fp16 = false;
  bool usable = false;  ///< false if kernels cannot be built for it; `problem` says why
  std::string problem = {};
  arithmetic_report arithmetic = {};
};

struct system_report {
  std::string version;      ///< of syclamp
  std::string kernel_mode;  ///< `jit` or `aot`
  std::string compiler;     ///< device compiler or runtime, with version
  std::string cache;        ///< folder of compiled kernels; empty if there is none or it is off
  std::uint64_t cache_files = 0;
  std::uint64_t cache_bytes = 0;
  std::vector<device_report> devices;
  std::vector<std::string> advice;  ///< hardware that was seen but cannot be used, and what to install
};

/// Version of the library that is linked, as `major.minor.patch`.
SYCLAMP_API const char* library_version() noexcept;

/// A tuning profile: the numbers by which kernels are tuned, by classes of operations. What they mean is told in
/// sycl_kernels/shared/tuning.hpp, and how they were chosen in backends/.
struct profile_report {
  struct number {
    std::string name;
    std::uint32_t value;
  };
  struct operation_class {
    std::string name;  ///< for example `reduction`
    std::vector<number> numbers;
  };
  std::string name;
  std::vector<operation_class> classes;
};

/// The numbers of a profile. Throws `invalid_argument` if there is none of that name; `profile_names` has them all.
SYCLAMP_API profile_report describe_profile(std::string_view name);

/// Looks at every device and runs the arithmetic self-test on each that can be used.
SYCLAMP_API system_report describe_system();

/// Runs the arithmetic self-test on the device of `on`.
SYCLAMP_API arithmetic_report test_arithmetic(const engine& engine);

}  // namespace SYCLAMP_NAMESPACE
