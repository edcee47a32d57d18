# SPDX-License-Identifier: Apache-2.0
"""Learning-rate schedules that count applied steps."""
from __future__ import annotations

from typing import Any

from torch.optim.lr_scheduler import LRScheduler

from ._optimizer import FusedOptimizer

_MAX_WRAPPERS = 8  # a wrapper may contain itself


class AppliedStepSchedule:
    """Advances a learning-rate scheduler only after steps that were applied.

    A fused optimizer hides a skipped step from the training loop, so that a scheduler advances although no weight has changed.

    >>> import math, torch, syclamp.torch
    >>> weight = torch.nn.Parameter(torch.ones(1))
    >>> optimizer, scaler = syclamp.torch.SGD([weight], lr=0.5), syclamp.torch.GradScaler(init_scale=1024.0)
    >>> schedule = syclamp.torch.AppliedStepSchedule(torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5))
    >>> for factor in (1.0, math.inf):
    ...     optimizer.zero_grad()
    ...     scaler.scale((weight * factor).sum()).backward()
    ...     scaler.step(optimizer)
    ...     scaler.update()
    ...     schedule.step()
    >>> schedule.get_last_lr()  # the second step was skipped
    [0.25]

    Args:
        scheduler: a scheduler of torch.optim.lr_scheduler, whose optimizer is one of this package; it may be wrapped, as by
            ``accelerator.prepare``
    """

    def __init__(self, scheduler: LRScheduler) -> None:
        optimizer = _unwrapped_optimizer(scheduler)
        self.scheduler = scheduler
        self.optimizer = optimizer
        self._applied_count = optimizer._applied_count

    def step(self, *args: Any, **kwargs: Any) -> None:
        """Advances the schedule if the optimizer has applied a step since the last call. Does not wait.

        So it may also be called once per micro-batch.
        """
        if self.optimizer._applied_count != self._applied_count:
            self._applied_count = self.optimizer._applied_count
            self.scheduler.step(*args, **kwargs)

    def state_dict(self) -> dict[str, Any]:
        """The state of the scheduler itself, which `load_state_dict` of the scheduler can load as well.

        >>> import torch, syclamp.torch
        >>> optimizer = syclamp.torch.SGD([torch.nn.Parameter(torch.ones(1))])
        >>> schedule = syclamp.torch.AppliedStepSchedule(torch.optim.lr_scheduler.StepLR(optimizer, 1))
        >>> schedule.state_dict()["last_epoch"]
        0
        """
        return self.scheduler.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads the state of a scheduler of the same kind, wrapped or not. `state_dict` is what its `state_dict` has returned."""
        self.scheduler.load_state_dict(state_dict)

    def get_last_lr(self) -> list[float]:
        """The learning rate of each parameter group, as the scheduler has computed it last."""
        return self.scheduler.get_last_lr()  # type: ignore[return-value]


def _unwrapped_optimizer(scheduler: LRScheduler) -> FusedOptimizer:
    """The optimizer that a scheduler drives, without wrappers such as AcceleratedOptimizer, which keep it as `optimizer`."""
    wrapped: object = scheduler
    names: list[str] = []
    for _ in range(_MAX_WRAPPERS + 1):
        wrapped = getattr(wrapped, "optimizer", None)
        if isinstance(wrapped, FusedOptimizer):
            return wrapped
        if wrapped is None:
            break
        names.append(type(wrapped).__name__)
    if not names:
        raise TypeError(f"AppliedStepSchedule: {type(scheduler).__name__} has no optimizer; pass a scheduler of torch.optim.lr_scheduler")
    raise TypeError(f"AppliedStepSchedule: the optimizer is {' around '.join(names)}, which does not tell whether a step was applied; use an "
                    "optimizer of syclamp.torch")
