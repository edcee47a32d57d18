# SPDX-License-Identifier: Apache-2.0
"""The optimizers, with the names, arguments and defaults of torch.optim."""
from __future__ import annotations

from typing import Any, Unpack

import torch
from torch.optim.optimizer import ParamsT

from .. import _core
from ._arguments import TorchOptions
from ._optimizer import FusedOptimizer

Rate = float | torch.Tensor


class SGD(FusedOptimizer):
    """Stochastic gradient descent, as torch.optim.SGD.

    All optimizers accept and ignore `foreach` and `fused`. They refuse `capturable=True` and `differentiable=True`.

    >>> import torch, syclamp.torch
    >>> weight = torch.nn.Parameter(torch.ones(2))
    >>> optimizer = syclamp.torch.SGD([weight], lr=0.25, momentum=0.5)
    >>> for _ in range(2):
    ...     weight.grad = torch.tensor([1.0, -1.0])
    ...     optimizer.step()
    >>> weight.tolist()  # moves of 1 and 1.5 times the learning rate
    [0.375, 1.625]

    Args:
        params: parameters or parameter groups
        lr: learning rate, a number or a tensor of one element
        momentum: momentum factor
        dampening: dampening of the momentum
        weight_decay: weight decay
        nesterov: uses Nesterov's momentum
        maximize: maximizes the loss
        max_norm: clips the norm of all gradients inside the step
        amp_scaling: False: GradScaler unscales the gradients before the step, and reads on the host whether they are finite
    """

    _kind = "sgd"

    def __init__(self, params: ParamsT, lr: Rate = 1e-3, momentum: float = 0.0, dampening: float = 0.0, weight_decay: float = 0.0,
                 nesterov: bool = False, *, maximize: bool = False, max_norm: float | None = None, amp_scaling: bool = True,
                 **options: Unpack[TorchOptions]) -> None:
        defaults = dict(lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov, maximize=maximize)
        super().__init__(params, defaults, options, max_norm=max_norm, amp_scaling=amp_scaling)

    def _moments(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("momentum_buffer",) if group["momentum"] != 0.0 else ()


class Adam(FusedOptimizer):
    """Adam, as torch.optim.Adam: weight decay is added to the gradient.

    >>> import torch, syclamp.torch
    >>> weight = torch.nn.Parameter(torch.ones(2))
    >>> optimizer = syclamp.torch.Adam([weight], lr=0.125)
    >>> weight.grad = torch.tensor([0.5, -0.25])
    >>> optimizer.step()
    >>> weight.tolist()  # the first move is as large as the learning rate
    [0.875, 1.125]

    Args:
        params: parameters or parameter groups
        lr: learning rate, a number or a tensor of one element
        betas: decay rates of the first and the second moment
        eps: added to the denominator
        weight_decay: weight decay
        amsgrad: uses the largest second moment so far
        maximize: maximizes the loss
        max_norm: clips the norm of all gradients inside the step
        amp_scaling: False: GradScaler unscales the gradients before the step, and reads on the host whether they are finite
        decoupled_weight_decay: must be False; to decouple the decay from the gradient, use `AdamW`
    """

    _kind = "adam"

    def __init__(self, params: ParamsT, lr: Rate = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0.0, amsgrad: bool = False, *, maximize: bool = False, max_norm: float | None = None,
                 amp_scaling: bool = True, decoupled_weight_decay: bool = False, **options: Unpack[TorchOptions]) -> None:
        if decoupled_weight_decay:
            raise ValueError("decoupled_weight_decay: Adam of syclamp.torch adds the decay to the gradient; use syclamp.torch.AdamW")
        defaults = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, maximize=maximize)
        super().__init__(params, defaults, options, max_norm=max_norm, amp_scaling=amp_scaling)

    def _moments(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq", *(("max_exp_avg_sq",) if group["amsgrad"] else ()))


class AdamW(Adam):
    """AdamW, as torch.optim.AdamW: Adam with decoupled weight decay. The arguments are those of `Adam`.

    >>> import torch, syclamp.torch
    >>> weight = torch.nn.Parameter(torch.ones(2, dtype=torch.float16))
    >>> optimizer = syclamp.torch.AdamW([weight], lr=0.125, weight_decay=0.0, max_norm=1.0)
    >>> weight.grad = torch.tensor([0.5, -0.5], dtype=torch.float16)
    >>> optimizer.step()
    >>> weight.tolist(), optimizer.applied_steps(), optimizer.state[weight]["master"].dtype
    ([0.875, 1.125], 1, torch.float32)
    """

    _kind = "adamw"

    def __init__(self, params: ParamsT, lr: Rate = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 1e-2, amsgrad: bool = False, *, maximize: bool = False, max_norm: float | None = None,
                 amp_scaling: bool = True, **options: Unpack[TorchOptions]) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize, max_norm=max_norm, amp_scaling=amp_scaling, **options)


