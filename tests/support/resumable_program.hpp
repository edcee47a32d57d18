// SPDX-License-Identifier: Apache-2.0
// The training that is killed, for the program that is and for the test that knows how it should have gone.
#pragma once

#include "tests/support/resumable_training.hpp"

struct resumable_program {
  syclamp::engine on;
  resumable_training run{on,
                         syclamp::adamw{},
                         {"BF16 with remainders",
                          syclamp::element_type::bfloat16,
                          syclamp::element_type::bfloat16,
                          true,
                          false,
                          {.remainders = true}},
                         few_tensors(),
                         {.init = 1024, .interval = 3}};
};
