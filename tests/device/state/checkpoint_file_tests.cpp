// SPDX-License-Identifier: Apache-2.0
// Checkpoints that are damaged, foreign or made for something else: they are refused, and nothing changes.
#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "state/codec/little_endian.hpp"
#include "state/codec/state_fields.hpp"
#include "support/checksum.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/memory_file.hpp"
#include "tests/support/optimizer_fields.hpp"
#include "tests/support/resumable_training.hpp"
#include "tests/support/state_equality.hpp"
#include "tests/support/temporary_folder.hpp"

using Catch::Matchers::ContainsSubstring;
using nlohmann::ordered_json;
using syclamp::element_type;
namespace fs = std::filesystem;

namespace {

const syclamp::engine& here() { return all_engines().front(); }

const storage_case plain{"FP32", element_type::float32, element_type::float32, true, false};

std::string content_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// A few parameters and a scaler, and a checkpoint of them.
struct small_training {
  explicit small_training(float weight, const syclamp::optimizer_settings& settings = syclamp::adamw{})
      : gradients(here().queue(), {0.5f, 0.25f, -1.0f}),
        model(here().queue(), {weight, weight, weight}),
        optimizer(here(), {{.gradient = {gradients.data(), 3}, .model = {model.data(), 3}}}, settings),
        scaler(here(), {.init_scale = 8}) {}

  void step() {
    scaler.begin_step();
    scaler.step(optimizer);
    scaler.update();
  }

  syclamp::checkpoint_parts parts() { return {{&optimizer}, &scaler}; }

  bool operator==(const small_training& other) const {
    const auto moment = [](const small_training& training, std::uint32_t k) {
      std::vector<float> content(3);
      here().queue().memcpy(content.data(), training.optimizer.state(0, k).data(), 12).wait();
      return content;
    };
    return model.read() == other.model.read() && moment(*this, 0) == moment(other, 0) &&
           moment(*this, 1) == moment(other, 1) && optimizer.steps() == other.optimizer.steps() &&
           same(scaler.state(), other.scaler.state());
  }

  device_buffer<float> gradients, model;
  syclamp::fused_optimizer optimizer;
  syclamp::loss_scaler scaler;
};

std::string small_checkpoint() {
  const temporary_folder folder;
  small_training saved(1.0f);
  saved.step();
  syclamp::save_checkpoint(folder.path() / "file", saved.parts(), "notes");
  return content_of(folder.path() / "file");
}

/// The message with which a file is refused; none if it is not.
std::string refusal_of(const std::string& content, const syclamp::checkpoint_parts& parts) {
  const memory_file file(content);
  try {
    syclamp::load_checkpoint(file.path(), parts);
  } catch (const syclamp::error& problem) {
    CHECK_THAT(problem.what(), ContainsSubstring(file.path().string() + ": "));
    return problem.what();
  }
  return "";
}

template <typename Integer>
std::string integer(Integer value) {
  std::string bytes;
  syclamp::append_integer(bytes, value);
  return bytes;
}

std::string sum_of(const std::string& bytes) {
  syclamp::block_checksum sum;
  sum.add(bytes.data(), bytes.size());
  return integer(sum.value());
}

constexpr std::size_t front = 28;  // magic, version, two lengths
constexpr std::uint32_t newest = syclamp::newest_version;

std::uint64_t head_length(const std::string& file) { return syclamp::integer_at<std::uint64_t>(&file[20]); }

ordered_json head_of(const std::string& file) {
  return ordered_json::from_cbor(file.substr(front, head_length(file)), true, true,
                                 ordered_json::cbor_tag_handler_t::error);
}

/// The file with another head, and with lengths and checksums that belong to it.
std::string with_head(const std::string& file, const std::string& head, std::uint32_t version = newest) {
  const std::string payload = file.substr(front + head_length(file) + 8, file.size() - front - head_length(file) - 16);
  std::string fresh = file.substr(0, 8) + integer(version) +
                      integer(std::uint64_t{front + head.size() + 8 + payload.size() + 8}) +
                      integer(std::uint64_t{head.size()}) + head;
  fresh += sum_of(fresh);
  fresh += payload;
  return fresh + sum_of(fresh);
}

std::string with_head(const std::string& file, const ordered_json& head, std::uint32_t version = newest) {
  const std::vector<std::uint8_t> bytes = ordered_json::to_cbor(head);
  return with_head(file, std::string(bytes.begin(), bytes.end()), version);
}

}  // namespace

