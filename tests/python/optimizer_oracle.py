# SPDX-License-Identifier: Apache-2.0
"""The optimizers in double precision, written from their papers and from the documentation of torch.optim."""

import numpy


def sgd(w, g, s, t, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    g = g + weight_decay * w
    if momentum:
        s["m"] = g if t == 1 else momentum * s["m"] + (1 - dampening) * g
        g = g + momentum * s["m"] if nesterov else s["m"]
    return w - lr * g


def _adam(w, g, s, t, lr, betas, eps, amsgrad):
    s["m"] = betas[0] * s.get("m", 0) + (1 - betas[0]) * g
    s["v"] = betas[1] * s.get("v", 0) + (1 - betas[1]) * g * g
    s["max"] = numpy.maximum(s.get("max", 0), s["v"])
    second = (s["max"] if amsgrad else s["v"]) / (1 - betas[1] ** t)
    return w - lr * s["m"] / (1 - betas[0] ** t) / (numpy.sqrt(second) + eps)


def adam(w, g, s, t, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, amsgrad=False):
    return _adam(w, g + weight_decay * w, s, t, lr, betas, eps, amsgrad)


def adamw(w, g, s, t, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False):
    return _adam(w * (1 - lr * weight_decay), g, s, t, lr, betas, eps, amsgrad)


def lion(w, g, s, t, lr, betas=(0.9, 0.99), weight_decay=0.0):
    m = s.get("m", numpy.zeros_like(w))
    direction = numpy.sign(betas[0] * m + (1 - betas[0]) * g)
    s["m"] = betas[1] * m + (1 - betas[1]) * g
    return w * (1 - lr * weight_decay) - lr * direction


def adagrad(w, g, s, t, lr, lr_decay=0.0, weight_decay=0.0, initial_accumulator_value=0.0, eps=1e-10):
    g = g + weight_decay * w
    s["v"] = s.get("v", initial_accumulator_value) + g * g
    return w - lr / (1 + (t - 1) * lr_decay) * g / (numpy.sqrt(s["v"]) + eps)


def rmsprop(w, g, s, t, lr, alpha=0.99, eps=1e-8, weight_decay=0.0, momentum=0.0, centered=False):
    g = g + weight_decay * w
    s["v"] = alpha * s.get("v", 0) + (1 - alpha) * g * g
    s["mean"] = alpha * s.get("mean", 0) + (1 - alpha) * g
    update = g / (numpy.sqrt(s["v"] - (s["mean"] ** 2 if centered else 0)) + eps)
    s["m"] = momentum * s.get("m", 0) + update
    return w - lr * s["m"]


def adadelta(w, g, s, t, lr, rho=0.9, eps=1e-6, weight_decay=0.0):
    g = g + weight_decay * w
    s["v"] = rho * s.get("v", 0) + (1 - rho) * g * g
    update = numpy.sqrt(s.get("d", 0) + eps) / numpy.sqrt(s["v"] + eps) * g
    s["d"] = rho * s.get("d", 0) + (1 - rho) * update**2
    return w - lr * update


def lamb(w, g, s, t, lr, betas=(0.9, 0.999), eps=1e-6, weight_decay=1e-2):
    s["m"] = betas[0] * s.get("m", 0) + (1 - betas[0]) * g
    s["v"] = betas[1] * s.get("v", 0) + (1 - betas[1]) * g * g
    update = s["m"] / (1 - betas[0] ** t) / (numpy.sqrt(s["v"] / (1 - betas[1] ** t)) + eps) + weight_decay * w
    length, step = numpy.linalg.norm(w), numpy.linalg.norm(update)
    return w - lr * (length / step if length > 0 and step > 0 else 1) * update


def novograd(w, g, s, t, lr, betas=(0.95, 0.98), eps=1e-8, weight_decay=0.0):
    square = (g * g).sum()
    s["v"] = square if t == 1 else betas[1] * s["v"] + (1 - betas[1]) * square
    s["m"] = betas[0] * s.get("m", 0) + (g / (numpy.sqrt(s["v"]) + eps) + weight_decay * w)
    return w - lr * s["m"]
