// SPDX-License-Identifier: Apache-2.0
#include "apps/training/batches.hpp"

#include <algorithm>

#include "apps/training/random.hpp"

namespace syclamp::training {

batches::batches(const engine& engine, const task& task, element_type compute, std::uint64_t seed)
    : engine_(engine),
      task_(task),
      compute_(compute),
      seed_(seed),
      training_(upload(task.training)),
      held_out_(upload(task.held_out)),
      order_(task.steps_per_epoch()) {
  for (std::uint64_t i = 0; i < order_.size(); ++i) order_[i] = i;
  if (task.shuffles_rows) shuffled_ = task.training;
}

batches::uploaded batches::upload(const samples& from) const {
  const bool is_narrow = compute_ != element_type::float32;
  uploaded made;
  made.wide_inputs = typed_array(engine_, from.inputs.size(), element_type::float32);
  made.inputs = is_narrow ? typed_array(engine_, from.inputs.size(), compute_) : made.wide_inputs;
  if (task_.is_classifier()) {
    made.labels = typed_array(engine_, from.labels.size(), element_type::float32);  // of 4 bytes, too
  } else {
    made.targets = typed_array(engine_, from.targets.size(), element_type::float32);
  }
  fill(made, from);
  return made;
}

void batches::fill(const uploaded& where, const samples& from) const {
  sycl::queue& queue = engine_.queue();
  queue.memcpy(where.wide_inputs.data(), from.inputs.data(), from.inputs.size() * sizeof(float));
  if (task_.is_classifier()) {
    queue.memcpy(where.labels.data(), from.labels.data(), from.labels.size() * sizeof(std::uint32_t));
  } else {
    queue.memcpy(where.targets.data(), from.targets.data(), from.targets.size() * sizeof(float));
  }
  if (where.inputs.data() != where.wide_inputs.data())
    cast(tensor_list(engine_, where.wide_inputs.view()), tensor_list(engine_, where.inputs.view()));
  engine_.wait();
}

void batches::begin_epoch(std::uint64_t epoch) {
  constexpr std::uint64_t not_of_weights = std::uint64_t{1} << 32;
  random_numbers random(seed_, not_of_weights + epoch);
  if (!task_.shuffles_rows) {
    order_ = random.permutation(order_.size());
    return;
  }
  const std::uint64_t columns = task_.inputs();
  const auto order = random.permutation(task_.training.count);
  for (std::uint64_t i = 0; i < order.size(); ++i) {
    std::copy_n(task_.training.inputs.data() + order[i] * columns, columns, shuffled_.inputs.data() + i * columns);
    if (task_.is_classifier()) {
      shuffled_.labels[i] = task_.training.labels[order[i]];
    } else {
      std::copy_n(task_.training.targets.data() + order[i] * task_.outputs(), task_.outputs(),
                  shuffled_.targets.data() + i * task_.outputs());
    }
  }
  fill(training_, shuffled_);
}

batch batches::part(const uploaded& data, std::uint64_t first, std::uint64_t rows) const {
  const auto rows_of = [&](const typed_array& all, std::uint64_t columns) {
    const auto* begin = static_cast<const char*>(all.data()) + first * columns * bytes_per_element(all.type());
    return matrix::const_matrix_view(begin, rows, columns, all.type());
  };
  batch some{.inputs = rows_of(data.inputs, task_.inputs()), .targets = {}};
  if (task_.is_classifier()) {
    some.labels = static_cast<const std::uint32_t*>(data.labels.data()) + first;
  } else {
    some.targets = rows_of(data.targets, task_.outputs());
  }
  return some;
}

batch batches::operator[](std::uint64_t step_of_epoch) const {
  return part(training_, order_[step_of_epoch] * task_.batch, task_.batch);
}

batch batches::held_out() const { return part(held_out_, 0, task_.held_out.count); }

}  // namespace syclamp::training
