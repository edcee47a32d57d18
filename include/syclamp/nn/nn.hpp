// SPDX-License-Identifier: Apache-2.0
/// \file
/// The module `nn`: layers, losses and precision policies. Link to `syclamp::nn`.
#pragma once

#include <syclamp/nn/layers.hpp>
#include <syclamp/nn/precision_policy.hpp>