TEST_CASE("checkpoint: a file with any byte changed, cut off anywhere or with a tail is refused") {
  const std::string good = small_checkpoint();
  small_training target(-1.0f), untouched(-1.0f);
  std::uint64_t accepted = 0;
  for (std::size_t i = 0; i < good.size(); ++i)
    for (const int flip : {1, 0x80, 0xff}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ flip);
      accepted += refusal_of(bad, target.parts()).empty();
    }
  for (std::size_t size = 0; size < good.size(); ++size)
    accepted += refusal_of(good.substr(0, size), target.parts()).empty();
  accepted += refusal_of(good + '\0', target.parts()).empty();
  accepted += refusal_of(good + good, target.parts()).empty();
  CHECK(accepted == 0);
  CHECK(target == untouched);
  CHECK(refusal_of(good, target.parts()).empty());
  CHECK_FALSE(target == untouched);
}

TEST_CASE("checkpoint: absurd lengths and foreign heads are refused before they cost anything") {
  const std::string good = small_checkpoint();
  small_training target(-1.0f), untouched(-1.0f);
  const auto refused = [&](const std::string& bytes) { return refusal_of(bytes, target.parts()); };
  small_training fresh(-1.0f);
  CHECK(refusal_of(with_head(good, head_of(good)), fresh.parts()).empty());  // the helper makes what the library makes
  const auto changed = [&](const std::function<void(ordered_json&)>& change) {
    ordered_json head = head_of(good);
    change(head);
    return refused(with_head(good, head));
  };
  constexpr std::uint64_t huge = ~std::uint64_t{0};
  for (const std::uint64_t length : {huge, huge - 100, std::uint64_t{1} << 40, std::uint64_t{good.size()}}) {
    CHECK_THAT(refused(good.substr(0, 20) + integer(length) + good.substr(28)), ContainsSubstring("too long"));
    CHECK_THAT(refused(good.substr(0, 12) + integer(length + 1) + good.substr(20)), ContainsSubstring("should have"));
  }
  for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{2}, std::uint64_t{4}, huge, huge / 12 + 1})
    CHECK_THAT(
        changed([&](auto& head) { head["optimizers"][0]["groups"][0]["elements"] = count; }),
        ContainsSubstring("was saved with " + std::to_string(count) + " parameters in group 0, but is loaded into 3"));
  CHECK_THAT(changed([](auto& head) { head["optimizers"][0]["moments"] = "bfloat16"; }),
             ContainsSubstring("for its content"));
  CHECK_THAT(changed([](auto& head) { head["optimizers"][0]["moments"] = "float64"; }),
             ContainsSubstring("must be float32 or bfloat16"));
  CHECK_THAT(changed([](auto& head) { head["optimizers"][0]["has_copies"] = true; }),
             ContainsSubstring("for its content"));
  CHECK_THAT(changed([](auto& head) { head["optimizers"][0]["states"] = 4294967295u; }),
             ContainsSubstring("was saved by"));
  CHECK_THAT(changed([](auto& head) { head["optimizers"][0]["groups"][0]["sizes"] = {3}; }),
             ContainsSubstring("1 tensors"));
  CHECK_THAT(changed([](auto& head) { head["optimizers"][0]["groups"][0]["schedule"]["steps"] = 0; }),
             ContainsSubstring("schedule cannot be used"));
  CHECK_THAT(changed([](auto& head) { head["optimizers"][0]["groups"][0]["hyper"]["maximize"] = 2; }),
             ContainsSubstring("0 or 1"));
  CHECK_THAT(changed([](auto& head) { head["optimizers"][0]["groups"][0]["hyper"].erase("lr"); }),
             ContainsSubstring("hyper: the field \"lr\" is missing"));
  CHECK_THAT(changed([](auto& head) { head["optimizers"][0]["extra"] = 1; }), ContainsSubstring("\"extra\""));
  CHECK_THAT(changed([](auto& head) { head["extra"] = 1; }), ContainsSubstring("\"extra\""));
  CHECK_THAT(changed([](auto& head) { head["format"] = "other"; }), ContainsSubstring("is not a checkpoint"));
  CHECK_THAT(changed([](auto& head) { head["scaler"] = "x"; }), ContainsSubstring("scaler is \"x\""));
  CHECK_THAT(changed([](auto& head) { head["scaler"] = ordered_json::binary({1, 2}); }), ContainsSubstring("scaler"));
  CHECK_THAT(changed([](auto& head) { head["notes"] = "x"; }), ContainsSubstring("notes is \"x\""));
  CHECK_THAT(
      changed([](auto& head) { head["notes"] = ordered_json::binary(std::vector<std::uint8_t>((1 << 20) + 1)); }),
      ContainsSubstring("notes has 1048577 bytes"));
  CHECK_THAT(changed([](auto& head) { head["optimizers"][0]["kind"] = ordered_json::binary({65}); }),
             ContainsSubstring("kind is a byte string"));
  CHECK_THAT(changed([](auto& head) { head["scaler"] = nullptr; }), ContainsSubstring("load it without a scaler"));
  CHECK_THAT(changed([](auto& head) { head["optimizers"] = 3; }), ContainsSubstring("must be an array"));
  CHECK_THAT(changed([](auto& head) { head = 3; }), ContainsSubstring("is not a checkpoint"));
  CHECK_FALSE(refused(with_head(good, std::string(1 << 20, '\x81'))).empty());
  CHECK_FALSE(refused(with_head(good, "\x9b" + std::string(8, '\xff'))).empty());
  CHECK_THAT(refused(with_head(good, head_of(good), newest + 1)),
             ContainsSubstring("version is " + std::to_string(newest + 1) + ", which a newer syclamp has written"));
  CHECK_THAT(refused(with_head(good, head_of(good), 0)), ContainsSubstring("version is 0; it must be at least 1"));
  // Three million values of a byte each, in arrays that are not too long.
  const std::string million = "\x9a" + std::string("\0\x0f\xff\xff", 4) + std::string((1 << 20) - 1, '\x80');
  CHECK_THAT(refused(with_head(good, "\x83" + million + million + million)),
             ContainsSubstring("more than 2097152 values"));
  CHECK_THAT(refused("some text"), ContainsSubstring("truncated, or not a checkpoint"));
  CHECK_THAT(refused(std::string(1000, 'x')), ContainsSubstring("not a checkpoint: its first bytes are wrong"));
  CHECK(target == untouched);
}

