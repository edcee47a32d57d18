# SPDX-License-Identifier: Apache-2.0
"""What the tests of syclamp.torch share: small models, fixed gradients, and how far two optimizers may be apart."""
import math

import torch

import syclamp.torch

SHAPES = ((17, 9), (33,), (4, 3, 5), (), (1000,))
UNIT = 2.0**-24  # of rounding in FP32


def make_parameters(dtype=torch.float32, shapes=SHAPES, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return [torch.nn.Parameter(torch.randn(shape, generator=generator).to(dtype)) for shape in shapes]


def make_gradients(steps, dtype=torch.float32, shapes=SHAPES, seed=2, scale=1.0):
    """Gradients for several steps that do not depend on the weights, so that rounding errors do not feed back."""
    generator = torch.Generator().manual_seed(seed)
    return [[(scale * torch.randn(shape, generator=generator)).to(dtype) for shape in shapes] for _ in range(steps)]


def set_gradients(parameters, gradients):
    for p, g in zip(parameters, gradients):
        p.grad = None if g is None else g.clone()


def train(optimizer, parameters, all_gradients):
    for gradients in all_gradients:
        set_gradients(parameters, gradients)
        optimizer.step()


def allowed(parameters, steps, lr):
    """How far the weights of two FP32 implementations may be apart after `steps` steps with equal gradients.

    Each of them rounds a weight at most three times per step, for decay, for the move and for the store: 3 u |w|. The move itself is a product of
    at most 16 factors and sums, each rounded once, and moments carry the errors of at most 1 / (1 - beta) = 1000 earlier steps, of which there are
    `steps`: 16 u (1 + steps) of its size, which is lr times a number below 10 for these gradients. Two implementations: twice as much."""
    largest = max(p.detach().abs().max().item() for p in parameters)
    return 2 * steps * UNIT * (3 * largest + 16 * (1 + steps) * 10 * lr)


def distance(first, second):
    return max((a.detach().double() - b.detach().double()).abs().max().item() for a, b in zip(first, second))


def make_model(seed=3, width=24, dtype=torch.float32):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(8, width), torch.nn.Tanh(), torch.nn.Linear(width, 4)).to(dtype)


def make_batches(count, seed=4):
    generator = torch.Generator().manual_seed(seed)
    return [(torch.randn(16, 8, generator=generator), torch.randn(16, 4, generator=generator)) for _ in range(count)]


def loss_of(model, batch):
    return torch.nn.functional.mse_loss(model(batch[0]), batch[1])


def advance(scaler, overflows):
    """Makes a step per entry, and returns scale and growth tracker after each."""
    p = torch.nn.Parameter(torch.ones(3))
    optimizer = syclamp.torch.SGD([p])
    scaler.scale(torch.ones(()))
    trace = []
    for overflow in overflows:
        p.grad = torch.full((3,), math.inf if overflow else 1.0)
        scaler.step(optimizer)
        scaler.update()
        trace.append((scaler.get_scale(), scaler._get_growth_tracker()))
    return trace
