// SPDX-License-Identifier: Apache-2.0
// The training that is killed, for the program that is and for the test that knows how it should have gone.
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