TEST_CASE("checkpoint: hyper-parameters that no settings would give are refused by name and value") {
  const std::string good = small_checkpoint();
  small_training target(-1.0f), untouched(-1.0f);
  struct wrong {
    const char* where;
    ordered_json value;
    const char* complaint;
  };
  const std::vector<wrong> all{
      {"/hyper/lr", "nan", "adamw: lr is nan"},
      {"/hyper/lr", "inf", "adamw: lr is inf"},
      {"/hyper/lr", -0.5, "adamw: lr is -0.5"},
      {"/hyper/lr", 1e39, "hyper.lr is 1e+39"},
      {"/hyper/weight_decay", -1, "adamw: weight_decay is -1"},
      {"/hyper/eps", "-nan", "adamw: eps is -nan"},
      {"/hyper/momentum", "inf", "adamw: momentum is inf"},
      {"/hyper/lr_decay", -2, "adamw: lr_decay is -2"},
      {"/hyper/beta1/value", 1.5, "adamw: beta1 is 1.5"},
      {"/hyper/beta1/value", -0.25, "adamw: beta1 is -0.25"},
      {"/hyper/beta1/value", "nan", "adamw: beta1 is nan"},
      {"/hyper/beta1/complement", 0, "1 - beta1 is 0"},
      {"/hyper/beta1/complement", 1.5, "1 - beta1 is 1.5"},
      {"/hyper/beta2/complement", "nan", "1 - beta2 is nan"},
      {"/hyper/beta2/complement", -0.5, "1 - beta2 is -0.5"},
      {"/hyper/beta2/logarithm", 0, "its logarithm is 0"},
      {"/hyper/beta2/logarithm", 2, "its logarithm is 2"},
      {"/hyper/beta2/logarithm", "nan", "its logarithm is nan"},
      {"/hyper/beta1/value", 0.5, "beta1 is 0.5, but 1 - beta1 is 0.1"},
      {"/hyper/beta1/complement", 0.11, "1 - beta1 is 0.11"},
      {"/hyper/beta1/logarithm", -0.2, "its logarithm is -0.2, which belong to another number"},
      {"/hyper/beta2/logarithm", "-inf", "its logarithm is -inf, which belong to another number"},
      {"/hyper/maximize", 2, "adamw: maximize is 2; it must be 0 or 1"},
      {"/hyper/decoupled", 7, "adamw: decoupled is 7"},
      {"/hyper/nesterov", 4294967295u, "adamw: nesterov is 4294967295"},
      {"/schedule/gamma", "nan", "gamma is nan"},
      {"/schedule/lowest", -1, "lowest is -1"},
      {"/schedule/kind", "square", "schedule.kind is \"square\""},
      {"/schedule/kind", 3, "schedule.kind is 3"},
      {"/applied", ~std::uint64_t{0}, "groups[0].applied is 18446744073709551615"},
      {"/applied", (std::uint64_t{1} << 53) + 1, "groups[0].applied is 9007199254740993"},
      {"/applied", (std::uint64_t{1} << 52) + 1,
       "groups[0].applied is 4503599627370497"},  // could be saved, not for long
  };
  const auto refusal_with = [](const std::string& file, const char* where, const ordered_json& value,
                               const syclamp::checkpoint_parts& parts) {
    ordered_json head = head_of(file);
    head["optimizers"][0]["groups"][0][ordered_json::json_pointer(where)] = value;
    return refusal_of(with_head(file, head), parts);
  };
  for (const wrong& mistake : all) {
    CAPTURE(mistake.where);
    CHECK_THAT(refusal_with(good, mistake.where, mistake.value, target.parts()),
               ContainsSubstring("optimizer 0.groups[0]") && ContainsSubstring(mistake.complaint));
  }
  ordered_json foreign = head_of(good);
  foreign["optimizers"][0]["kind"] = "adamx";
  CHECK_THAT(refusal_of(with_head(good, foreign), target.parts()),
             ContainsSubstring("the optimizer \"adamx\" does not exist"));
  CHECK(target == untouched);

  foreign = head_of(good);
  foreign["optimizers"][0]["kernel"] = "\x1b[2J";
  CHECK_THAT(refusal_of(with_head(good, foreign), target.parts()), ContainsSubstring("adamw (\\x1b[2J)"));

  // Of SGD, beta1 is momentum and dampening, and neither has to be below 1.
  const syclamp::sgd settings{.momentum = 1.5, .dampening = 2};
  const temporary_folder folder;
  small_training saved(1.0f, settings), of_sgd(-1.0f, settings);
  syclamp::save_checkpoint(folder.path() / "file", saved.parts());
  const std::string file = content_of(folder.path() / "file");
  CHECK_THAT(refusal_with(file, "/hyper/beta1/value", -1, of_sgd.parts()), ContainsSubstring("sgd: momentum is -1"));
  CHECK_THAT(refusal_with(file, "/hyper/beta1/complement", 2, of_sgd.parts()), ContainsSubstring("dampening is -1"));
  CHECK_THAT(refusal_with(file, "/hyper/nesterov", 1, of_sgd.parts()), ContainsSubstring("needs a momentum and no"));
  CHECK(refusal_with(file, "/hyper/lr", 0.5, of_sgd.parts()).empty());
}

