// SPDX-License-Identifier: Apache-2.0
// Runs cases that optimizers.py describes: a loss scaler and an optimizer, driven by gradients from a pipe.
//
//     optimizer_driver --defaults     the settings of every optimizer, as JSON
//     optimizer_driver                cases from standard input, answers on standard output
//
// A case is a line of JSON
//     {"optimizer": "adamw", "settings": {…}, "type": "float16", "sizes": [5, 1000], "max_norm": 1.0 or null,
//      "init": 1024, "interval": 20, "report": "..r"}
// and then raw bytes: the weights in FP32, then, for each character of "report", all gradients of a step, scaled. The
// answer to a step whose character is "r" is: the scale that comes next (FP32), the number of applied steps (64 bits),
// all weights (FP32), all moments (FP32, one after the other), and the model's copy if gradients have 16 bits.
#include <cstdint>
#include <iostream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "optimizer/optimizer_rules.hpp"
#include "syclamp/syclamp.hpp"
#include "tests/support/optimizer_fields.hpp"

namespace {

using namespace syclamp;
using nlohmann::json;

std::string to_string(const optimizer_settings& settings) { return std::string(rule_of(settings).name); }

/// Default settings, replaced by those that the case gives. The names of PyTorch's arguments are those of our members:
/// optimizers.py compares them.
optimizer_settings settings_of(const json& request) {
  for (optimizer_settings& known : default_settings()) {
    if (request.at("optimizer") != to_string(known)) continue;
    std::size_t used = 0;
    std::visit(
        [&](auto& settings) {
          for_each_setting(settings, [&](const char* name, auto& member) {
            if (!request.at("settings").contains(name)) return;
            request.at("settings").at(name).get_to(member);
            ++used;
          });
        },
        known);
    if (used != request.at("settings").size())
      throw invalid_argument("optimizer_driver: unknown settings among " + request.at("settings").dump());
    return known;
  }
  throw invalid_argument("optimizer_driver: no optimizer " + request.at("optimizer").dump());
}

json all_defaults() {
  json all;
  for (const optimizer_settings& known : default_settings())
    std::visit(
        [&](const auto& settings) {
          json& own = all[to_string(known)];
          for_each_setting(settings, [&](const char* name, const auto& member) { own[name] = member; });
        },
        known);
  return all;
}

element_type type_named(const std::string& name) {
  for (const element_type type : gradient_types)
    if (name == syclamp::to_string(type)) return type;
  throw invalid_argument("optimizer_driver: no gradients of type " + name);
}

/// Memory that host and device share, gone at the end.
class shared_memory {
 public:
  shared_memory(const engine& engine, std::size_t bytes)
      : queue_(engine.queue()), data_(sycl::aligned_alloc_shared<char>(64, bytes, queue_)), bytes_(bytes) {
    if (data_ == nullptr) throw out_of_memory_error("optimizer_driver: no memory");
  }
  ~shared_memory() { sycl::free(data_, queue_); }
  shared_memory(const shared_memory&) = delete;
  shared_memory& operator=(const shared_memory&) = delete;

  char* data() const { return data_; }
  void read() {
    if (!std::cin.read(data_, static_cast<std::streamsize>(bytes_)))
      throw invalid_argument("optimizer_driver: the input ends in the middle of a case");
  }
  void write() const { std::cout.write(data_, static_cast<std::streamsize>(bytes_)); }

 private:
  sycl::queue queue_;
  char* data_;
  std::size_t bytes_;
};

template <typename Value>
void write(const Value& value) {
  std::cout.write(reinterpret_cast<const char*>(&value), sizeof value);
}

class training {
 public:
  training(const engine& engine, const json& request)
      : engine_(engine),
        type_(type_named(request.at("type").get<std::string>())),
        sizes_(request.at("sizes").get<std::vector<std::uint64_t>>()),
        total_(0),
        weights_(engine, total() * sizeof(float)),
        gradients_(engine, total_ * bytes_per_element(type_)),
        model_(engine, total_ * bytes_per_element(type_)),
        optimizer_((weights_.read(), engine), parameters(), settings_of(request)),
        scaler_(engine, policy_of(request)),
        options_(options_of(request)) {}

  void step() {
    gradients_.read();
    scaler_.begin_step();
    scaler_.step(optimizer_, options_);
    scaler_.update();
    engine_.wait();
  }

  void report() const {
    write(scaler_.get_scale());
    write(optimizer_.steps());
    weights_.write();
    for (std::uint32_t k = 0; k < optimizer_.states(); ++k)
      for (std::size_t i = 0; i < optimizer_.size(); ++i) {
        const array_view moment = optimizer_.state(i, k);
        std::vector<float> values(moment.count());
        engine_.queue().memcpy(values.data(), moment.data(), values.size() * sizeof(float)).wait();
        std::cout.write(reinterpret_cast<const char*>(values.data()),
                        static_cast<std::streamsize>(values.size() * sizeof(float)));
      }
    if (type_ != element_type::float32) model_.write();
    std::cout.flush();
  }

 private:
  std::uint64_t total() {
    for (const auto size : sizes_) total_ += size;
    return total_;
  }

  static step_options options_of(const json& request) {
    const json& max_norm = request.at("max_norm");
    if (max_norm.is_null()) return {};
    return {.max_norm = max_norm.get<float>()};
  }

  static scaling_policy policy_of(const json& request) {
    scaling_policy policy = scaling_preset("pytorch");
    policy.init_scale = request.at("init");
    policy.growth_interval = request.at("interval");
    return policy;
  }

  std::vector<parameter> parameters() const {
    std::vector<parameter> all;
    std::uint64_t place = 0;
    for (const auto size : sizes_) {
      parameter parameter{.gradient = {gradients_.data() + place * bytes_per_element(type_), size, type_},
                          .master = {weights_.data() + place * sizeof(float), size, element_type::float32}};
      if (type_ != element_type::float32)
        parameter.model = {model_.data() + place * bytes_per_element(type_), size, type_};
      all.push_back(parameter);
      place += size;
    }
    return all;
  }

  engine engine_;
  element_type type_;
  std::vector<std::uint64_t> sizes_;
  std::uint64_t total_;
  shared_memory weights_, gradients_, model_;
  fused_optimizer optimizer_;
  loss_scaler scaler_;
  step_options options_;
};

int run() {
  const syclamp::engine engine;
  for (std::string line; std::getline(std::cin, line);) {
    const json request = json::parse(line);
    training run(engine, request);
    for (const char letter : request.at("report").get<std::string>()) {
      run.step();
      if (letter == 'r') run.report();
    }
  }
  return 0;
}

}  // namespace

int main(int count, char** words) try {
  std::ios::sync_with_stdio(false);
  if (count == 2 && std::string_view(words[1]) == "--defaults") {
    std::cout << all_defaults() << '\n';
    return 0;
  }
  return run();
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
