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
  double lr = 1e-3;           ///< learning rate
  double momentum = 0.0;      ///< momentum factor; 0: no momentum and no state
  double dampening = 0.0;     ///< dampening of the momentum
  double weight_decay = 0.0;  ///< weight decay
  bool nesterov = false;      ///< Nesterov's momentum; needs a momentum and no dampening
  bool maximize = false;      ///< maximizes the loss instead of minimizing it
};

/// Adam. Weight decay is added to the gradient.
struct adam {
  double lr = 1e-3;                            ///< learning rate
  std::array<double, 2> betas = {0.9, 0.999};  ///< decay rates of the first and the second moment
  double eps = 1e-8;                           ///< added to the denominator
  double weight_decay = 0.0;                   ///< weight decay
  bool amsgrad = false;                        ///< uses the largest second moment so far
  bool maximize = false;                       ///< maximizes the loss instead of minimizing it
};

/// AdamW: Adam with decoupled weight decay.
struct adamw {
  double lr = 1e-3;                            ///< learning rate
  std::array<double, 2> betas = {0.9, 0.999};  ///< decay rates of the first and the second moment
  double eps = 1e-8;                           ///< added to the denominator
  double weight_decay = 1e-2;                  ///< weight decay
  bool amsgrad = false;                        ///< uses the largest second moment so far
  bool maximize = false;                       ///< maximizes the loss instead of minimizing it
};

/// Lion. Weight decay is decoupled. PyTorch has no Lion; names are those of the paper (Chen et al., 2023).
struct lion {
  double lr = 1e-4;                           ///< learning rate
  std::array<double, 2> betas = {0.9, 0.99};  ///< decay rates of the update direction and of the momentum
  double weight_decay = 0.0;                  ///< weight decay
  bool maximize = false;                      ///< maximizes the loss instead of minimizing it
};

/// Adagrad. Weight decay is added to the gradient.
struct adagrad {
  double lr = 1e-2;                        ///< learning rate
  double lr_decay = 0.0;                   ///< decay of the learning rate
  double weight_decay = 0.0;               ///< weight decay
  double initial_accumulator_value = 0.0;  ///< initial value of the sum of squares
  double eps = 1e-10;                      ///< added to the denominator
  bool maximize = false;                   ///< maximizes the loss instead of minimizing it
};

/// RMSprop. Weight decay is added to the gradient.
struct rmsprop {
  double lr = 1e-2;           ///< learning rate
  double alpha = 0.99;        ///< decay rate of the second moment
  double eps = 1e-8;          ///< added to the denominator
  double weight_decay = 0.0;  ///< weight decay
  double momentum = 0.0;      ///< momentum factor; 0: no momentum
  bool centered = false;      ///< normalises by the variance instead of the second moment
  bool maximize = false;      ///< maximizes the loss instead of minimizing it
};

/// LAMB. Weight decay is decoupled. Three passes, which move 42 bytes per parameter including the inspection. Names are
/// those of the paper (You et al., 2020).
struct lamb {
  double lr = 1e-3;                            ///< learning rate
  std::array<double, 2> betas = {0.9, 0.999};  ///< decay rates of the first and the second moment
  double eps = 1e-6;                           ///< added to the denominator
  double weight_decay = 1e-2;                  ///< weight decay
  bool maximize = false;                       ///< maximizes the loss instead of minimizing it
};

/// NovoGrad. Weight decay is added to the normalised gradient. Three passes, which move 24 bytes per parameter
/// including the inspection. Names are those of the paper (Ginsburg et al., 2019).
struct novograd {
  double lr = 1e-2;                            ///< learning rate
  std::array<double, 2> betas = {0.95, 0.98};  ///< decay rates of the first and the second moment
  double eps = 1e-8;                           ///< added to the denominator
  double weight_decay = 0.0;                   ///< weight decay
  bool maximize = false;                       ///< maximizes the loss instead of minimizing it
};

/// Adadelta. Weight decay is added to the gradient.
struct adadelta {
  double lr = 1.0;            ///< learning rate
  double rho = 0.9;           ///< decay rate of both moments
  double eps = 1e-6;          ///< added to the denominator
  double weight_decay = 0.0;  ///< weight decay
  bool maximize = false;      ///< maximizes the loss instead of minimizing it
};

/// An optimizer and its hyper-parameters.
using optimizer_settings = std::variant<sgd, adam, adamw, lion, adagrad, rmsprop, lamb, novograd, adadelta>;

}  // namespace SYCLAMP_NAMESPACE
