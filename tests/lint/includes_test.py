# SPDX-License-Identifier: Apache-2.0
"""The include check must object to each of these."""
from includes import complaints
from planted import check

WRONG = {
    "include/syclamp/a.hpp": '#include "launch/operation.hpp"',
    "include/syclamp/element_type.hpp": "#include <sycl/sycl.hpp>",
    "src/a.cpp": '#include "sycl_kernels/inspect.hpp"',
    "src/launch/jit/a.cpp": '#include "sycl_kernels/inspect.hpp"',
    "sycl_kernels/a.hpp": '#include "backends/cpu.hpp"',
    "sycl_kernels/b.hpp": "#include <fmt/format.h>",
    "sycl_kernels/c.hpp": "#include <syclamp/engine.hpp>",
    "src/b.cpp": '#include "../sycl_kernels/inspect.hpp"',
    "src/c.cpp": "#include <sycl_kernels/inspect.hpp>",
    "apps/b.cpp": "#include <launch/operation.hpp>",
    "sycl_kernels/d.hpp": '#include "../src/warn.hpp"',
    "backends/a.hpp": "#include <sycl/sycl.hpp>",
    "apps/a.cpp": '#include "launch/operation.hpp"',
    "bench/a.cpp": '#include "warn.hpp"',
    "training/a.cpp": '#include "warn.hpp"',
    "tests/reference/a.cpp": '#include "syclamp/inspection.hpp"',
    "examples/a.cpp": '#include "bench/native.hpp"',
    "examples/b.cpp": '#include "support/whole_file.hpp"',
    "bench/b.cpp": '#include "support/whole_file.hpp"',
    "src/support/a.cpp": '#include "warn.hpp"',
    "tools/a.cpp": "#include <sycl/sycl.hpp>",
}
PRESENT = ("src/launch/operation.hpp", "src/warn.hpp", "src/support/whole_file.hpp", "sycl_kernels/inspect.hpp", "backends/cpu.hpp", "bench/native.hpp",
           "sycl_kernels/layout.hpp")

RIGHT = {**dict.fromkeys(PRESENT, ""), "sycl_kernels/layout.hpp": "#include <syclamp/element_type.hpp>"}
check(complaints, WRONG, RIGHT)
