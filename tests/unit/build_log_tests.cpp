// SPDX-License-Identifier: Apache-2.0
// Logs of DPC++ 2026.2's run-time compiler, shortened to the lines that matter, on a machine whose headers were hidden.
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "launch/jit/build_log.hpp"

using Catch::Matchers::ContainsSubstring;
using syclamp::launch::jit::explain_build_failure;

namespace {

const std::string without_cxx_headers = R"(Device compilation failed
Detailed information:
	In file included from rtc_0.cpp:2:
In file included from /sycl-jit-toolchain//bin/compiler/../../include/sycl/ext/oneapi/free_function_queries.hpp:24:
/sycl-jit-toolchain//bin/compiler/../../include/sycl/detail/defines.hpp:15:10: fatal error: 'climits' file not found
   15 | #include <climits>
      |          ^~~~~~~~~
)";

const std::string without_target_headers = R"(Device compilation failed
Detailed information:
/usr/lib/gcc/x86_64-linux-gnu/12/../../../../include/c++/12/climits:41:10: fatal error: 'bits/c++config.h' file not found
)";

const std::string without_c_headers = R"(Device compilation failed
Detailed information:
/usr/lib/gcc/x86_64-linux-gnu/12/../../../../include/x86_64-linux-gnu/c++/12/bits/os_defines.h:39:10: fatal error: 'features.h' file not found
   39 | #include <features.h>
)";

}  // namespace

TEST_CASE("a missing header of the machine is named with the package that has it") {
  const auto says = [](const std::string& log, const std::string& header, const std::string& library) {
    const std::string message = explain_build_failure("Some CPU", log);
    CHECK_THAT(message, ContainsSubstring("Some CPU") && ContainsSubstring("<" + header + ">") &&
                            ContainsSubstring(library) && ContainsSubstring("package g++") &&
                            ContainsSubstring("libc6-dev") && ContainsSubstring("gcc-c++"));
    CHECK_THAT(message, !ContainsSubstring("defect") && !ContainsSubstring("report"));
  };
  says(without_cxx_headers, "climits", "libstdc++,");
  says(without_target_headers, "bits/c++config.h", "libstdc++,");
  says(without_c_headers, "features.h", "glibc,");
}

TEST_CASE("any other failure to compile is a defect to report") {
  for (const char* error : {"rtc_0.cpp:3:1: error: use of undeclared identifier 'nonsense'",
                            "rtc_0.cpp:1:10: fatal error: '/dev/null/syclamp/format.hpp' file not found",
                            "head.h:1:10: fatal error: 'sycl/ext/oneapi/free_function_queries.hpp' file not found"}) {
    const std::string message = explain_build_failure("Some CPU", std::string("Device compilation failed\n") + error);
    CHECK_THAT(message, ContainsSubstring("cannot compile") && ContainsSubstring(error) &&
                            ContainsSubstring("a defect of syclamp or of the compiler"));
    CHECK_THAT(message, !ContainsSubstring("package"));
  }
}

TEST_CASE("a missing run-time compiler is named") {
  const std::string message = explain_build_failure("Some CPU", "kernel_bundle creation from source not supported\n");
  CHECK_THAT(message,
             ContainsSubstring("Some CPU") && ContainsSubstring("libsycl-jit") && ContainsSubstring("intel-sycl-rt"));
}
