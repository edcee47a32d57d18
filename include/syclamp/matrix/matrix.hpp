// SPDX-License-Identifier: Apache-2.0
/// \file
/// The module `matrix`: matrix products. Link to `syclamp::matrix`.
#pragma once

#include <syclamp/matrix/activation.hpp>
#include <syclamp/matrix/gemm.hpp>
#include <syclamp/matrix/matrix_view.hpp>
