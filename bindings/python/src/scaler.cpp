// SPDX-License-Identifier: Apache-2.0
#include "scaler.hpp"

#include <algorithm>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <syclamp/error.hpp>
#include <syclamp/framework_states.hpp>
#include <syclamp/scaler_snapshot.hpp>

#include "module.hpp"
#include "optimizer.hpp"
#include "policy.hpp"
#include "tensors.hpp"

namespace nb = nanobind;

namespace syclamp::python {
namespace {

using shared_optimizer = std::shared_ptr<optimizer_handle>;

std::shared_ptr<scaler_handle> make_scaler(const std::shared_ptr<engine_handle>& engine, const nb::object& policy,
                                           std::uint32_t scales, bool skip_together, std::uint32_t ledger) {
  const scaling_policy rules = policy_from(policy);
  const scaler_options options{.scales = scales, .skip_together = skip_together, .ledger = ledger};
  auto scaler = engine->call([&] {
    return std::make_shared<scaler_handle>(scaler_handle{engine, loss_scaler(engine->native(), rules, options)});
  });
  return scaler;
}

step_options options_of(std::optional<float> max_norm, bool clip_separately = false) {
  step_options options{.clip_separately = clip_separately};
  if (max_norm) options.max_norm = scalar(*max_norm);
  return options;
}

/// The engines of an operation, each once: the scaler's and those of its arrays.
using engine_list = std::vector<engine_handle*>;

engine_list engines_of(const scaler_handle& scaler, engine_list engines) {
  engines.push_back(scaler.engine.get());
  std::ranges::sort(engines, std::less<>());  // one order for all threads, so that none waits for another in a circle
  const auto rest = std::ranges::unique(engines);
  engines.erase(rest.begin(), rest.end());
  return engines;
}

/// Makes a call like `engine_handle::call`, but with several engines.
template <typename Work>
void call(const engine_list& engines, const Work& work) {
  const nb::gil_scoped_release others_run;
  std::vector<std::unique_lock<std::recursive_mutex>> one_at_a_time;
  one_at_a_time.reserve(engines.size());
  for (engine_handle* engine : engines) one_at_a_time.push_back(engine->lock());
  work();
}

/// The events that an operation depends on.
std::vector<sycl::event> dependencies_of(const engine_list& engines) {
  std::vector<sycl::event> events;
  for (engine_handle* engine : engines) {
    const std::vector<sycl::event> others = engine->dependencies();
    events.insert(events.end(), others.begin(), others.end());
  }
  return events;
}

/// What the queue of an engine has been given so far, as an event.
sycl::event present_work(const engine_handle& engine) { return engine.native().queue().ext_oneapi_submit_barrier(); }

/// Ends an operation. `done` is of one queue, so the scaler's engine also waits for what the others have been given.
void finish(const scaler_handle& scaler, const engine_list& engines, const sycl::event& done,
            std::vector<std::shared_ptr<void>> owners, bool writes_host) {
  for (engine_handle* engine : engines) {
    if (engines.size() > 1) scaler.engine->keep_until(present_work(*engine));
    if (engine != scaler.engine.get()) engine->order_caller();
  }
  scaler.engine->finish(done, std::move(owners), writes_host);
}

void step(scaler_handle& scaler, const std::vector<shared_optimizer>& optimizers, std::optional<float> max_norm,
          bool clip_separately) {
  if (optimizers.empty()) throw invalid_argument("optimizers: there is none; pass at least one optimizer");
  engine_list others;
  for (const shared_optimizer& optimizer : optimizers) others.push_back(optimizer->engine.get());
  const engine_list engines = engines_of(scaler, std::move(others));
  call(engines, [&] {
    std::vector<optimizer*> native;
    std::vector<std::shared_ptr<void>> owners;
    bool writes_host = false;
    for (const shared_optimizer& optimizer : optimizers) {
      native.push_back(&optimizer->native);
      owners.push_back(optimizer);  // an optimizer must outlive its step
      for (auto& memory : optimizer->memory()) owners.push_back(std::move(memory));
      writes_host |= optimizer->has_host_memory;
    }
    const step_options options = options_of(max_norm, clip_separately);
    const std::vector<sycl::event> events = dependencies_of(engines);
    const sycl::event done = native.size() == 1 ? scaler.native.step(*native.front(), options, events)
                                                : scaler.native.step(native, options, events);
    for (const shared_optimizer& optimizer : optimizers)  // `done` of a joint step is of one optimizer's queue
      optimizer->last = native.size() == 1 ? done : present_work(*optimizer->engine);
    finish(scaler, engines, done, std::move(owners), writes_host);
  });
}

void unscale_optimizer(scaler_handle& scaler, const shared_optimizer& optimizer, std::optional<float> max_norm) {
  optimizer->check_gradients(element_type::float32);  // others are unscaled into a shadow
  const engine_list engines = engines_of(scaler, {optimizer->engine.get()});
  call(engines, [&] {
    const auto unscaled = scaler.native.unscale(optimizer->native, options_of(max_norm), dependencies_of(engines));
    optimizer->last = unscaled.done();
    finish(scaler, engines, unscaled.done(), optimizer->memory(), true);
  });
}

void unscale_list(scaler_handle& scaler, const tensors_handle& gradients, const tensors_handle& out,
                  std::optional<float> max_norm) {
  out.check_float32(unscale_remedy);
  out.check_writable();
  const engine_list engines = engines_of(scaler, {&gradients.engine(), &out.engine()});
  call(engines, [&] {
    const auto unscaled =
        scaler.native.unscale(gradients.list(), out.list(), options_of(max_norm), dependencies_of(engines));
    finish(scaler, engines, unscaled.done(), owners_of({&gradients, &out}), out.has_host_memory());
  });
}

void scale_list(scaler_handle& scaler, const tensors_handle& loss, const tensors_handle& out) {
  out.check_writable();
  const engine_list engines = engines_of(scaler, {&loss.engine(), &out.engine()});
  call(engines, [&] {
    const sycl::event done = scaler.native.scale(loss.list(), out.list(), dependencies_of(engines));
    finish(scaler, engines, done, owners_of({&loss, &out}), out.has_host_memory());
  });
}

void accumulate(scaler_handle& scaler, const tensors_handle& gradients, const tensors_handle& sum) {
  sum.check_writable();
  const engine_list engines = engines_of(scaler, {&gradients.engine(), &sum.engine()});
  call(engines, [&] {
    const sycl::event done = scaler.native.accumulate(gradients.list(), sum.list(), dependencies_of(engines));
    finish(scaler, engines, done, owners_of({&gradients, &sum}), sum.has_host_memory());
  });
}

void step_accumulated(scaler_handle& scaler, const shared_optimizer& optimizer, std::optional<float> max_norm) {
  const engine_list engines = engines_of(scaler, {optimizer->engine.get()});
  call(engines, [&] {
    const sycl::event done =
        scaler.native.step_accumulated(optimizer->native, options_of(max_norm), dependencies_of(engines));
    optimizer->last = done;
    std::vector<std::shared_ptr<void>> owners = optimizer->memory();
    owners.push_back(optimizer);
    finish(scaler, engines, done, std::move(owners), optimizer->has_host_memory);
  });
}

void update(scaler_handle& scaler, std::optional<float> new_scale) {
  scaler.engine->call([&] {
    if (new_scale)
      scaler.native.update(*new_scale);
    else
      scaler.native.update();
  });
}

/// Skips the next step, as a kernel can by `device_user_flags`.
void skip_step(scaler_handle& scaler) {
  static const std::uint32_t flag = found_by_user;  // read when the copy runs
  scaler.engine->call(
      [&] { scaler.engine->native().queue().memcpy(scaler.native.device_user_flags(), &flag, sizeof flag); });
}

/// Collects records for Python's handlers, or stops. Handlers stay in Python, where cycles are found.
void collect_records(scaler_handle& scaler, bool is_wanted) {
  if (!is_wanted) return scaler.native.on_step({});
  scaler.native.on_step([&scaler](const ledger_entry& entry) { scaler.new_records.push_back(entry); });
}

std::vector<ledger_entry> take_records(scaler_handle& scaler) {
  return scaler.engine->call([&] {
    scaler.native.report();
    return std::exchange(scaler.new_records, {});
  });
}

template <typename Read>
auto read(scaler_handle& scaler, const Read& work) {
  return scaler.engine->call([&] { return work(scaler.native); });
}

void bind_step(nb::class_<scaler_handle>& type) {
  type.def("begin_step", [](scaler_handle& self) { read(self, [](loss_scaler& scaler) { scaler.begin_step(); }); })
      .def("scale", &scale_list, nb::arg("loss"), nb::arg("out"))
      .def("unscale", &unscale_optimizer, nb::arg("optimizer"), nb::arg("max_norm").none())
      .def("unscale_tensors", &unscale_list, nb::arg("gradients"), nb::arg("out"), nb::arg("max_norm").none())
      .def("step", &step, nb::arg("optimizers"), nb::arg("max_norm").none(), nb::arg("clip_separately"))
      .def("update", &update, nb::arg("new_scale").none())
      .def("accumulate", &accumulate, nb::arg("gradients"), nb::arg("sum"))
      .def("step_accumulated", &step_accumulated, nb::arg("optimizer"), nb::arg("max_norm").none())
      .def("skip_step", &skip_step)
      .def("resume", [](scaler_handle& self) { read(self, [](loss_scaler& scaler) { scaler.resume(); }); })
      .def(
          "prepare",
          [](scaler_handle& self, const shared_optimizer& optimizer) {
            call(engines_of(self, {optimizer->engine.get()}),
                 [&] { self.native.prepare(optimizer->native.gradients()); });
          },
          nb::arg("optimizer"));
}

void bind_readings(nb::class_<scaler_handle>& type) {
  type.def(
          "get_scale",
          [](scaler_handle& self, std::uint32_t index) {
            return read(self, [&](const loss_scaler& scaler) { return scaler.get_scale(index); });
          },
          nb::arg("index"))
      .def(
          "outcome",
          [](scaler_handle& self, std::uint32_t index) {
            return read(self, [&](const loss_scaler& scaler) { return ledger_entry{scaler.outcome(index), {}}; });
          },
          nb::arg("index"))
      .def("ledger", [](const scaler_handle& self) { return self.native.ledger(); })  // callable from any thread
      .def("collect_records", &collect_records, nb::arg("is_wanted"))
      .def("take_records", &take_records)
      .def_prop_ro("engine", [](const scaler_handle& self) { return self.engine; })
      .def_prop_ro("policy", [](const scaler_handle& self) { return self.native.policy(); })
      .def(
          "set_policy",
          [](scaler_handle& self, const nb::object& policy) {
            const scaling_policy rules = policy_from(policy);
            read(self, [&](loss_scaler& scaler) { scaler.set_policy(rules); });
          },
          nb::arg("policy"));
}

void bind_state(nb::class_<scaler_handle>& type) {
  type.def("state_json",
           [](scaler_handle& self) {
             return read(self, [](const loss_scaler& scaler) { return to_json(scaler.state()); });
           })
      .def(
          "load_json",
          [](scaler_handle& self, const std::string& text) {
            read(self, [&](loss_scaler& scaler) { scaler.load(snapshot_from_json(text)); });
          },
          nb::arg("text"))
      .def(
          "framework_json",
          [](scaler_handle& self, const std::string& framework) {
            return read(self, [&](const loss_scaler& scaler) { return to_framework_state(scaler.state(), framework); });
          },
          nb::arg("framework"))
      .def(
          "load_framework_json",
          [](scaler_handle& self, const std::string& text, const std::string& framework) {
            read(self,
                 [&](loss_scaler& scaler) { scaler.load(from_framework_state(text, framework, scaler.state())); });
          },
          nb::arg("text"), nb::arg("framework"))
      .def(
          "save",
          [](scaler_handle& self, const std::string& file) {
            read(self, [&](const loss_scaler& scaler) { save_snapshot(scaler.state(), file); });
          },
          nb::arg("file"))
      .def(
          "load",
          [](scaler_handle& self, const std::string& file) {
            read(self, [&](loss_scaler& scaler) { scaler.load(load_snapshot(file)); });
          },
          nb::arg("file"));
}

}  // namespace

void register_scaler(nb::module_& module) {
  nb::class_<scaler_handle> type(module, "Scaler");
  type.def(nb::new_(&make_scaler), nb::arg("engine"), nb::arg("policy").none(), nb::arg("scales"),
           nb::arg("skip_together"), nb::arg("ledger"));
  bind_step(type);
  bind_readings(type);
  bind_state(type);
}

}  // namespace syclamp::python
