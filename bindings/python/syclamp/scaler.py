# SPDX-License-Identifier: Apache-2.0
"""The loss scaler."""

import json
import os
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any, overload

from . import _core
from ._arguments import Arrays, as_pair
from ._checks import as_count, as_optional_number
from .engine import Engine, chosen_engine
from .ledger import Ledger
from .optimizer import Optimizer, native_of, natives_of

Handler = Callable[[_core.StepRecord], object]


class LossScaler:
    """Scales losses, decides whether gradients are applied, and moves the scale.

    One training step: `begin_step` or `scale`, your backward pass, `step`, `update`.

    >>> import array, syclamp
    >>> weights, gradients = array.array("f", [1.0]), array.array("f", [0.0])
    >>> optimizer = syclamp.SGD(weights, gradients, lr=0.5)
    >>> scaler = syclamp.LossScaler(syclamp.Policy(init_scale=1024.0))
    >>> gradients[0] = 1.0 * scaler.begin_step()  # the backward pass, with the loss times the scale
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> weights
    array('f', [0.5])

    :param policy: a `Policy`, or the name of a preset; default: syclamp's own policy
    :param scales: 1: one scale for all tensors; more: one per group. Multiply the loss of a group by `get_scale(group)`
    :param skip_together: with several scales, an overflow in one group skips all groups
    :param ledger: number of steps that the ledger keeps
    :param engine: default: `default_engine()`
    """

    def __init__(
        self,
        policy: str | _core.Policy | None = None,
        *,
        scales: int = 1,
        skip_together: bool = True,
        ledger: int = 1024,
        engine: Engine | None = None,
    ) -> None:
        self.engine = chosen_engine(engine)
        self.scales = as_count("scales", scales)
        self.native = _core.Scaler(self.engine.native, policy, self.scales, bool(skip_together), as_count("ledger", ledger))
        self._handlers: list[Handler] = []

    # --- A step ---

    def begin_step(self) -> float:
        """Begins a step and returns the scale, by which the backward pass multiplies the loss. Waits for earlier steps."""
        self.native.begin_step()
        return self.native.get_scale(0)

    @overload
    def scale(self, loss: float) -> float: ...
    @overload
    def scale(self, loss: Arrays, *, out: Arrays | None = None) -> Arrays: ...
    def scale(self, loss: Any, *, out: Any = None) -> Any:
        """Begins a step and multiplies the loss by the scale.

        A number is returned, which waits. Arrays are multiplied on the device, in place or into `out`.
        """
        if isinstance(loss, Real):  # numbers of NumPy, too
            return float(loss) * self.begin_step()
        self.native.scale(*as_pair(loss, "loss", out, "out", usual=self.engine))
        return loss if out is None else out

    def unscale(self, gradients: Optimizer | Arrays, *, out: Arrays | None = None, max_norm: float | None = None) -> None:
        """Unscales gradients before `step`, so that you can read them or clip them by hand.

        FP32 gradients are unscaled in place. 16-bit gradients of an optimizer need its option `unscaled_shadow`.

        :param gradients: an optimizer that will step, or arrays
        :param out: FP32 arrays for arrays of another format
        :param max_norm: clips the norm of the unscaled gradients
        """
        if isinstance(gradients, Optimizer):
            self.native.unscale(gradients.native, as_optional_number("max_norm", max_norm))
            return
        tensors, target = as_pair(gradients, "gradients", out, "out", usual=self.engine)
        self.native.unscale_tensors(tensors, target, as_optional_number("max_norm", max_norm))

    def step(
        self, optimizer: Optimizer | Sequence[Optimizer], *, max_norm: float | None = None, clip_separately: bool = False
    ) -> None:
        """Inspects the gradients and applies the step, or skips it as a whole.

        Several optimizers make a joint step: all apply their gradients, or none does.

        :param max_norm: clips the norm of the unscaled gradients
        :param clip_separately: clips each optimizer of a joint step by its own norm
        """
        self.native.step(natives_of(optimizer), as_optional_number("max_norm", max_norm), bool(clip_separately))

    def update(self, new_scale: float | None = None) -> None:
        """Ends the step: moves the scale, writes the ledger, and calls the handlers of `on_step`.

        :param new_scale: sets the scale instead of moving it
        """
        self.native.update(as_optional_number("new_scale", new_scale))
        self.report()

    def accumulate(self, gradients: Arrays, sums: Arrays) -> None:
        """Adds unscaled gradients of a micro-batch to FP32 sums. A micro-batch that overflowed is dropped.

        :param gradients: gradients of the micro-batch, times the scale
        :param sums: FP32 arrays of the same sizes, which are zero before the first micro-batch
        """
        self.native.accumulate(*as_pair(gradients, "gradients", sums, "sums", usual=self.engine))

    def step_accumulated(self, optimizer: Optimizer, *, max_norm: float | None = None) -> None:
        """Applies the mean of the micro-batches that were not dropped.

        :param optimizer: an optimizer whose gradients are the sums
        :param max_norm: clips the norm of the mean
        """
        self.native.step_accumulated(native_of(optimizer), as_optional_number("max_norm", max_norm))

    def skip_step(self) -> None:
        """Skips the next step, whatever its gradients are. The scale does not move."""
        self.native.skip_step()

    def resume(self) -> None:
        """Resumes after the policy has stopped, with the present scale."""
        self.native.resume()

    # --- Readings ---

    def get_scale(self, index: int = 0) -> float:
        """The present scale. Waits.

        :param index: which scale, if there are several
        """
        return self.native.get_scale(as_count("index", index))

    def outcome(self, index: int = 0) -> _core.StepRecord:
        """The record of the last `update`. Waits.

        :param index: the record of which scale, if there are several
        """
        return self.native.outcome(as_count("index", index))

    @property
    def ledger(self) -> Ledger:
        """The latest records, oldest first. Does not wait: the newest step may be missing."""
        return Ledger(self.native.ledger())

    def on_step(self, handler: Handler) -> Callable[[], None]:
        """Calls `handler(record)` for each record from now on, in `update` and `report`. Waits for earlier steps.

        :return: a function that removes the handler
        """
        if not self._handlers:
            self.engine.wait()
            self.native.collect_records(True)
            self.native.take_records()  # of earlier steps
        self._handlers.append(handler)

        def remove() -> None:
            self._handlers.remove(handler)
            if not self._handlers:
                self.native.collect_records(False)

        return remove

    def report(self) -> None:
        """Calls the handlers for all records that are visible by now. Does not wait."""
        if self._handlers:
            for record in self.native.take_records():
                for handler in tuple(self._handlers):
                    handler(record)

    # --- Settings and state ---

    @property
    def policy(self) -> _core.Policy:
        """A copy of the policy. Assign a policy to change it from the next `update` on."""
        return self.native.policy

    @policy.setter
    def policy(self, policy: str | _core.Policy) -> None:
        self.native.set_policy(policy)

    def state_dict(self) -> dict[str, Any]:
        """The complete state, ledger included, as values that JSON can hold. Waits."""
        state: dict[str, Any] = json.loads(self.native.state_json())
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Loads a state, so that the scaler continues where the state was taken. Waits."""
        self.native.load_json(json.dumps(state))

    def save(self, file: str | os.PathLike[str]) -> None:
        """Saves the complete state as a JSON file, which is replaced atomically. Waits."""
        self.native.save(os.fspath(file))

    def load(self, file: str | os.PathLike[str]) -> None:
        """Loads a file that `save` of this version or an earlier one has written. Waits."""
        self.native.load(os.fspath(file))

    def to_framework(self, framework: str) -> dict[str, Any]:
        """The state with the key names of another framework: pytorch, keras3, keras2, apex, deepspeed or megatron.

        >>> import syclamp
        >>> syclamp.LossScaler("pytorch").to_framework("pytorch")["growth_interval"]
        2000
        """
        state: dict[str, Any] = json.loads(self.native.framework_json(framework))
        return state

    def load_framework(self, state: dict[str, Any], framework: str) -> None:
        """Loads the saved state of another framework. What the framework does not save stays as it is."""
        self.native.load_framework_json(json.dumps(state), framework)

    def __repr__(self) -> str:
        return f"LossScaler(mode={self.policy.mode!r}, engine={self.engine!r})"