TEST_CASE("checkpoint: settings at the edge of what is possible are saved and loaded") {
  const temporary_folder folder;
  const double just_below = std::nextafter(1.0, 0.0);
  std::vector<syclamp::optimizer_settings> all{
      syclamp::adamw{.lr = 0, .betas = {just_below, 0.0}, .eps = 0, .weight_decay = 0},
      syclamp::adam{.lr = 3e38, .betas = {1e-300, just_below}},
      syclamp::sgd{.lr = 1, .momentum = 0.9, .nesterov = true},
      syclamp::sgd{.lr = 1},
      syclamp::sgd{.lr = 1, .momentum = 1e-50, .nesterov = true},  // a momentum of 0 in FP32
      syclamp::rmsprop{.alpha = just_below, .momentum = 5},
      syclamp::adagrad{.lr_decay = 3},
  };
  for (syclamp::optimizer_settings& settings : default_settings()) {
    all.push_back(settings);
    std::visit([](auto& own) { for_each_rate(own, [](const std::string&, double& rate) { rate = 0; }); }, settings);
    all.push_back(settings);
  }
  for (const auto& settings : all) {
    CAPTURE(settings.index());
    small_training saved(1.0f, settings), loaded(-1.0f, settings);
    syclamp::save_checkpoint(folder.path() / "file", saved.parts());
    CHECK(refusal_of(content_of(folder.path() / "file"), loaded.parts()).empty());
    CHECK(loaded.model.read() == saved.model.read());
  }
}

TEST_CASE("checkpoint: notes may be any bytes, and the head is CBOR that others can read") {
  const temporary_folder folder;
  const fs::path file = folder.path() / "file";
  small_training run(1.0f);
  const std::string notes("\xff\0\x80 notes", 9);
  syclamp::save_checkpoint(file, run.parts(), notes);
  CHECK(syclamp::load_checkpoint(file, run.parts()) == notes);
  const ordered_json head = head_of(content_of(file));
  CHECK(head["notes"].is_binary());
  CHECK(head["scaler"].is_binary());
}

