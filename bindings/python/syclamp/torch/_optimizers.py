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
    """Lion (Chen et al., 2023), with decoupled weight decay. PyTorch has no Lion; the arguments are named as those of `Adam`."""

    _kind = "lion"

    def __init__(self, params: ParamsT, lr: Rate = 1e-4, betas: tuple[float, float] = (0.9, 0.99), weight_decay: float = 0.0, *,
                 maximize: bool = False, max_norm: float | None = None, amp_scaling: bool = True,
                 **options: Unpack[TorchOptions]) -> None:
        defaults = dict(lr=lr, betas=betas, weight_decay=weight_decay, maximize=maximize)
        super().__init__(params, defaults, options, max_norm=max_norm, amp_scaling=amp_scaling)

    def _moments(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("exp_avg",)


class Adagrad(FusedOptimizer):
    """Adagrad, as torch.optim.Adagrad. The arguments `max_norm` and `amp_scaling` are those of `Adam`."""

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
    """RMSprop, as torch.optim.RMSprop. The arguments `max_norm` and `amp_scaling` are those of `Adam`."""

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
    """Adadelta, as torch.optim.Adadelta. The arguments `max_norm` and `amp_scaling` are those of `Adam`."""

    _kind = "adadelta"

    def __init__(self, params: ParamsT, lr: Rate = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0.0, *,
                 maximize: bool = False, max_norm: float | None = None, amp_scaling: bool = True,
                 **options: Unpack[TorchOptions]) -> None:
        defaults = dict(lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize)
        super().__init__(params, defaults, options, max_norm=max_norm, amp_scaling=amp_scaling)

    def _moments(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("square_avg", "acc_delta")


class LAMB(FusedOptimizer):
    """LAMB (You et al., 2020), with decoupled weight decay. PyTorch has no LAMB; the arguments are named as those of `Adam`."""

    _kind = "lamb"

    def __init__(self, params: ParamsT, lr: Rate = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-6,
                 weight_decay: float = 1e-2, *, maximize: bool = False, max_norm: float | None = None, amp_scaling: bool = True,
                 **options: Unpack[TorchOptions]) -> None:
        defaults = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize)
        super().__init__(params, defaults, options, max_norm=max_norm, amp_scaling=amp_scaling)

    def _moments(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq")


class NovoGrad(FusedOptimizer):
    """NovoGrad (Ginsburg et al., 2019). PyTorch has no NovoGrad; the arguments are named as those of `Adam`.

    The second moment is one number per parameter, ``state[p]["second_moment"]``. It is up to date after `state_dict`.
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
