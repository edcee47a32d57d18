# SPDX-License-Identifier: Apache-2.0
"""How far a trajectory in FP32 may be from the one in FP64: a running error analysis, element by element.

Gradients are given, they do not depend on the weights. So the error of every number obeys the same recursion as the number,
plus what this step's roundings add: a few u = 2^-24 of the terms that are added up. The recursions below are the derivatives
of the optimizers' formulas; the terms come from the run in FP64. The counts of roundings are those of the comment in
tests/support/training.hpp. Second order terms are left out: errors are below 1e-4 of their numbers, so ONE_MORE covers them.
"""
import dataclasses
from typing import Callable

import torch

U = 2.0**-24
ONE_MORE = 1.01
# The norm: at most 64 + 64 + 16 + 6 additions of positive terms follow each other, and each square is rounded: 151 u, which the
# root halves, and is rounded. Then 1e-6 is added, divided, and multiplied by the scale's reciprocal and by the gradient.
CLIP = 76 + 1 + 4



@dataclasses.dataclass
class Optimizer:
    """What the comparison needs to know of an optimizer of torch.optim."""
    bound: Callable  # a method of Bounds: the move of the weights, and the error of it
    cases: list      # settings to compare
    moments: Callable  # names of the moments, by the settings, in the order in which ours has them
    is_decoupled: bool = False  # weights decay by themselves, not by way of the gradient


OPTIMIZERS = {}  # by the name in torch.optim, which is ours in lower case


def compared(name, **known):
    """Adds the method below it to OPTIMIZERS."""
    def add(bound):
        OPTIMIZERS[name] = Optimizer(bound, **known)
        return bound
    return add


def rooted(value, error):
    """The error of a root, without its own rounding."""
    return torch.where(value > 0, error / (2 * value.sqrt().clamp_min(1e-300)), error.sqrt())


