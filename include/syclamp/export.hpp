// SPDX-License-Identifier: Apache-2.0
/// \file
/// Macros for exported symbols and for the namespace of the ABI.
#pragma once

/// Marks public classes and functions. Everything else is hidden in the shared libraries.
#if defined(__GNUC__) && !defined(__SYCL_DEVICE_ONLY__)
#define SYCLAMP_API __attribute__((visibility("default")))
#define SYCLAMP_HIDDEN __attribute__((visibility("hidden")))  ///< for a private type inside a public class
#else
#define SYCLAMP_API
#define SYCLAMP_HIDDEN
#endif

/// The namespace of the library: users write `syclamp::`, and symbols carry the version of the ABI. So objects compiled
/// for different versions do not link to each other. The version is that of SOVERSION in src/CMakeLists.txt.
#define SYCLAMP_NAMESPACE syclamp::inline v0_2
