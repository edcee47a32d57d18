// SPDX-License-Identifier: Apache-2.0
#include "syclamp/c/checkpoint.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bindings/c/objects.hpp"
#include "bindings/c/structs.hpp"
#include "bindings/c/texts.hpp"
#include "syclamp/checkpoint.hpp"

using namespace syclamp::c;

namespace {

/// The caller's objects, kept and locked during the call.
class parts_in_use {
 public:
  parts_in_use(const syclamp_optimizer* optimizers, std::size_t count, syclamp_scaler scaler)
      : scaler_(get_optional<scaler_object>(scaler)), order_(find(optimizers, count)) {
    for (const auto& optimizer : optimizers_) parts_.optimizers.push_back(&optimizer->optimizer);
    if (scaler_) parts_.scaler = &scaler_->scaler;
  }

  const syclamp::checkpoint_parts& parts() const { return parts_; }

 private:
  std::vector<const engine_object*> find(const syclamp_optimizer* optimizers, std::size_t count) {
    constexpr std::size_t most = 65536;
    if (count > most)
      throw syclamp::invalid_argument(
          fmt::format("the argument count is {}; a checkpoint has at most {} optimizers", count, most));
    if (count != 0) need(optimizers, "optimizers");
    std::vector<const engine_object*> engines;
    if (scaler_) engines.push_back(scaler_->engine.get());
    for (std::size_t i = 0; i < count; ++i)
      engines.push_back(optimizers_.emplace_back(get<optimizer_object>(optimizers[i]))->engine.get());
    return engines;
  }

  std::shared_ptr<scaler_object> scaler_;
  std::vector<std::shared_ptr<optimizer_object>> optimizers_;
  syclamp::checkpoint_parts parts_;
  call_order order_;
};

}  // namespace

syclamp_status syclamp_checkpoint_save(const char* file, const syclamp_optimizer* optimizers, size_t count,
                                       syclamp_scaler scaler, const void* notes, size_t notes_bytes) {
  return guarded(__func__, [&] {
    need(file, "file");
    if (notes_bytes > syclamp::max_notes_bytes)  // before anything reads the notes
      throw syclamp::invalid_argument(fmt::format("the argument notes_bytes is {}; notes have at most {} bytes",
                                                  notes_bytes, syclamp::max_notes_bytes));
    if (notes_bytes != 0) need(notes, "notes");
    const parts_in_use used(optimizers, count, scaler);
    syclamp::save_checkpoint(file, used.parts(), std::string_view(static_cast<const char*>(notes), notes_bytes));
  });
}

syclamp_status syclamp_checkpoint_load(const char* file, const syclamp_optimizer* optimizers, size_t count,
                                       syclamp_scaler scaler, char** notes, size_t* notes_bytes) {
  return guarded(__func__, [&] {
    need(file, "file");
    const parts_in_use used(optimizers, count, scaler);
    const std::string found = syclamp::load_checkpoint(file, used.parts());
    if (notes != nullptr) *notes = make_text(found);
    if (notes_bytes != nullptr) *notes_bytes = found.size();
  });
}