TEST_CASE("checkpoint: a head that was forged at random is refused, or is one that can be saved again") {
  const std::string good = small_checkpoint();
  const std::string head = good.substr(front, head_length(good));
  std::mt19937 random(7);
  small_training target(-1.0f);
  const temporary_folder folder;
  int accepted = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string forged = head;
    for (auto n = random() % 3; n < 3; ++n) forged[random() % forged.size()] = static_cast<char>(random());
    if (!refusal_of(with_head(good, forged), target.parts()).empty()) continue;
    ++accepted;
    CHECK_NOTHROW(syclamp::save_checkpoint(folder.path() / "file", target.parts()));
  }
  CHECK(accepted < 1000);
  CHECK(accepted > 0);
}

TEST_CASE("checkpoint: what does not fit is refused by name, with both numbers, and nothing changes") {
  const temporary_folder folder;
  const fs::path file = folder.path() / "file";
  const auto refused = [&](resumable_training& run, const syclamp::checkpoint_parts& parts, const std::string& why) {
    const training_content before = run.read();
    const auto state = run.scaler.state();
    CHECK_THROWS_WITH(syclamp::load_checkpoint(file, parts),
                      ContainsSubstring(file.string()) && ContainsSubstring(why));
    CHECK(run.read() == before);
    CHECK(same(run.scaler.state(), state));
  };
  resumable_training saved(here(), syclamp::adam{}, plain, few_tensors());
  syclamp::save_checkpoint(file, saved.parts());

  resumable_training decoupled(here(), syclamp::adamw{}, plain, few_tensors());
  refused(decoupled, decoupled.parts(), "saved by adam (adam_step), but is loaded into adamw (adam_step)");
  resumable_training amsgrad(here(), syclamp::adam{.amsgrad = true}, plain, few_tensors());
  refused(amsgrad, amsgrad.parts(), "saved by adam (adam_step), but is loaded into adam (amsgrad_step)");
  resumable_training shorter(here(), syclamp::adam{}, plain, {{3000, 0}, {1156, 1}});
  refused(shorter, shorter.parts(), "saved with 1157 parameters in group 1, but is loaded into 1156");
  resumable_training other(here(), syclamp::adam{}, plain, few_tensors());
  refused(other, {{&other.optimizer}}, "pass a scaler");
  refused(other, {{}, &other.scaler}, "holds 1 optimizers, but 0 were given");

  // The scaler is the last to say no, and the optimizer has not changed then, either.
  syclamp::loss_scaler two_scales(here(), {}, {.scales = 2});
  saved.step(0);
  syclamp::save_checkpoint(file, saved.parts());
  refused(other, {{&other.optimizer}, &two_scales}, "1 scales, but the scaler has 2");

  resumable_training tensor_wise(here(), syclamp::novograd{}, plain, few_tensors());
  syclamp::save_checkpoint(file, tensor_wise.parts());
  resumable_training cut_otherwise(here(), syclamp::novograd{}, plain, many_tensors());
  refused(cut_otherwise, cut_otherwise.parts(),
          "saved with 1 tensors in group 0, but is loaded into 5; novograd has moments per tensor");
  resumable_training shifted(here(), syclamp::novograd{}, plain, {{1000, 0}, {2000, 0}, {1157, 1}});
  syclamp::save_checkpoint(file, shifted.parts());
  resumable_training back(here(), syclamp::novograd{}, plain, {{1001, 0}, {1999, 0}, {1157, 1}});
  refused(back, back.parts(), "saved with 1000 elements in tensor 0 of group 0, but is loaded into 1001");
}

TEST_CASE("checkpoint: half a step is not saved, and the old file stays") {
  const temporary_folder folder;
  const fs::path file = folder.path() / "file";
  small_training run(1.0f);
  syclamp::save_checkpoint(file, run.parts(), "old");
  const std::string old = content_of(file);
  run.scaler.begin_step();
  CHECK_THROWS_AS(syclamp::save_checkpoint(file, run.parts(), "new"), syclamp::misuse_error);
  CHECK(content_of(file) == old);
  CHECK_THROWS_WITH(syclamp::save_checkpoint(folder.path() / "absent" / "file", small_training(1.0f).parts()),
                    ContainsSubstring("absent/file: No such file"));
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);
}
