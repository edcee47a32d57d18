// SPDX-License-Identifier: Apache-2.0
// Every operation that the library can submit. With the profiles of backends/, this is the list of kernel instances:
// the run-time compiler, the ahead-of-time table and the test that compiles them all are derived from it.
#pragma once

#include <cstdint>

#include "launch/operation.hpp"
#include "sycl_kernels/layout.hpp"

namespace syclamp::launch {

inline constexpr operation<const std::uint64_t*, const std::uint64_t*, const std::uint32_t*, std::uint32_t,
                           kernels::chunk_findings*>
    inspect_chunks{"inspect_chunks", "inspect", &profile::inspect};

inline constexpr operation<const kernels::chunk_findings*, const std::uint64_t*, std::uint32_t, inspection*>
    inspect_total{"inspect_total", "inspect", &profile::inspect};

inline constexpr operation<const std::uint64_t*, const std::uint32_t*, const std::uint64_t*, const std::uint32_t*,
                           const std::uint64_t*, std::uint32_t, const float*, kernels::factor_kind, bool,
                           const inspection*>
    convert_list{"convert_list", "convert", &profile::convert};

inline constexpr operation<const std::uint64_t*, const std::uint64_t*, const std::uint32_t*, std::uint32_t,
                           const inspection*>
    clear_list{"clear_list", "convert", &profile::convert};

inline constexpr operation<const inspection*, const float*, const float*, clip_result*> clip_coefficient{
    "clip_coefficient", "clip", &profile::convert};

inline constexpr operation<const kernels::arithmetic_inputs*, kernels::arithmetic_answers*> self_test{
    "self_test", "self_test", &profile::inspect};

inline constexpr const operation_base* operations[] = {&inspect_chunks, &inspect_total,    &convert_list,
                                                       &clear_list,     &clip_coefficient, &self_test};

}  // namespace syclamp::launch