class Lion(FusedOptimizer):
    """Lion (Chen et al., 2023), with decoupled weight decay. PyTorch has no Lion; the arguments are those of `Adam`.

    >>> import torch, syclamp.torch
    >>> weight = torch.nn.Parameter(torch.ones(3))
    >>> optimizer = syclamp.torch.Lion([weight], lr=0.125)
    >>> weight.grad = torch.tensor([100.0, 0.0, -0.001])
    >>> optimizer.step()
    >>> weight.tolist()  # every move is as large as the learning rate, or zero
    [0.875, 1.0, 1.125]
    """

    _kind = "lion"

    def __init__(self, params: ParamsT, lr: Rate = 1e-4, betas: tuple[float, float] = (0.9, 0.99), weight_decay: float = 0.0, *,
                 maximize: bool = False, max_norm: float | None = None, amp_scaling: bool = True,
                 **options: Unpack[TorchOptions]) -> None:
        defaults = dict(lr=lr, betas=betas, weight_decay=weight_decay, maximize=maximize)
        super().__init__(params, defaults, options, max_norm=max_norm, amp_scaling=amp_scaling)

    def _moments(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("exp_avg",)


class Adagrad(FusedOptimizer):
    """Adagrad, as torch.optim.Adagrad. The other arguments are those of `Adam`.

    >>> import torch, syclamp.torch
    >>> weight = torch.nn.Parameter(torch.ones(2))
    >>> optimizer = syclamp.torch.Adagrad([weight], lr=0.5)
    >>> weight.grad = torch.tensor([3.0, -4.0])
    >>> optimizer.step()
    >>> weight.tolist(), optimizer.state[weight]["sum"].tolist()
    ([0.5, 1.5], [9.0, 16.0])

    Args:
        lr_decay: after t steps, the learning rate is divided by 1 + t * lr_decay
        initial_accumulator_value: initial sum of the squared gradients
    """

    _kind = "adagrad"

    def __init__(self, params: ParamsT, lr: Rate = 1e-2, lr_decay: float = 0.0, weight_decay: float = 0.0,
                 initial_accumulator_value: float = 0.0, eps: float = 1e-10, *, maximize: bool = False,
                 max_norm: float | None = None, amp_scaling: bool = True,
                 **options: Unpack[TorchOptions]) -> None:
        defaults = dict(lr=lr, lr_decay=lr_decay, weight_decay=weight_decay, initial_accumulator_value=initial_accumulator_value, eps=eps,
                        maximize=maximize)
        super().__init__(params, defaults, options, max_norm=max_norm, amp_scaling=amp_scaling)

    def _moments(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("sum",)

    def _initial(self, name: str, group: dict[str, Any]) -> float:
        return float(group["initial_accumulator_value"])


class RMSprop(FusedOptimizer):
    """RMSprop, as torch.optim.RMSprop. The other arguments are those of `Adam`.

    >>> import torch, syclamp.torch
    >>> weight = torch.nn.Parameter(torch.ones(2))
    >>> optimizer = syclamp.torch.RMSprop([weight], lr=0.125, alpha=0.75)
    >>> weight.grad = torch.tensor([3.0, -4.0])
    >>> optimizer.step()
    >>> weight.tolist()  # the mean square is a quarter of the first square
    [0.75, 1.25]

    Args:
        alpha: decay rate of the mean square
        momentum: momentum factor
        centered: divides by the standard deviation instead of the root of the mean square
    """

    _kind = "rmsprop"

    def __init__(self, params: ParamsT, lr: Rate = 1e-2, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0.0,
                 momentum: float = 0.0, centered: bool = False, *, maximize: bool = False, max_norm: float | None = None,
                 amp_scaling: bool = True, **options: Unpack[TorchOptions]) -> None:
        defaults = dict(lr=lr, alpha=alpha, eps=eps, weight_decay=weight_decay, momentum=momentum, centered=centered, maximize=maximize)
        super().__init__(params, defaults, options, max_norm=max_norm, amp_scaling=amp_scaling)

    def _moments(self, group: dict[str, Any]) -> tuple[str, ...]:
        momentum = ("momentum_buffer",) if group["momentum"] > 0.0 else ()
        return ("square_avg", *momentum, *(("grad_avg",) if group["centered"] else ()))


class Adadelta(FusedOptimizer):
    """Adadelta, as torch.optim.Adadelta. The other arguments are those of `Adam`.

    >>> import torch, syclamp.torch
    >>> weight = torch.nn.Parameter(torch.ones(2))
    >>> optimizer = syclamp.torch.Adadelta([weight], rho=0.75)
    >>> weight.grad = torch.tensor([3.0, -4.0])
    >>> optimizer.step()
    >>> optimizer.state[weight]["square_avg"].tolist()  # a quarter of the squares
    [2.25, 4.0]

    Args:
        rho: decay rate of the mean squares of gradients and moves
    """

    _kind = "adadelta"

    def __init__(self, params: ParamsT, lr: Rate = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0.0, *,
                 maximize: bool = False, max_norm: float | None = None, amp_scaling: bool = True,
                 **options: Unpack[TorchOptions]) -> None:
        defaults = dict(lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize)
        super().__init__(params, defaults, options, max_norm=max_norm, amp_scaling=amp_scaling)

    def _moments(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("square_avg", "acc_delta")


class LAMB(FusedOptimizer):
    """LAMB (You et al., 2020), with decoupled weight decay. PyTorch has no LAMB; the arguments are those of `Adam`.

    >>> import torch, syclamp.torch
    >>> weights = [torch.nn.Parameter(torch.full((2,), size)) for size in (1.0, 4.0)]
    >>> optimizer = syclamp.torch.LAMB(weights, lr=0.125, weight_decay=0.0)
    >>> for weight in weights:
    ...     weight.grad = torch.tensor([0.5, -0.5])
    >>> optimizer.step()
    >>> [[round(w, 3) for w in weight.tolist()] for weight in weights]  # the move of a tensor is in proportion to its norm
    [[0.875, 1.125], [3.5, 4.5]]
    """

    _kind = "lamb"

    def __init__(self, params: ParamsT, lr: Rate = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-6,
                 weight_decay: float = 1e-2, *, maximize: bool = False, max_norm: float | None = None, amp_scaling: bool = True,
                 **options: Unpack[TorchOptions]) -> None:
        defaults = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize)
        super().__init__(params, defaults, options, max_norm=max_norm, amp_scaling=amp_scaling)

    def _moments(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq")


class NovoGrad(FusedOptimizer):
    """NovoGrad (Ginsburg et al., 2019). PyTorch has no NovoGrad; the arguments are those of `Adam`.

    The second moment is one number per parameter, ``state[p]["second_moment"]``. It is up to date after `state_dict`.

    >>> import torch, syclamp.torch
    >>> weight = torch.nn.Parameter(torch.ones(2))
    >>> optimizer = syclamp.torch.NovoGrad([weight], lr=0.5)
    >>> weight.grad = torch.tensor([3.0, -4.0])
    >>> optimizer.step()
    >>> optimizer.state_dict()["state"][0]["second_moment"].item()  # the squared norm of the gradient
    25.0
    """

    _kind = "novograd"

    def __init__(self, params: ParamsT, lr: Rate = 1e-2, betas: tuple[float, float] = (0.95, 0.98), eps: float = 1e-8,
                 weight_decay: float = 0.0, *, maximize: bool = False, max_norm: float | None = None, amp_scaling: bool = True,
                 **options: Unpack[TorchOptions]) -> None:
        defaults = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize)
        super().__init__(params, defaults, options, max_norm=max_norm, amp_scaling=amp_scaling)

    def _moments(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("exp_avg",)

    def _save_tensor_moments(self) -> None:
        if self._core is not None:
            for p, moment in zip(self._trained, self._core.tensor_moments()):
                self.state[p]["second_moment"] = torch.tensor(moment)

    def _load_tensor_moments(self, core: _core.TorchOptimizer) -> None:
        core.set_tensor_moments([float(self.state[p].get("second_moment", 0.0)) for p in self._trained])
