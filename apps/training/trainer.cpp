// SPDX-License-Identifier: Apache-2.0
#include "apps/training/trainer.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace syclamp::training {
namespace {

std::uint64_t max_rows(const task& task) { return std::max(task.batch, task.held_out.count); }

scaler_options enough_ledger(const task& task) {
  constexpr std::uint64_t least = 1024;
  return {.ledger = static_cast<std::uint32_t>(std::max(least, 2 * task.steps_per_epoch()))};
}

}  // namespace

trainer::trainer(const engine& engine, const task& task, run_settings settings)
    : engine_(engine),
      task_(task),
      settings_(std::move(settings)),
      model_(engine, task.model, settings_.formats, max_rows(task), settings_.seed),
      batches_(engine, task, settings_.formats.compute, settings_.seed),
      optimizer_(engine, model_.parameters(), task.optimizer),
      scaler_(engine, settings_.policy, enough_ledger(task)),
      row_losses_(engine, max_rows(task), element_type::float32),
      losses_(engine, task.steps_per_epoch() + 1, element_type::float32),
      watch_(engine, optimizer_.gradients(), whole_output_gradient()),
      clock_(engine) {
  result_ = {.name = settings_.name, .precision = settings_.precision, .scaling = settings_.scaling};
  optimizer_.set_schedule(task.schedule);
  scaler_.prepare(optimizer_.gradients());
  scaler_.on_step([this](const ledger_entry& entry) {
    const step_record& record = entry.record;
    if (!result_.scales.empty() && record.step <= result_.scales.back().step) return;  // already known to a resumed run
    result_.scales.add({record.step, static_cast<double>(record.scale)});
    if (!record.was_applied()) result_.skipped.add(record.step);
    result_.final_scale = static_cast<double>(record.next_scale);
  });
}

// --- Passes ---

matrix::matrix_view trainer::gradient_of(const matrix::matrix_view& y) const {
  return output_gradient_.count() == 0 ? y : output_gradient_.matrix(y.rows(), y.columns());
}

const_array_view trainer::whole_output_gradient() {
  const std::uint64_t elements = task_.batch * task_.outputs();
  const element_type type = nn::gradient_type(settings_.formats);
  if (type == settings_.formats.accumulate) return {model_.output(), elements, type};
  output_gradient_ = typed_array(engine_, elements, type);
  return output_gradient_.view();
}

sycl::event trainer::compute_loss(const batch& batch, const matrix::const_matrix_view& y, float* mean,
                                  const std::optional<matrix::matrix_view>& dy) {
  const nn::loss_values loss{row_losses_.floats(), mean};
  const device_value scale(engine_, scaler_.device_scale());
  return batch.targets ? nn::mean_squared_error(engine_, y, *batch.targets, loss, dy, scale)
                       : nn::softmax_cross_entropy(engine_, y, batch.labels, loss, dy, scale);
}

sycl::event trainer::forward_and_backward(const batch& batch, std::uint64_t slot, sycl::event& loss) {
  const matrix::matrix_view y = model_.forward(batch.inputs), dy = gradient_of(y);
  loss = compute_loss(batch, y, losses_.floats() + slot, dy);
  return model_.backward(batch.inputs, dy);
}

void trainer::step(std::uint64_t step_of_epoch, bool is_timed) {
  step_events events;
  events.before = last_update_;
  events.backward = forward_and_backward(batches_[step_of_epoch], step_of_epoch, events.loss);
  scaler_.begin_step();  // the loss kernel multiplies by the scale
  events.apply = scaler_.step(optimizer_);
  events.update = scaler_.update();
  if (is_timed) clock_.add(events);
  last_update_ = events.update;
  ++result_.steps;
}

held_out_point trainer::evaluate() {
  const batch all = batches_.held_out();
  const matrix::matrix_view y = model_.forward(all.inputs);
  float* const slot = losses_.floats() + task_.steps_per_epoch();
  compute_loss(all, y, slot, {});
  float loss = 0.0f;
  engine_.queue().memcpy(&loss, slot, sizeof loss);
  std::vector<float> logits(task_.is_classifier() ? y.rows() * y.columns() : 0);
  engine_.queue().memcpy(logits.data(), y.data(), logits.size() * sizeof(float));
  engine_.wait();
  if (!task_.is_classifier()) return {result_.steps, static_cast<double>(loss), unknown};
  std::uint64_t right = 0;
  for (std::uint64_t i = 0; i < y.rows(); ++i) {
    const auto row = logits.begin() + static_cast<std::ptrdiff_t>(i * y.columns());
    const auto largest = std::max_element(row, row + static_cast<std::ptrdiff_t>(y.columns()));
    right += static_cast<std::uint64_t>(largest - row) == task_.held_out.labels[i] ? 1 : 0;
  }
  return {result_.steps, static_cast<double>(loss), static_cast<double>(right) / static_cast<double>(y.rows())};
}

