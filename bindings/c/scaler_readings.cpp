// SPDX-License-Identifier: Apache-2.0
// The scaler's readings and settings.
#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bindings/c/conversions.hpp"
#include "bindings/c/objects.hpp"
#include "bindings/c/structs.hpp"
#include "bindings/c/texts.hpp"
#include "syclamp/c/scaler.h"
#include "syclamp/ledger.hpp"

using namespace syclamp::c;

syclamp_status syclamp_scaler_device_scale(syclamp_scaler scaler, const float** device_scale) {
  return guarded(__func__, [&] {
    const auto object = get<scaler_object>(scaler);
    need(device_scale, "device_scale");
    *device_scale = object->scaler.device_scale();
  });
}

uint32_t syclamp_scaler_scale_stride(void) { return syclamp::loss_scaler::scale_stride(); }

syclamp_status syclamp_scaler_get_scale(syclamp_scaler scaler, uint32_t index, float* scale) {
  return guarded(__func__, [&] {
    const auto object = get<scaler_object>(scaler);
    need(scale, "scale");
    const call_order order{object->engine.get()};
    *scale = object->scaler.get_scale(index);
  });
}

syclamp_status syclamp_scaler_outcome(syclamp_scaler scaler, uint32_t index, syclamp_step_record* record) {
  return guarded(__func__, [&] {
    const auto object = get<scaler_object>(scaler);
    const size_t size = checked_size(record, "record");
    const call_order order{object->engine.get()};
    const syclamp::step_record outcome = object->scaler.outcome(index);
    // The name is in the ledger, which is complete after this wait.
    std::string name;
    for (const syclamp::ledger_entry& entry : object->scaler.ledger())
      if (entry.record.step == outcome.step && entry.record.scale_index == outcome.scale_index)
        name = entry.first_nonfinite_name;
    write_struct(record, from_record(outcome, name), size);
  });
}

syclamp_status syclamp_scaler_records(syclamp_scaler scaler, syclamp_step_record* records, size_t capacity,
                                      size_t* count) {
  return guarded(__func__, [&] {
    const auto object = get<scaler_object>(scaler);
    need(count, "count");
    const std::vector<syclamp::ledger_entry> ledger = object->scaler.ledger();
    if (records == nullptr) {
      *count = ledger.size();
      return;
    }
    const size_t written = std::min(capacity, ledger.size());
    const size_t size = capacity == 0 ? 0 : checked_size(records, "records");
    for (size_t i = 0; i < written; ++i) {
      const syclamp::ledger_entry& entry = ledger[ledger.size() - written + i];
      write_struct(element(records, i, size), from_record(entry.record, entry.first_nonfinite_name), size);
    }
    *count = written;
  });
}

syclamp_status syclamp_scaler_ledger_text(syclamp_scaler scaler, syclamp_ledger_format format, char** text) {
  return guarded(__func__, [&] {
    const auto object = get<scaler_object>(scaler);
    need(text, "text");
    const auto wanted = checked_enumeration(format, syclamp::ledger_format::json_lines, "the argument format");
    std::ostringstream written;
    syclamp::write_ledger_header(written, wanted);
    for (const syclamp::ledger_entry& entry : object->scaler.ledger())
      syclamp::write_ledger_entry(written, entry, wanted);
    *text = make_text(written.str());
  });
}

syclamp_status syclamp_scaler_on_step(syclamp_scaler scaler, syclamp_step_handler handler, void* user) {
  return guarded(__func__, [&] {
    const auto object = get<scaler_object>(scaler);
    const call_order order{object->engine.get()};
    if (handler == nullptr)
      object->scaler.on_step({});
    else
      object->scaler.on_step([handler, user](const syclamp::ledger_entry& entry) {
        const syclamp_step_record record = from_record(entry.record, entry.first_nonfinite_name);
        handler(user, &record);
      });
  });
}

syclamp_status syclamp_scaler_report(syclamp_scaler scaler) {
  return guarded(__func__, [&] {
    const auto object = get<scaler_object>(scaler);
    const call_order order{object->engine.get()};
    object->scaler.report();
  });
}

syclamp_status syclamp_scaler_get_policy(syclamp_scaler scaler, syclamp_policy* policy) {
  return guarded(__func__, [&] {
    const auto object = get<scaler_object>(scaler);
    const call_order order{object->engine.get()};
    write_policy(object->scaler.policy(), policy);
  });
}

syclamp_status syclamp_scaler_set_policy(syclamp_scaler scaler, const syclamp_policy* policy) {
  return guarded(__func__, [&] {
    const auto object = get<scaler_object>(scaler);
    need(policy, "policy");
    const call_order order{object->engine.get()};
    object->scaler.set_policy(to_policy(policy));
  });
}
