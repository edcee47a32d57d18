// SPDX-License-Identifier: Apache-2.0
// Uses the library while the process ends, in the way that its argument names, and prints what came of it.
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <thread>

#include "syclamp/syclamp.hpp"

using namespace syclamp;

namespace {

/// Everything that a training code holds.
struct training {
  training()
      : memory(sycl::malloc_device<float>(2, engine.queue())),
        optimizer(engine, {{.gradient = {memory, 1}, .model = {memory + 1, 1}}}, sgd{.lr = 1}),
        scaler(engine, {.init_scale = 4}) {
    engine.queue().fill(memory, 4.0f, 2).wait();
    scaler.prepare(optimizer.gradients());
  }

  void step() {
    scaler.begin_step();
    scaler.step(optimizer);
    scaler.update();
    std::printf("applied %d\n", static_cast<int>(scaler.outcome().applied));
  }

  syclamp::engine engine;
  float* memory;
  fused_optimizer optimizer;
  loss_scaler scaler;
  std::optional<recorded_step> recorded;
};

std::optional<training> code;

template <typename Function>
void attempt(const char* subject, const Function& function) {
  try {
    function();
    std::printf("%s: done\n", subject);
  } catch (const misuse_error& refused) {
    std::printf("%s: refused, %s\n", subject, refused.what());
  } catch (const std::exception& failed) {
    std::printf("%s: failed, %s\n", subject, failed.what());
  }
  std::fflush(stdout);
}

void use_everything() {
  attempt("step", [] { code->step(); });
  attempt("engine", [] { const syclamp::engine another; });
  attempt("queue", [] { const syclamp::engine another(sycl::queue(code->engine.queue())); });
  attempt("list", [] { const tensor_list list(code->engine, array_view(code->memory, 1)); });
  attempt("inspect", [] { inspect(code->engine, array_view(code->memory, 1)); });
  attempt("scale", [] { static_cast<void>(code->scaler.get_scale()); });
  attempt("wait", [] { code->engine.wait(); });
  attempt("preset", [] { static_cast<void>(scaling_preset("pytorch")); });
  attempt("end", [] { code.reset(); });
}

/// An object of the program that lives until its end.
struct until_the_end {
  ~until_the_end() {
    if (is_used) use_everything();
  }
  bool is_used = false;
};

}  // namespace

int main(int, char** arguments) {
  const std::string_view ending = arguments[1];
  static until_the_end object;
  object.is_used = ending == "static";
  if (ending == "before") std::atexit(use_everything);
  if (ending == "only") {
    std::atexit([] {
      attempt("make", [] { code.emplace(); });
      use_everything();
    });
    return 0;
  }
  code.emplace();
  code->step();
  code->recorded.emplace(code->engine, [] { code->step(); }, recording::never);
  if (ending == "after") std::atexit(use_everything);
  if (ending == "thread") std::atexit([] { std::thread(use_everything).join(); });
  return 0;
}