// --- Training ---

/// Loads and compiles all kernels with a pass that changes only gradients.
void trainer::warm_up() {
  sycl::event loss;
  batches_.begin_epoch(0);
  forward_and_backward(batches_[0], 0, loss);
  run_result unused;
  watch_.record(0, unused);
  evaluate();
}

void trainer::train(std::uint64_t epochs, const run_observer& observer) {
  if (resumable_) result_ = *std::exchange(resumable_, std::nullopt);
  const std::uint64_t per_epoch = task_.steps_per_epoch(), all = epochs * per_epoch, begun_at = result_.steps;
  warm_up();
  using clock = std::chrono::steady_clock;
  const auto begin = clock::now();
  const double before = result_.seconds;
  while (result_.steps < all && !observer.shall_stop()) {
    const std::uint64_t first = result_.steps % per_epoch;
    batches_.begin_epoch(result_.steps / per_epoch);
    std::uint64_t i = first;
    for (; i < per_epoch && !observer.shall_stop(); ++i) step(i, i != first);
    read_back(first, i - first);
    if (i == per_epoch) {
      watch_.record(result_.steps, result_);
      result_.held_out.add(evaluate());
    }
    result_.seconds = before + std::chrono::duration<double>(clock::now() - begin).count();
    observer.progress(result_.steps, all);
  }
  if (result_.steps % per_epoch != 0) {  // stopped within an epoch; a resumed run must not contain this evaluation
    resumable_ = result_;
    if (result_.steps != begun_at) watch_.record(result_.steps, result_);  // else gradients are those of warming up
    result_.held_out.add(evaluate());
  }
  result_.times = times();
}

/// Of the steps of this process, but for `other`, which is the mean of all.
step_times trainer::times() const {
  step_times part = clock_.medians();
  if (settings_.policy.mode == scaling_mode::disabled) {  // nothing is inspected, and there is no scale to move
    part.apply += part.inspect + part.update;
    part.inspect = part.update = 0.0;
  }
  const double known = part.forward + part.backward + part.inspect + part.apply + part.update;
  part.other = std::max(0.0, result_.seconds / static_cast<double>(result_.steps) - known);
  return part;
}

/// What the last steps have left on the device.
void trainer::read_back(std::uint64_t first, std::uint64_t made) {
  std::vector<float> losses(made);
  engine_.queue().memcpy(losses.data(), losses_.floats() + first, made * sizeof(float));
  engine_.wait();
  for (std::uint64_t i = 0; i < made; ++i)
    result_.losses.add({result_.steps - made + i + 1, static_cast<double>(losses[i])});
  scaler_.report();
  clock_.read();
}

// --- Save and resume ---

run_identity trainer::identity() const {
  const scaling_policy& policy = settings_.policy;
  return {.task = task_.name,
          .precision = settings_.precision,
          .scaling = settings_.scaling,
          .seed = settings_.seed,
          .batch = task_.batch,
          .init = policy.init_scale,
          .growth = policy.growth_factor,
          .backoff = policy.backoff_factor,
          .min = policy.min,
          .max = policy.max,
          .interval = policy.growth_interval,
          .hysteresis = policy.hysteresis};
}

void trainer::save(const std::filesystem::path& file) {
  save_checkpoint(file, {.optimizers = {&optimizer_}, .scaler = &scaler_},
                  notes_of(identity(), resumable_ ? *resumable_ : result_));
}

void trainer::load(const std::filesystem::path& file) {
  const std::string notes = load_checkpoint(file, {.optimizers = {&optimizer_}, .scaler = &scaler_});
  try {
    run_result saved = read_notes(notes, identity());
    if (const std::uint64_t steps = scaler_.state().scales[0].attempted; saved.steps != steps)
      throw invalid_argument(
          fmt::format("its notes count {} steps, but its scaler counts {}; the file is damaged, so use another copy",
                      saved.steps, steps));
    watch_.need_same(saved);
    result_ = std::move(saved);
    resumable_.reset();
  } catch (const invalid_argument& wrong) {
    throw file_error("cannot resume from " + file.string() + ": " + wrong.what());
  }
  result_.name = settings_.name;
  result_.precision = settings_.precision;
  result_.scaling = settings_.scaling;
}

}  // namespace syclamp::training
