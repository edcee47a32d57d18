# SPDX-License-Identifier: Apache-2.0
"""Optimizers with FP32 master weights, on arrays. Names and defaults of settings are those of torch.optim."""

from __future__ import annotations

from typing import Any, Unpack

from .engine import Engine
from .optimizer import Optimizer as Optimizer  # `as`: importable from here
from .optimizer import Storage


class _Common(Storage, total=False):
    lr: float  #: learning rate
    weight_decay: float  #: weight decay
    maximize: bool  #: maximizes the loss instead of minimizing it


class _Adam(_Common, total=False):
    betas: tuple[float, float]
    eps: float
    amsgrad: bool


class _Lion(_Common, total=False):
    betas: tuple[float, float]


class _LayerWise(_Common, total=False):
    betas: tuple[float, float]
    eps: float


class _SGD(_Common, total=False):
    momentum: float
    dampening: float
    nesterov: bool


class _Adagrad(_Common, total=False):
    lr_decay: float
    initial_accumulator_value: float
    eps: float


class _RMSprop(_Common, total=False):
    alpha: float
    eps: float
    momentum: float
    centered: bool


class _Adadelta(_Common, total=False):
    rho: float
    eps: float


class SGD(Optimizer):
    """Stochastic gradient descent: lr, momentum, dampening, weight_decay, nesterov, maximize.

    >>> import array, syclamp
    >>> weights, gradients = array.array("f", [1.0]), array.array("f", [0.5])
    >>> syclamp.SGD(weights, gradients, lr=1.0).step()
    >>> weights
    array('f', [0.5])
    """

    name = "sgd"

    def __init__(
        self, weights: Any, gradients: Any = None, *, masters: Any = None, engine: Engine | None = None,
        **settings: Unpack[_SGD],
    ) -> None:
        super().__init__(weights, gradients, masters=masters, engine=engine, **settings)


class Adam(Optimizer):
    """Adam: lr, betas, eps, weight_decay (added to the gradient), amsgrad, maximize.

    >>> import array, syclamp
    >>> weights, gradients = array.array("f", [1.0]), array.array("f", [0.5])
    >>> syclamp.Adam(weights, gradients, lr=0.125).step()
    >>> round(weights[0], 4)
    0.875
    """

    name = "adam"

    def __init__(
        self, weights: Any, gradients: Any = None, *, masters: Any = None, engine: Engine | None = None,
        **settings: Unpack[_Adam],
    ) -> None:
        super().__init__(weights, gradients, masters=masters, engine=engine, **settings)


class AdamW(Optimizer):
    """Adam with decoupled weight decay: lr, betas, eps, weight_decay, amsgrad, maximize.

    >>> import array, syclamp
    >>> weights, gradients = array.array("f", [1.0]), array.array("f", [0.5])
    >>> optimizer = syclamp.AdamW({"bias": weights}, [gradients], lr=0.125, weight_decay=0.0)
    >>> optimizer.step()
    >>> round(weights[0], 6), optimizer.progress().applied
    (0.875, 1)
    """

    name = "adamw"

    def __init__(
        self, weights: Any, gradients: Any = None, *, masters: Any = None, engine: Engine | None = None,
        **settings: Unpack[_Adam],
    ) -> None:
        super().__init__(weights, gradients, masters=masters, engine=engine, **settings)


class Lion(Optimizer):
    """Lion: lr, betas, weight_decay (decoupled), maximize.

    >>> import array, syclamp
    >>> weights, gradients = array.array("f", [1.0]), array.array("f", [0.5])
    >>> syclamp.Lion(weights, gradients, lr=0.125).step()
    >>> round(weights[0], 4)
    0.875
    """

    name = "lion"

    def __init__(
        self, weights: Any, gradients: Any = None, *, masters: Any = None, engine: Engine | None = None,
        **settings: Unpack[_Lion],
    ) -> None:
        super().__init__(weights, gradients, masters=masters, engine=engine, **settings)


class Adagrad(Optimizer):
    """Adagrad: lr, lr_decay, weight_decay, initial_accumulator_value, eps, maximize.

    >>> import array, syclamp
    >>> weights, gradients = array.array("f", [1.0]), array.array("f", [0.5])
    >>> syclamp.Adagrad(weights, gradients, lr=0.125).step()
    >>> round(weights[0], 4)
    0.875
    """

    name = "adagrad"

    def __init__(
        self, weights: Any, gradients: Any = None, *, masters: Any = None, engine: Engine | None = None,
        **settings: Unpack[_Adagrad],
    ) -> None:
        super().__init__(weights, gradients, masters=masters, engine=engine, **settings)


class RMSprop(Optimizer):
    """RMSprop: lr, alpha, eps, weight_decay, momentum, centered, maximize.

    >>> import array, syclamp
    >>> weights, gradients = array.array("f", [1.0]), array.array("f", [0.5])
    >>> syclamp.RMSprop(weights, gradients, lr=0.125, alpha=0.75).step()
    >>> round(weights[0], 4)
    0.75
    """

    name = "rmsprop"

    def __init__(
        self, weights: Any, gradients: Any = None, *, masters: Any = None, engine: Engine | None = None,
        **settings: Unpack[_RMSprop],
    ) -> None:
        super().__init__(weights, gradients, masters=masters, engine=engine, **settings)


class LAMB(Optimizer):
    """LAMB: lr, betas, eps, weight_decay (decoupled), maximize.

    >>> import array, syclamp
    >>> weights, gradients = array.array("f", [1.0]), array.array("f", [0.5])
    >>> syclamp.LAMB(weights, gradients, lr=0.125, weight_decay=0.0).step()
    >>> round(weights[0], 4)
    0.875
    """

    name = "lamb"

    def __init__(
        self, weights: Any, gradients: Any = None, *, masters: Any = None, engine: Engine | None = None,
        **settings: Unpack[_LayerWise],
    ) -> None:
        super().__init__(weights, gradients, masters=masters, engine=engine, **settings)


class NovoGrad(Optimizer):
    """NovoGrad: lr, betas, eps, weight_decay, maximize.

    >>> import array, syclamp
    >>> weights, gradients = array.array("f", [1.0]), array.array("f", [0.5])
    >>> syclamp.NovoGrad(weights, gradients, lr=0.125).step()
    >>> round(weights[0], 4)
    0.875
    """

    name = "novograd"

    def __init__(
        self, weights: Any, gradients: Any = None, *, masters: Any = None, engine: Engine | None = None,
        **settings: Unpack[_LayerWise],
    ) -> None:
        super().__init__(weights, gradients, masters=masters, engine=engine, **settings)


class Adadelta(Optimizer):
    """Adadelta: lr, rho, eps, weight_decay, maximize.

    >>> import array, syclamp
    >>> weights, gradients = array.array("f", [1.0]), array.array("f", [0.5])
    >>> syclamp.Adadelta(weights, gradients, eps=0.25, rho=0.5).step()
    >>> round(weights[0], 4)
    0.5918
    """

    name = "adadelta"

    def __init__(
        self, weights: Any, gradients: Any = None, *, masters: Any = None, engine: Engine | None = None,
        **settings: Unpack[_Adadelta],
    ) -> None:
        super().__init__(weights, gradients, masters=masters, engine=engine, **settings)
