# SPDX-License-Identifier: Apache-2.0
"""A torch.amp.GradScaler whose inspection and scale run in the library."""
from __future__ import annotations

import json
from collections import defaultdict
from typing import Any, Callable

import torch
from torch.amp.grad_scaler import OptState, _refresh_per_optimizer_state
from torch.optim import optimizer as _torch_optimizer

from .. import _core
from .._checks import as_count, as_number, need
from ..ledger import Ledger
from ..optimizers import Optimizer
from ._compiler import not_compiled
from ._optimizer import FusedOptimizer

_TORCH_KEYS = ("scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker")

_Rule = tuple[float, float, int]  # growth factor, backoff factor, growth interval


class GradScaler(torch.amp.GradScaler):
    """A GradScaler for losses and gradients on the CPU, with the interface and the scales of torch.amp.GradScaler.

    With an optimizer of this package, `step` inspects, unscales, clips and applies in two kernels, and never calls ``optimizer.step``
    for a step that it skips. With any other optimizer it follows PyTorch's protocol.

    >>> import math, torch, syclamp.torch
    >>> weight = torch.nn.Parameter(torch.ones(1))
    >>> optimizer, scaler = syclamp.torch.SGD([weight], lr=0.5), syclamp.torch.GradScaler(init_scale=1024.0)
    >>> for factor in (1.0, math.inf):
    ...     optimizer.zero_grad()
    ...     scaler.scale((weight * factor).sum()).backward()
    ...     scaler.step(optimizer)
    ...     scaler.update()
    >>> weight.item(), scaler.get_scale()  # the second step was skipped
    (0.5, 512.0)
    >>> [record.outcome for record in scaler.ledger()]
    ['applied', 'skipped_inf']

    Args:
        device: "cpu"
        init_scale: initial scale; None: the policy's
        growth_factor: factor of growth; None: the policy's
        backoff_factor: factor after an overflow; None: the policy's
        growth_interval: clean steps until the scale grows; None: the policy's
        enabled: False: all calls pass through
        policy: how the scale moves: a `syclamp.Policy`, or the name of a preset, such as "pytorch" or "megatron"
        ledger_size: number of steps that `ledger` keeps
    """

    def __init__(self, device: str = "cpu", init_scale: float | None = None, growth_factor: float | None = None,
                 backoff_factor: float | None = None, growth_interval: int | None = None, enabled: bool = True, *,
                 policy: str | _core.Policy = "pytorch", ledger_size: int = 1024) -> None:
        if torch.device(device).type != "cpu":
            raise ValueError(f'GradScaler: the device is "{device}", but syclamp.torch works on CPU tensors; use torch.amp.GradScaler there')
        given = {"init_scale": init_scale, "growth_factor": growth_factor, "backoff_factor": backoff_factor, "growth_interval": growth_interval}
        rule = [usual if number is None else as_number(name, number) for usual, (name, number) in zip(_core.torch_policy(policy), given.items())]
        self._policy, self._ledger_size = policy, as_count("ledger_size", ledger_size)
        self._native: _core.TorchScaler | None = None
        self._handlers: list[Callable[[_core.StepRecord], None]] = []
        self._snapshot: str | None = None  # of a scaler that has not been made yet
        self._forget_numbers()
        super().__init__(device, rule[0], rule[1], rule[2], int(rule[3]), enabled)
        self._start_iteration()

    # --- Numbers that other libraries read ----------------------------------------------------------------------------------------

    def _forget_numbers(self) -> None:
        self._scale_tensor: torch.Tensor | None = None
        self._tracker_tensor: torch.Tensor | None = None

    @property
    def _scale(self) -> torch.Tensor | None:
        """The scale, None before the first `scale`. A copy, so that a later `update` does not change what autograd has saved."""
        if self._native is not None and self._scale_tensor is None:
            self._scale_tensor = torch.tensor(self._native.scale(), dtype=torch.float32)
        return self._scale_tensor

    @_scale.setter
    def _scale(self, value: torch.Tensor | None) -> None:
        if value is None:
            self._native = None
        elif self._native is not None:
            self._native.set_scale(float(value))
        else:
            self._init_scale = float(value)
        self._forget_numbers()

    @property
    def _growth_tracker(self) -> torch.Tensor | None:
        if self._native is not None and self._tracker_tensor is None:
            self._tracker_tensor = torch.tensor(self._native.growth_tracker(), dtype=torch.int32)
        return self._tracker_tensor

    @_growth_tracker.setter
    def _growth_tracker(self, value: torch.Tensor | None) -> None:
        if value is not None:
            raise AttributeError("_growth_tracker cannot be set; use load_state_dict")

    @not_compiled
    def _lazy_init_scale_growth_tracker(self, dev: torch.device | str) -> None:
        if torch.device(dev).type != "cpu":
            raise ValueError(f'GradScaler: the loss is on the device "{dev}", but syclamp.torch works on CPU tensors; use '
                             "torch.amp.GradScaler there")
        self._rule = (self._growth_factor, self._backoff_factor, self._growth_interval)
        self._native = self._make_native(self._init_scale, self._rule, self._init_growth_tracker, self._snapshot)
        self._snapshot = None
        self._forget_numbers()

    def _make_native(self, init_scale: float, rule: _Rule, tracker: int, snapshot: str | None) -> _core.TorchScaler:
        """A scaler of the library with a state. Changes nothing in this object."""
        native = _core.TorchScaler(torch.Tensor, self._policy, init_scale, *rule, self._ledger_size)
        if snapshot is not None:
            native.load(snapshot)
            native.set_rule(*rule)  # it may be newer than the snapshot
        if tracker != 0 or native.scale() != init_scale:
            native.load_pytorch(json.dumps(dict(zip(_TORCH_KEYS, (init_scale, *rule, tracker)))))
        native.collect_records(bool(self._handlers))
        return native

    def _need_native(self, call: str) -> _core.TorchScaler:
        if self._native is None:
            raise AssertionError(f"{call}: the scaler has no scale before the first loss; call scaler.scale(loss) first")
        rule = (self._growth_factor, self._backoff_factor, self._growth_interval)
        if rule != self._rule:
            self._native.set_rule(*rule)
            self._rule = rule
        return self._native

    # --- Steps --------------------------------------------------------------------------------------------------------------------

    def _start_iteration(self) -> None:
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)
        self._inspected: set[int] = set()  # optimizers whose gradients the library has inspected
        self._knows_overflow = False  # the library has found an overflow
        self._has_empty_step = False  # no gradients in a step of an optimizer

    @not_compiled
    def unscale_(self, optimizer: torch.optim.Optimizer) -> None:
        """Divides the optimizer's gradients by the scale, as torch.amp.GradScaler.unscale_ does."""
        _check_optimizer(optimizer)
        if not self._enabled:
            return
        self._need_native("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError("unscale_: the gradients of this optimizer are already unscaled; call update before you unscale again")
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_: this optimizer has already made its step; call unscale_ before step")
        assert self._scale is not None
        inverse = self._scale.reciprocal()  # correctly rounded in FP32, so FP64 is not needed
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, inverse, torch.zeros(()), False)
        state["stage"] = OptState.UNSCALED

    def _unscale_grads_(self, optimizer: torch.optim.Optimizer, inv_scale: torch.Tensor, found_inf: torch.Tensor,
                        allow_fp16: bool) -> dict[torch.device, torch.Tensor]:
        native = self._need_native("_unscale_grads_")
        gradients, is_plain = _gradients_of(optimizer, allow_fp16)
        if not gradients:
            return {}
        if not is_plain or id(optimizer) in self._inspected:
            return super()._unscale_grads_(optimizer, inv_scale, found_inf, allow_fp16)
        self._inspected.add(id(optimizer))
        if not native.inspect(id(optimizer), gradients):
            found_inf.fill_(1.0)
            self._knows_overflow = True
        factor = float(inv_scale)
        if factor != 1.0:
            with torch.no_grad():
                torch._foreach_mul_(gradients, factor)
        return {found_inf.device: found_inf}

    @not_compiled
    def step(self, optimizer: torch.optim.Optimizer, *args: Any, **kwargs: Any) -> float | None:
        """Inspects the gradients and applies the step, or skips it.

        A step that is skipped does not call ``optimizer.step``, so that accelerate and learning-rate schedulers notice it.
        """
        _check_optimizer(optimizer)
        if not self._enabled:
            return super().step(optimizer, *args, **kwargs)
        if isinstance(optimizer, FusedOptimizer) and self._is_unscaled(optimizer) and self._has_overflow(optimizer):
            self._per_optimizer_states[id(optimizer)]["stage"] = OptState.STEPPED
            optimizer._skip_step()
            return None
        if not self._can_fuse(optimizer):
            result: float | None = super().step(optimizer, *args, **kwargs)
            if isinstance(optimizer, FusedOptimizer) and not optimizer._step_supports_amp_scaling and self._has_overflow(optimizer):
                optimizer._skip_step()  # PyTorch has not called the optimizer
            return result
        if "closure" in kwargs or any(argument is not None for argument in args):
            raise RuntimeError("step: a closure was given, which an enabled GradScaler cannot call; compute loss and gradients before step")
        assert isinstance(optimizer, FusedOptimizer)
        native = self._need_native("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step: this optimizer has already made its step; call update before its next step")
        state["stage"] = OptState.STEPPED
        core = optimizer._prepare_step()
        if core is None:
            self._has_empty_step = True
            return None
        is_applied = native.step(core, optimizer._max_norm)
        self._inspected.add(id(optimizer))
        self._knows_overflow |= not is_applied
        state["found_inf_per_device"] = {torch.device("cpu"): torch.tensor(0.0 if is_applied else 1.0)}
        optimizer._end_step(core, is_applied)
        if not is_applied:
            return None
        optimizer._is_applied_by_scaler = True
        try:  # hooks, schedulers and accelerate see the call of a step that was applied
            return optimizer.step(*args, **kwargs)  # type: ignore[no-any-return]
        finally:
            optimizer._is_applied_by_scaler = False

    def _is_unscaled(self, optimizer: torch.optim.Optimizer) -> bool:
        return self._per_optimizer_states[id(optimizer)]["stage"] is OptState.UNSCALED

    def _has_overflow(self, optimizer: torch.optim.Optimizer) -> bool:
        """Whether an overflow was found in the gradients of an optimizer since the last `update`."""
        return any(float(flag) != 0.0 for flag in self._per_optimizer_states[id(optimizer)]["found_inf_per_device"].values())

    def _can_fuse(self, optimizer: torch.optim.Optimizer) -> bool:
        """Whether `step` may apply the gradients before it calls ``optimizer.step``."""
        return (
            isinstance(optimizer, FusedOptimizer)
            and optimizer._step_supports_amp_scaling
            and not self._is_unscaled(optimizer)
            and getattr(optimizer, "grad_scale", None) is None  # a factor of the user
            and not optimizer._optimizer_step_pre_hooks  # hooks may change gradients
            and not _torch_optimizer._global_optimizer_pre_hooks
        )

    @not_compiled
    def update(self, new_scale: float | torch.Tensor | None = None) -> None:
        """Moves the scale, or sets it to `new_scale`. Does not wait."""
        if not self._enabled:
            return
        native = self._need_native("update")
        if new_scale is not None:
            native.set_scale(_checked_scale(new_scale))
        else:
            flags = [flag for state in self._per_optimizer_states.values() for flag in state["found_inf_per_device"].values()]
            if not flags and not self._has_empty_step:
                raise AssertionError("update: no gradients were inspected since the last update; call step or unscale_ first")
            if flags:
                overflow = any(float(flag) != 0.0 for flag in flags)
                if overflow and not self._knows_overflow or not self._inspected:
                    native.add_flag(overflow)
                native.update()
        self._forget_numbers()
        self._start_iteration()
        self.report()

    # --- State --------------------------------------------------------------------------------------------------------------------

    def ledger(self) -> Ledger:
        """The latest steps, oldest first: outcome, scale, norm and the tensor that overflowed. Does not wait.

        The result is a sequence of records that can also be drawn: ``scaler.ledger().plot("ledger.png")``.
        """
        return Ledger([] if self._native is None else self._native.ledger())

    def on_step(self, handler: Callable[[_core.StepRecord], None]) -> Callable[[], None]:
        """Calls `handler(record)` for each step from now on, in `update` and `report`.

        Returns:
            a function that removes the handler
        """
        self._handlers.append(handler)
        if self._native is not None and len(self._handlers) == 1:
            self._native.collect_records(True)

        def remove() -> None:
            self._handlers.remove(handler)
            if self._native is not None and not self._handlers:
                self._native.collect_records(False)

        return remove

    def report(self) -> None:
        """Calls the handlers of `on_step` for the steps whose records are visible by now. Does not wait."""
        if self._handlers and self._native is not None:
            for record in self._native.take_records():
                for handler in tuple(self._handlers):
                    handler(record)

    @property
    def engine(self) -> Any:
        """What `syclamp.tensorboard.LedgerWriter` waits for."""
        return _Engine

    def state_dict(self) -> dict[str, Any]:
        """The entries of torch.amp.GradScaler.state_dict, which it can load, and ``syclamp``, the other counters of the policy.

        The ledger is not part of the state.
        """
        state = super().state_dict()
        if self._enabled and self._native is not None and not self._per_optimizer_states:
            state["syclamp"] = self._need_native("state_dict").snapshot()
        elif self._enabled and self._snapshot is not None:
            state["syclamp"] = self._snapshot
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads the `state_dict` of a scaler of this class or of torch.amp.GradScaler. A load that fails changes nothing."""
        if not self._enabled:
            return
        if len(state_dict) == 0:
            raise RuntimeError("load_state_dict: the state is empty, as a disabled GradScaler saves it; load the state of an enabled one, or "
                               "keep the present state")
        scale, growth, backoff = (float(state_dict[key]) for key in _TORCH_KEYS[:3])
        interval, tracker = (int(state_dict[key]) for key in _TORCH_KEYS[3:])
        rule, snapshot = (growth, backoff, interval), state_dict.get("syclamp")
        if snapshot is not None:
            need('load_state_dict: the entry "syclamp"', snapshot, str, "a text")
        native = self._make_native(scale, rule, tracker, snapshot)  # raises if the state is wrong
        self._init_scale, self._init_growth_tracker = scale, tracker
        self._growth_factor, self._backoff_factor, self._growth_interval = self._rule = rule
        self._snapshot = snapshot
        if self._native is not None:  # otherwise the first `scale` makes the scaler
            self._start_iteration()
            self._native, self._snapshot = native, None
            self._forget_numbers()

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        if self._enabled and self._native is not None:
            state["_snapshot"] = self._native.snapshot()
        state.update(_native=None, _handlers=[], _scale_tensor=None, _tracker_tensor=None)
        for name in ("_scale", "_growth_tracker"):  # properties here
            state.pop(name, None)
        return state


class _Engine:
    """The engine of all CPU tensors."""

    @staticmethod
    def wait() -> None:
        _core.torch_wait()


def _gradients_of(optimizer: torch.optim.Optimizer, allow_fp16: bool) -> tuple[list[torch.Tensor], bool]:
    """The dense gradients of an optimizer, and whether the library can inspect all gradients."""
    gradients, is_plain = [], True
    for group in optimizer.param_groups:
        for p in group["params"]:
            gradient = p.grad
            if gradient is None:
                continue
            if not allow_fp16 and gradient.dtype is torch.float16:
                raise ValueError("unscale_: a gradient has the type torch.float16, in which unscaled gradients underflow; to clip such "
                                 "gradients, pass max_norm to an optimizer of syclamp.torch, which unscales and clips inside the step")
            is_plain &= gradient.layout is torch.strided and gradient.device.type == "cpu" and _is_dense(gradient)
            gradients.append(gradient)
    return gradients, is_plain


def _check_optimizer(optimizer: Any) -> None:
    if not hasattr(optimizer, "param_groups"):
        advice = "; for arrays use syclamp.LossScaler" if isinstance(optimizer, Optimizer) else ""
        need("optimizer", optimizer, torch.optim.Optimizer, "an optimizer of PyTorch", advice)


def _is_dense(tensor: torch.Tensor) -> bool:
    return tensor.is_contiguous() or bool(torch.ops.aten.is_non_overlapping_and_dense(tensor))


def _checked_scale(new_scale: float | torch.Tensor) -> float:
    if isinstance(new_scale, torch.Tensor):
        if new_scale.device.type != "cpu" or new_scale.numel() != 1 or new_scale.requires_grad:
            raise AssertionError(f"update: new_scale is a tensor of {new_scale.numel()} elements on the device \"{new_scale.device}\" with "
                                 f"requires_grad={new_scale.requires_grad}; pass a number, or a CPU tensor with one element and without gradient")
        return float(new_scale)
    return as_number("new_scale", new_scale)
