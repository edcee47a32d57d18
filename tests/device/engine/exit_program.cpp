// SPDX-License-Identifier: Apache-2.0
// Uses the library while the process ends, in the way that its argument names, and prints what came of it.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <thread>

#include "syclamp/matrix/matrix.hpp"
#include "syclamp/syclamp.hpp"

using namespace syclamp;

namespace {

/// Everything that a training code holds.
struct training {
  training()
      : memory(engine, 2, 4.0f),
        matrices(engine, 3 * size * size, 1.0f),
        optimizer(engine, {{.gradient = {memory.data(), 1}, .model = {memory.data() + 1, 1}}}, sgd{.lr = 1}),
        scaler(engine, {.init_scale = 4}) {
    scaler.prepare(optimizer.gradients());
  }

  void step() {
    scaler.begin_step();
    scaler.step(optimizer);
    scaler.update();
    std::printf("applied %d\n", static_cast<int>(scaler.outcome().applied));
  }

  /// By the vendor's library if there is one: it is preferred for products of this size.
  void multiply() {
    const auto view = [&](std::size_t number) {
      return matrix::matrix_view(matrices.data() + number * size * size, size, size);
    };
    matrix::gemm(engine, view(0), view(1), view(2));
    engine.wait();
  }

  static constexpr std::size_t size = 256;
  syclamp::engine engine;
  device_array<float> memory;
  device_array<float> matrices;
  fused_optimizer optimizer;
  loss_scaler scaler;
  std::optional<recorded_step> recorded;
};

std::optional<training> code;
std::optional<engine> survivor;  ///< outlives `code`

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
  attempt("list", [] { const tensor_list list(code->engine, array_view(code->memory.data(), 1)); });
  attempt("inspect", [] { inspect(code->engine, array_view(code->memory.data(), 1)); });
  attempt("product", [] { code->multiply(); });
  attempt("scale", [] { static_cast<void>(code->scaler.get_scale()); });
  attempt("wait", [] { code->engine.wait(); });
  attempt("preset", [] { static_cast<void>(scaling_preset("pytorch")); });
  attempt("end", [] { code.reset(); });
}

/// Forks. The child uses everything, destroys it, and ends as any process does.
void fork_child() {
  survivor.emplace(code->engine);
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    use_everything();
    attempt("array", [] { const device_array<float> array(*survivor, 1); });
    std::exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  std::printf("child: %d\n", status);
  attempt("parent", [] { code->step(); });
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
  if (ending == "early-fork") {
    const pid_t child = fork();
    int status = -1;
    if (child != 0) {
      waitpid(child, &status, 0);
      std::printf("child: %d\n", status);
    }
  }
  code.emplace();
  code->step();
  code->recorded.emplace(code->engine, [] { code->step(); }, recording::never);
  if (ending == "fork") {
    fork_child();
    return 0;
  }
  if (ending == "after") std::atexit(use_everything);
  if (ending == "thread") std::atexit([] { std::thread(use_everything).join(); });
  return 0;
}