class Bounds:
    """Bounds of the errors of the weights and the moments after each applied step. Moments begin right."""

    def __init__(self, kind, settings, clips, weights):
        self.by = settings
        self.kind = kind
        self.clips = clips
        self.weights = torch.zeros_like(weights)
        self.moments = {}
        self.known = {}
        self.steps = 0

    def error(self, name):
        return self.moments.get(name, torch.zeros_like(self.weights))

    def step(self, g, w, before, after):
        """`g` unscaled, clipped, not negated; `w` the weights before the step; moments before and after it, by name."""
        self.steps += 1
        decay = self.by["weight_decay"]
        e = CLIP * U * g.abs() if self.clips else torch.zeros_like(g)
        g = -g if self.by["maximize"] else g
        optimizer = OPTIMIZERS[self.kind]
        if decay != 0 and not optimizer.is_decoupled:
            e = e + decay * self.weights + 3 * U * (g.abs() + decay * w.abs())  # wd is rounded, a product, a sum
            g = g + decay * w
        move, e_move = optimizer.bound(self, g, e, before, after)
        kept = 1.0
        if optimizer.is_decoupled:
            kept = 1 - self.by["lr"] * decay
            e_move = e_move + 2 * U * w.abs()  # the factor, and the product
        self.weights = kept * self.weights + e_move + U * (w.abs() + move.abs())

    def by_lr(self, direction, e):
        return self.by["lr"] * direction, self.by["lr"] * (e + 2 * U * direction.abs())  # lr is rounded, a product

    @compared("SGD", moments=lambda by: ["momentum_buffer"] if by["momentum"] else [], cases=[
        {},
        {"lr": 0.01, "momentum": 0.9},
        {"lr": 0.01, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
        {"lr": 0.01, "momentum": 0.8, "dampening": 0.3, "maximize": True},
    ])
    def sgd(self, g, e, before, after):
        momentum = self.by["momentum"]
        if momentum == 0:
            return self.by_lr(g, e)
        name = "momentum_buffer"
        if self.steps == 1:
            self.moments[name] = e
        else:
            kept, new = momentum, 1 - self.by["dampening"]  # both rounded, two products, a sum
            self.moments[name] = (kept * self.error(name) + new * e
                                  + 3 * U * (kept * before[name].abs() + new * g.abs()))
        if not self.by["nesterov"]:
            return self.by_lr(after[name], self.moments[name])
        direction = g + momentum * after[name]
        return self.by_lr(direction, e + momentum * self.moments[name]
                          + 3 * U * (g.abs() + momentum * after[name].abs()))

    def known_part(self, name):
        return self.known.get(name, torch.zeros_like(self.weights))

    def mean(self, name, beta, g, e, before):
        """A moving mean of gradients: β and 1 - β rounded, a difference or two products, a sum. Who multiplies by β instead of
        interpolating makes the same error in each step, that of β in FP32; so that part of it is known."""
        too_much = torch.tensor(beta, dtype=torch.float32).double().item() - beta
        self.known[name] = beta * self.known_part(name) + too_much * before[name]
        self.moments[name] = (beta * self.error(name) + (1 - beta) * e
                              + 4 * U * (beta * before[name].abs() + (1 - beta) * g.abs()))

    def mean_square(self, name, beta, g, e, before):
        self.moments[name] = (beta * self.error(name) + (1 - beta) * 2 * g.abs() * e
                              + 5 * U * (beta * before[name] + (1 - beta) * g * g))

    @compared("Adam", moments=lambda by: ["exp_avg", "exp_avg_sq"] + ["max_exp_avg_sq"] * by["amsgrad"], cases=[
        {},
        {"weight_decay": 0.01, "betas": (0.8, 0.95), "eps": 1e-4, "maximize": True},
        {"amsgrad": True},
    ])
    @compared("AdamW", moments=lambda by: ["exp_avg", "exp_avg_sq"] + ["max_exp_avg_sq"] * by["amsgrad"], cases=[
        {},
        {"lr": 0.01, "weight_decay": 0.1, "amsgrad": True},
        {"maximize": True},
    ], is_decoupled=True)
    def adam(self, g, e, before, after):
        beta1, beta2 = self.by["betas"]
        self.mean("exp_avg", beta1, g, e, before)
        self.mean_square("exp_avg_sq", beta2, g, e, before)
        second = "exp_avg_sq"
        if self.by["amsgrad"]:
            second = "max_exp_avg_sq"
            self.moments[second] = torch.maximum(self.error(second), self.moments["exp_avg_sq"])
        bias1, bias2 = 1 - beta1**self.steps, 1 - beta2**self.steps
        root = after[second].sqrt() / bias2**0.5
        d = root + self.by["eps"]
        # the root, the root of 1 - β^t, which is right to 4 u, a product or quotient, eps, a sum
        e_d = rooted(after[second], self.moments[second]) / bias2**0.5 + 6 * U * d
        m = after["exp_avg"].abs()
        step = self.by["lr"] / bias1  # right to 6 u; a product, a quotient
        return step * m / d, step * (self.moments["exp_avg"] / d + m * e_d / d**2 + 8 * U * m / d)

    @compared("Adagrad", moments=lambda by: ["sum"], cases=[
        {},
        {"lr_decay": 0.01, "weight_decay": 0.01, "initial_accumulator_value": 0.1, "maximize": True},
    ])
    def adagrad(self, g, e, before, after):
        name = "sum"
        self.moments[name] = self.error(name) + 2 * g.abs() * e + U * g * g + U * after[name]
        d = after[name].sqrt() + self.by["eps"]
        e_d = rooted(after[name], self.moments[name]) + 3 * U * d  # the root, eps, a sum
        lr = self.by["lr"] / (1 + (self.steps - 1) * self.by["lr_decay"])  # right to 4 u; a product, a quotient
        return lr * g / d, lr * (e / d + g.abs() * e_d / d**2 + 6 * U * g.abs() / d)

    @compared("Adadelta", moments=lambda by: ["square_avg", "acc_delta"], cases=[
        {},
        {"lr": 0.1, "rho": 0.5, "eps": 1e-4, "weight_decay": 0.01, "maximize": True},
    ])
    def adadelta(self, g, e, before, after):
        rho, eps = self.by["rho"], self.by["eps"]
        e_u = self.error("acc_delta")  # of the steps before
        self.mean_square("square_avg", rho, g, e, before)
        # for each mean square: eps and a sum, halved by the root, and the root
        n, d = (before["acc_delta"] + eps).sqrt(), (after["square_avg"] + eps).sqrt()
        e_n = e_u / (2 * n) + 2 * U * n
        e_d = self.moments["square_avg"] / (2 * d) + 2 * U * d
        delta = n / d * g
        e_delta = n / d * e + g.abs() * (e_n / d + n * e_d / d**2) + 2 * U * delta.abs()  # a quotient, a product
        self.mean_square("acc_delta", rho, delta, e_delta, before)
        return self.by_lr(delta, e_delta)

    @compared("RMSprop", cases=[
        {},
        {"momentum": 0.9, "weight_decay": 0.01},
        {"centered": True, "maximize": True},
        {"centered": True, "momentum": 0.5, "alpha": 0.9},
    ], moments=lambda by: ["square_avg"] + ["momentum_buffer"] * (by["momentum"] > 0) + ["grad_avg"] * by["centered"])
    def rmsprop(self, g, e, before, after):
        alpha, momentum = self.by["alpha"], self.by["momentum"]
        self.mean_square("square_avg", alpha, g, e, before)
        x, e_x = after["square_avg"], self.moments["square_avg"]
        if self.by["centered"]:
            self.mean("grad_avg", alpha, g, e, before)
            m = after["grad_avg"].abs()
            e_x = e_x + 2 * m * self.moments["grad_avg"] + U * (x + 2 * m * m)
            x = x - m * m
        d = x.clamp_min(0).sqrt() + self.by["eps"]
        e_d = rooted(x, e_x) + 3 * U * d
        direction, e_direction = g / d, e / d + g.abs() * e_d / d**2 + U * g.abs() / d
        if momentum > 0:
            name = "momentum_buffer"
            self.moments[name] = (momentum * self.error(name) + e_direction
                                  + 3 * U * (momentum * before[name].abs() + direction.abs()))
            direction, e_direction = after[name], self.moments[name]
        return self.by_lr(direction, e_direction)
