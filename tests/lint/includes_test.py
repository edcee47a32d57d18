# SPDX-License-Identifier: Apache-2.0
"""The include check must object to each of these."""
from includes import complaints
from planted import check

WRONG = {
    "include/syclamp/a.hpp": '#include "launch/operation.hpp"',
    "include/syclamp/b.hpp": "#include <syclamp/nn/layers.hpp>",
    "include/syclamp/matrix/a.hpp": "#include <syclamp/nn/layers.hpp>",
    "include/syclamp/element_type.hpp": "#include <sycl/sycl.hpp>",
    "src/tensors/a.cpp": '#include "sycl_kernels/tensors/inspect.hpp"',
    "src/tensors/b.cpp": '#include "../../sycl_kernels/tensors/inspect.hpp"',
    "src/tensors/c.cpp": "#include <sycl_kernels/tensors/inspect.hpp>",
    "src/tensors/d.cpp": '#include "scaler/rule.hpp"',
    "src/scaler/a.cpp": '#include "matrix/path.hpp"',
    "src/optimizer/a.cpp": "#include <syclamp/nn/layers.hpp>",
    "src/launch/jit/a.cpp": '#include "sycl_kernels/tensors/inspect.hpp"',
    "src/support/a.cpp": '#include "engine/warn.hpp"',
    "sycl_kernels/tensors/a.hpp": '#include "backends/cpu.hpp"',
    "sycl_kernels/tensors/b.hpp": "#include <fmt/format.h>",
    "sycl_kernels/tensors/c.hpp": "#include <syclamp/engine.hpp>",
    "sycl_kernels/tensors/d.hpp": '#include "../../src/engine/warn.hpp"',
    "sycl_kernels/shared/a.hpp": '#include "sycl_kernels/tensors/inspect.hpp"',
    "sycl_kernels/shared/b.hpp": "#include <sycl/sycl.hpp>",
    "backends/a.hpp": "#include <sycl/sycl.hpp>",
    "apps/a.cpp": '#include "launch/operation.hpp"',
    "apps/b.cpp": "#include <launch/operation.hpp>",
    "apps/training/a.cpp": '#include "engine/warn.hpp"',
    "apps/training/b.cpp": '#include "bench/native.hpp"',
    "bench/a.cpp": '#include "engine/warn.hpp"',
    "bench/b.cpp": '#include "apps/main.hpp"',
    "tests/reference/a.cpp": '#include "syclamp/engine.hpp"',
    "examples/a.cpp": '#include "bench/native.hpp"',
    "examples/b.cpp": '#include "support/whole_file.hpp"',
    "examples/interop/a.cpp": '#include "support/whole_file.hpp"',
    "tools/a.cpp": "#include <sycl/sycl.hpp>",
}
PRESENT = ("src/launch/operation.hpp", "src/engine/warn.hpp", "src/support/whole_file.hpp", "src/scaler/rule.hpp",
           "src/matrix/path.hpp", "sycl_kernels/tensors/inspect.hpp", "backends/cpu.hpp", "bench/native.hpp",
           "include/syclamp/engine.hpp", "apps/main.hpp", "include/syclamp/nn/layers.hpp", "sycl_kernels/shared/layout.hpp")

RIGHT = {**dict.fromkeys(PRESENT, ""), "sycl_kernels/shared/layout.hpp": "#include <syclamp/element_type.hpp>"}
check(complaints, WRONG, RIGHT)
