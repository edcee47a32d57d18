// SPDX-License-Identifier: Apache-2.0
// The snippets of docs/ledger.md and docs/checkpoints.md that read or write files. tests/lint/pages.py checks that they
// stand here.
#include <fstream>

#include <catch2/catch_test_macros.hpp>

#include "tests/support/devices.hpp"
#include "tests/support/scaled_training.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace syclamp;

TEST_CASE("page: a ledger on disk") {
  const temporary_folder folder;
  const auto path = folder.path() / "run.csv";
  training code(all_engines().front(), {.init_scale = 8});
  code.step(1.0f);
  code.step(1.0f, infinity);
  loss_scaler& scaler = code.scaler;
  {
    std::ofstream file(path);
    write_ledger_header(file, ledger_format::csv);
    for (const ledger_entry& entry : scaler.ledger()) write_ledger_entry(file, entry, ledger_format::csv);
  }
  std::ifstream file(path);
  const auto read = read_ledger(std::string(std::istreambuf_iterator<char>(file), {}));
  REQUIRE(read.size() == 2);
  CHECK(read[1].first_nonfinite_name == "weight");
  // What the page says of a replay.
  const replay_report report = replay_ledger(read, scaling_preset("apex"));
  CHECK(report.recorded_skips == 1);
  CHECK(report.max_safe_scale == 4.0f);  // at 8 it is known to overflow
}

TEST_CASE("page: saving and loading") {
  const temporary_folder folder;
  const std::string path = folder.path() / "scaler.json";
  const engine& engine = all_engines().front();
  training code(engine, {.init_scale = 8});
  code.step(1.0f, infinity);
  loss_scaler& scaler = code.scaler;

  save_snapshot(scaler.state(), path);

  loss_scaler other(engine);
  other.load(load_snapshot(path));

  CHECK(other.get_scale() == 4.0f);
  CHECK(other.ledger().size() == 1);
}

TEST_CASE("page: checkpoints") {
  const temporary_folder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  const engine& engine = all_engines().front();
  const device_buffer<float> g(engine.queue(), {1.0f, 2.0f}), w(engine.queue(), {3.0f, 4.0f});
  const auto make = [&] {
    return std::make_unique<fused_optimizer>(
        engine, std::vector<parameter>{{.gradient = {g.data(), 2}, .model = {w.data(), 2}}}, sgd{.lr = 1});
  };
  {
    const auto made = make();
    fused_optimizer& optimizer = *made;
    loss_scaler scaler(engine, {.init_scale = 8});
    const std::string notes = "epoch 7";
    save_checkpoint("run.ckpt", {.optimizers = {&optimizer}, .scaler = &scaler}, notes);
    optimizer.apply();
    engine.wait();
  }
  CHECK(w.read() == std::vector{2.0f, 2.0f});
  const auto made = make();
  fused_optimizer& optimizer = *made;
  loss_scaler scaler(engine);

  const std::string notes = load_checkpoint("run.ckpt", {.optimizers = {&optimizer}, .scaler = &scaler});

  std::filesystem::current_path(before);
  CHECK(notes == "epoch 7");
  CHECK(w.read() == std::vector{3.0f, 4.0f});
  CHECK(scaler.get_scale() == 8.0f);
}
