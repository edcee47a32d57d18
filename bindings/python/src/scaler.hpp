// SPDX-License-Identifier: Apache-2.0
// The loss scaler of the Python package.
#pragma once

#include <memory>
#include <vector>

#include <syclamp/loss_scaler.hpp>

#include "engine.hpp"

namespace syclamp::python {

/// A scaler with the records that Python's handlers have not seen yet.
struct scaler_handle {
  std::shared_ptr<engine_handle> engine;
  loss_scaler native;
  std::vector<ledger_entry> new_records = {};
};

}  // namespace syclamp::python
