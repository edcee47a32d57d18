// SPDX-License-Identifier: Apache-2.0
/// \file
/// What this machine offers, and whether its arithmetic can be trusted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <syclamp/engine.hpp>

namespace syclamp {

/// How a device computes, measured by running a kernel on it. The library relies on the first group; the rest is told
/// so that results of different devices can be compared with open eyes.
struct arithmetic_report {
  bool bits_survive = false;         ///< Inf and NaN are told apart by their bits
  bool half_subnormals = false;      ///< FP16 subnormals convert to FP32 and back without loss
  bool half_rounds_to_even = false;  ///< FP32 to FP16 rounds to nearest even and overflows to Inf at 65520
  bool no_reassociation = false;     ///< (a + b) - a is computed as written
  bool no_contraction = false;       ///< a * b + c is rounded twice unless an FMA is asked for
  bool exact_fma = false;            ///< an FMA is rounded once
  bool exact_division = false;       ///< division is correctly rounded
  bool exact_square_root = false;    ///< square root is correctly rounded

  bool nan_tests_survive = false;  ///< x != x is true for a NaN: no fast-math. Not relied upon
  bool float_subnormals = false;   ///< FP32 subnormals are kept, not flushed. Not relied upon

  /// True if everything that the library relies upon holds.
  bool sound() const;
};

struct device_report {
  std::string name;
  std::string vendor;
  std::string driver;
  std::string platform;  ///< the runtime behind SYCL, for example `Intel(R) OpenCL`
  std::string kind;      ///< cpu, gpu or accelerator
  std::string profile;   ///< tuning profile that an engine on it uses
  std::uint32_t compute_units = 0;
  std::uint64_t memory_bytes = 0;
  bool has_fp64 = false;  ///< never needed
  bool has_fp16 = false;
  bool usable = false;  ///< false if kernels cannot be built for it; `problem` says why
  std::string problem;
  arithmetic_report arithmetic;
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

/// Looks at every device and runs the arithmetic self-test on each that can be used.
system_report describe_system();

/// Runs the arithmetic self-test on the device of `on`.
arithmetic_report test_arithmetic(const engine& on);

}  // namespace syclamp
