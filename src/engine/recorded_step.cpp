// SPDX-License-Identifier: Apache-2.0
#include "syclamp/recorded_step.hpp"

#include <optional>
#include <utility>

#include "engine/device_fault.hpp"
#include "engine/event_order.hpp"
#include "engine/process_exit.hpp"
#include "engine/recordable_state.hpp"
#include "engine/recording.hpp"
#include "syclamp/error.hpp"

// Graphs are an extension of DPC++. This file and recording.hpp are the only ones that know of it.
#if defined(SYCL_EXT_ONEAPI_GRAPH)
namespace SYCLAMP_NAMESPACE {
namespace {

namespace graphs = sycl::ext::oneapi::experimental;
using finished_graph = graphs::command_graph<graphs::graph_state::executable>;

bool has_graphs(const sycl::device& device) {
  return device.has(sycl::aspect::ext_oneapi_graph) || device.has(sycl::aspect::ext_oneapi_limited_graph);
}

std::optional<finished_graph> record(sycl::queue queue, const std::function<void()>& calls) {
  if (!has_graphs(queue.get_device())) return std::nullopt;
  if (is_recording(queue))
    throw misuse_error(
        "recorded_step: the queue is already being recorded into a graph; make the recorded_step before or after that "
        "recording");
  constexpr const char* operation = "recorded_step";
  auto graph = translated(operation, [&] { return graphs::command_graph<graphs::graph_state::modifiable>(queue); });
  const remembered_states before(queue);
  try {
    translated(operation, [&] { graph.begin_recording(queue); });
    calls();
    return translated(operation, [&] {
      graph.end_recording(queue);
      return graph.finalize();
    });
  } catch (...) {
    translated(operation, [&] {
      if (is_recording(queue)) graph.end_recording(queue);
    });
    before.restore();
    throw;
  }
}

sycl::event replay(sycl::queue& queue, const finished_graph& graph) {
  need_thread();
  return translated("recorded_step", [&] { return queue.ext_oneapi_graph(graph); });
}

}  // namespace
}  // namespace SYCLAMP_NAMESPACE
#else
namespace SYCLAMP_NAMESPACE {
namespace {

struct finished_graph {};

std::optional<finished_graph> record(const sycl::queue&, const std::function<void()>&) { return std::nullopt; }
sycl::event replay(sycl::queue&, const finished_graph&) { return {}; }

}  // namespace
}  // namespace SYCLAMP_NAMESPACE
#endif

namespace SYCLAMP_NAMESPACE {

struct SYCLAMP_HIDDEN recorded_step::impl {
  syclamp::engine engine;
  std::function<void()> calls;
  std::optional<finished_graph> graph;
};

recorded_step::recorded_step(const engine& engine, std::function<void()> calls, recording mode)
    : impl_(std::make_unique<impl>(impl{engine, std::move(calls), std::nullopt})) {
  if (!impl_->calls)
    throw invalid_argument("recorded_step: the function is empty; pass a function that submits a step");
  const auto ordered = engine.order_calls();
  if (mode == recording::if_possible) impl_->graph = record(engine.queue(), impl_->calls);
}

recorded_step::~recorded_step() {
  if (is_runtime_gone()) leave_to_exit(impl_);
}
recorded_step::recorded_step(recorded_step&&) noexcept = default;
recorded_step& recorded_step::operator=(recorded_step&&) noexcept = default;

sycl::event recorded_step::operator()(const std::vector<sycl::event>& dependencies) {
  need_state();
  const engine& engine = impl_->engine;
  engine.need_dependencies("recorded_step", dependencies, "the events of the backward pass");
  engine.order_after(dependencies);
  if (impl_->graph) return replay(engine.queue(), *impl_->graph);
  const auto ordered = engine.order_calls();
  impl_->calls();
  return submit_marker(engine);
}

bool recorded_step::is_recorded() const {
  need_state();
  return impl_->graph.has_value();
}

void recorded_step::need_state() const {
  if (!impl_) throw misuse_error("recorded_step: this object was moved from; use the object it was moved to");
}

}  // namespace SYCLAMP_NAMESPACE
