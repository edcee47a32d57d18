// SPDX-License-Identifier: Apache-2.0
// The training that a test kills. Used by the killed program and by the test, which computes the expected result.
#pragma once

#include "tests/support/resumable_training.hpp"

struct resumable_program {
  syclamp::engine engine;
  resumable_training run{engine,
                         syclamp::adamw{},
                         {"BF16 with remainders",
                          syclamp::element_type::bfloat16,
                          syclamp::element_type::bfloat16,
                          true,
                          false,
                          {.remainders = true}},
                         few_tensors(),
                         {.init_scale = 1024, .growth_interval = 3}};
};
