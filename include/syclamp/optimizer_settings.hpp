// SPDX-License-Identifier: Apache-2.0
/// \file
/// Settings of the library's optimizers, with the names and defaults of torch.optim.
#pragma once

#include <array>
#include <variant>

#include <syclamp/export.hpp>

namespace SYCLAMP_NAMESPACE {

/// Stochastic gradient descent. Without momentum it has no moments.
struct sgd {
  double lr = 1e-3, momentum = 0.0, dampening = 0.0, weight_decay = 0.0;
  bool nesterov = false, maximize = false;
};

/// Adam. Weight decay is added to the gradient.
struct adam {
  double lr = 1e-3;
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8, weight_decay = 0.0;
  bool amsgrad = false, maximize = false;
};

/// AdamW: Adam with decoupled weight decay.
struct adamw {
  double lr = 1e-3;
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8, weight_decay = 1e-2;
  bool amsgrad = false, maximize = false;
};

/// Lion. Weight decay is decoupled. PyTorch has no Lion; names are those of the paper (Chen et al., 2023).
struct lion {
  double lr = 1e-4;
  std::array<double, 2> betas = {0.9, 0.99};
  double weight_decay = 0.0;
  bool maximize = false;
};

/// Adagrad. Weight decay is added to the gradient.
struct adagrad {
  double lr = 1e-2, lr_decay = 0.0, weight_decay = 0.0, initial_accumulator_value = 0.0, eps = 1e-10;
  bool maximize = false;
};

/// RMSprop. Weight decay is added to the gradient.
struct rmsprop {
  double lr = 1e-2, alpha = 0.99, eps = 1e-8, weight_decay = 0.0, momentum = 0.0;
  bool centered = false, maximize = false;
};

/// LAMB. Weight decay is decoupled. Three passes, which move 42 bytes per parameter including the inspection. Names are
/// those of the paper (You et al., 2020).
struct lamb {
  double lr = 1e-3;
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-6, weight_decay = 1e-2;
  bool maximize = false;
};

/// NovoGrad. Weight decay is added to the normalised gradient. Three passes, which move 24 bytes per parameter
/// including the inspection. Names are those of the paper (Ginsburg et al., 2019).
struct novograd {
  double lr = 1e-2;
  std::array<double, 2> betas = {0.95, 0.98};
  double eps = 1e-8, weight_decay = 0.0;
  bool maximize = false;
};

/// Adadelta. Weight decay is added to the gradient.
struct adadelta {
  double lr = 1.0, rho = 0.9, eps = 1e-6, weight_decay = 0.0;
  bool maximize = false;
};

/// An optimizer and its hyper-parameters.
using optimizer_settings = std::variant<sgd, adam, adamw, lion, adagrad, rmsprop, lamb, novograd, adadelta>;

}  // namespace SYCLAMP_NAMESPACE
