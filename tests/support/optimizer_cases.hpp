// SPDX-License-Identifier: Apache-2.0
// Optimizers to test, described twice: for the library and for the oracle.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "syclamp/fused_optimizer.hpp"
#include "tests/reference/optimizers.hpp"

struct optimizer_case {
  std::string name;
  syclamp::optimizer_settings settings;
  reference::optimizer_settings expected;
};

inline const std::vector<optimizer_case>& tensor_wise_cases() {
  static const std::vector<optimizer_case> all = {
      {"lamb",
       syclamp::lamb{.lr = 0.01, .weight_decay = 0.1},
       {.optimizer = "lamb", .lr = 0.01, .weight_decay = 0.1, .eps = 1e-6, .beta1 = 0.9, .beta2 = 0.999}},
      {"novograd",
       syclamp::novograd{.weight_decay = 0.1, .maximize = true},
       {.optimizer = "novograd",
        .lr = 0.01,
        .weight_decay = 0.1,
        .eps = 1e-8,
        .beta1 = 0.95,
        .beta2 = 0.98,
        .maximize = true}},
  };
  return all;
}

inline const std::vector<optimizer_case>& optimizer_cases() {
  static const std::vector<optimizer_case> all = {
      {"sgd", syclamp::sgd{.lr = 0.1}, {.optimizer = "sgd", .lr = 0.1}},
      {"sgd, decay",
       syclamp::sgd{.lr = 0.1, .weight_decay = 0.2, .maximize = true},
       {.optimizer = "sgd", .lr = 0.1, .weight_decay = 0.2, .maximize = true}},
      {"momentum",
       syclamp::sgd{.lr = 0.1, .momentum = 0.9, .dampening = 0.4, .weight_decay = 0.01},
       {.optimizer = "sgd", .lr = 0.1, .weight_decay = 0.01, .momentum = 0.9, .dampening = 0.4}},
      {"nesterov",
       syclamp::sgd{.lr = 0.1, .momentum = 0.9, .nesterov = true},
       {.optimizer = "sgd", .lr = 0.1, .momentum = 0.9, .nesterov = true}},
      {"adam", syclamp::adam{}, {.optimizer = "adam", .lr = 1e-3, .eps = 1e-8, .beta1 = 0.9, .beta2 = 0.999}},
      {"adam, decay",
       syclamp::adam{.lr = 1e-2, .eps = 1e-6, .weight_decay = 0.1, .maximize = true},
       {.optimizer = "adam",
        .lr = 1e-2,
        .weight_decay = 0.1,
        .eps = 1e-6,
        .beta1 = 0.9,
        .beta2 = 0.999,
        .maximize = true}},
      {"adamw",
       syclamp::adamw{},
       {.optimizer = "adamw", .lr = 1e-3, .weight_decay = 1e-2, .eps = 1e-8, .beta1 = 0.9, .beta2 = 0.999}},
      {"adamw, betas 0",
       syclamp::adamw{.lr = 1e-2, .betas = {0.0, 0.0}, .eps = 1e-3},
       {.optimizer = "adamw", .lr = 1e-2, .weight_decay = 1e-2, .eps = 1e-3}},
      {"amsgrad",
       syclamp::adamw{.betas = {0.8, 0.99}, .amsgrad = true},
       {.optimizer = "adamw",
        .lr = 1e-3,
        .weight_decay = 1e-2,
        .eps = 1e-8,
        .beta1 = 0.8,
        .beta2 = 0.99,
        .amsgrad = true}},
      {"lion",
       syclamp::lion{.lr = 1e-2, .weight_decay = 0.1, .maximize = true},
       {.optimizer = "lion", .lr = 1e-2, .weight_decay = 0.1, .beta1 = 0.9, .beta2 = 0.99, .maximize = true}},
      {"adagrad",
       syclamp::adagrad{.lr_decay = 0.5, .weight_decay = 0.1},
       {.optimizer = "adagrad", .lr = 1e-2, .weight_decay = 0.1, .eps = 1e-10, .lr_decay = 0.5}},
      {"adadelta", syclamp::adadelta{}, {.optimizer = "adadelta", .lr = 1, .eps = 1e-6, .rho = 0.9}},
      {"adadelta, decay",
       syclamp::adadelta{.lr = 0.1, .rho = 0.5, .eps = 1e-4, .weight_decay = 0.1, .maximize = true},
       {.optimizer = "adadelta", .lr = 0.1, .weight_decay = 0.1, .eps = 1e-4, .rho = 0.5, .maximize = true}},
      {"rmsprop", syclamp::rmsprop{}, {.optimizer = "rmsprop", .lr = 1e-2, .eps = 1e-8, .alpha = 0.99}},
      {"rmsprop, momentum",
       syclamp::rmsprop{.weight_decay = 0.1, .momentum = 0.9},
       {.optimizer = "rmsprop", .lr = 1e-2, .weight_decay = 0.1, .eps = 1e-8, .momentum = 0.9, .alpha = 0.99}},
      {"rmsprop, centred",
       syclamp::rmsprop{.eps = 1e-3, .centered = true},
       {.optimizer = "rmsprop", .lr = 1e-2, .eps = 1e-3, .alpha = 0.99, .centered = true}},
      {"rmsprop, all",
       syclamp::rmsprop{.eps = 1e-3, .momentum = 0.5, .centered = true},
       {.optimizer = "rmsprop", .lr = 1e-2, .eps = 1e-3, .momentum = 0.5, .alpha = 0.99, .centered = true}},
  };
  return all;
}

/// The case with this name.
inline const optimizer_case& optimizer_case_named(std::string_view name) {
  const auto& all = optimizer_cases();
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& entry) { return entry.name == name; });
  if (found == all.end()) throw std::out_of_range("there is no case " + std::string(name));
  return *found;
}
