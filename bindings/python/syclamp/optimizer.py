# SPDX-License-Identifier: Apache-2.0
"""What all optimizers have in common: their arrays, their storage, and steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypedDict

from . import _core
from ._arguments import ArrayLike, as_sequence, in_order
from ._checks import as_count, as_number, need
from .engine import Engine, chosen_engine


class Storage(TypedDict, total=False):
    """How weights and moments are stored: keyword arguments of every optimizer."""

    moments: Literal["float32", "bfloat16"]  #: format of moments
    remainders: bool  #: for BF16 weights: store only the lower 16 bits of the FP32 weights
    rounding: Literal["nearest", "stochastic"]  #: of BF16 moments and of copies of the weights
    seed: int  #: of stochastic rounding
    unscaled_shadow: bool  #: memory for unscaled gradients, which `LossScaler.unscale` needs for 16-bit gradients


_STORAGE: dict[str, Any] = {
    "moments": "float32",
    "remainders": False,
    "rounding": "nearest",
    "seed": 0,
    "unscaled_shadow": False,
}
_ARRAYS = ("weights", "gradients", "masters", "names")


@dataclass(frozen=True)
class Progress:
    """The steps that the device has finished so far."""

    last_was_applied: bool  #: the last finished step was applied, not skipped
    finished: int  #: finished steps
    applied: int  #: applied steps, those before a checkpoint included


def _parameters(group: Mapping[str, Any], index: int) -> list[tuple[Any, Any, Any, str, int]]:
    """The parameters of one group, as the extension module takes them."""
    for key in ("weights", "gradients"):
        if key not in group:
            raise _core.InvalidArgumentError(
                f'groups[{index}]: the key "{key}" is missing; each group needs weights and gradients'
            )
    weights, keys = as_sequence(group["weights"])
    keys = keys or list(group.get("names") or [])
    gradients, _ = as_sequence(in_order(group["gradients"], keys, "gradients", "weights"))
    masters = group.get("masters")
    masters = [None] * len(weights) if masters is None else as_sequence(in_order(masters, keys, "masters", "weights"))[0]
    names = list(group.get("names") or keys or [f"weights[{number}]" for number in range(len(weights))])
    for argument, values in (("gradients", gradients), ("masters", masters), ("names", names)):
        if len(values) != len(weights):
            raise _core.InvalidArgumentError(f"{argument}: there are {len(values)} for {len(weights)} weights; give one each")
    return [
        (weight, gradient, master, name, index)
        for weight, gradient, master, name in zip(weights, gradients, masters, names, strict=True)
    ]


class Optimizer:
    """The base of all optimizers.

    An optimizer holds arrays of weights and of gradients and keeps them alive. A step writes the weights in place, and
    never the gradients. FP16, BF16 and FP8 weights are copies for the forward pass: the library keeps FP32 master
    weights, unless `masters` gives arrays for them.

    >>> import array, syclamp
    >>> weights = [array.array("f", [1.0]), array.array("f", [1.0])]
    >>> gradients = [array.array("f", [0.5]), array.array("f", [0.5])]
    >>> groups = [{"weights": w, "gradients": g} for w, g in zip(weights, gradients)]
    >>> groups[1]["lr"] = 0.25  # a setting of this group only
    >>> syclamp.SGD(groups, lr=1.0).step()
    >>> [w[0] for w in weights]
    [0.5, 0.875]

    :param weights: arrays of weights, by name or in order; or a sequence of groups, which are dictionaries with the keys
        `weights`, `gradients`, `masters`, `names` and the settings that differ from group to group
    :param gradients: one FP16, BF16 or FP32 array per array of weights; a dictionary is paired with weights by its keys
    :param masters: FP32 arrays for master weights, paired like gradients; default: the library allocates them
    :param engine: default: an engine on the queue of the arrays if they have one, else `default_engine()`
    """

    name: ClassVar[str]  #: name of the optimizer in the library

    def __init__(
        self,
        weights: Any,
        gradients: Any = None,
        *,
        masters: Any = None,
        engine: Engine | None = None,
        **settings: Any,
    ) -> None:
        storage = {key: settings.pop(key, default) for key, default in _STORAGE.items()}
        is_grouped = gradients is None and isinstance(weights, Sequence) and all(isinstance(g, Mapping) for g in weights)
        if gradients is None and not is_grouped:
            raise TypeError(
                "gradients: arrays are needed, one per array of weights; for parameters of PyTorch use "
                f"syclamp.torch.{type(self).__name__}"
            )
        groups = weights if is_grouped else [{"weights": weights, "gradients": gradients, "masters": masters}]
        own = [{key: value for key, value in group.items() if key not in _ARRAYS} for group in groups]
        parameters = [entry for index, group in enumerate(groups) for entry in _parameters(group, index)]
        self._names = [name for _, _, _, name, _ in parameters]
        storage["seed"] = as_count("seed", storage["seed"], bits=64)
        self.engine = chosen_engine(engine, (array for entry in parameters for array in entry[:3]))
        self.native = _core.FusedOptimizer(
            self.engine.native, self.name, parameters, [{**settings, **fields} for fields in own], **storage
        )

    def step(self) -> None:
        """Applies gradients that were never scaled, without a scaler. Never skips."""
        self.native.apply()

    def zero_gradients(self) -> None:
        """Sets all gradients to zero, for backward passes that add to them."""
        self.native.zero_gradients()

    def set_gradients(self, gradients: Sequence[ArrayLike | None] | Mapping[str, ArrayLike | None]) -> None:
        """Replaces the arrays of gradients, for frameworks that reallocate them. None: the gradient is absent.

        Sizes and formats must not change. The optimizer keeps the new arrays alive and releases the old ones.

        :param gradients: one per parameter, in the order of the weights or by their names
        """
        self.native.set_gradients(as_sequence(in_order(gradients, self._names, "gradients", "weights"))[0])

    def settings(self, group: int = 0) -> dict[str, Any]:
        """The settings of a group."""
        return dict(self.native.settings(as_count("group", group)))

    def set(self, group: int | None = None, **settings: Any) -> None:
        """Changes settings from the next step on, of one group or of all. Moments do not change."""
        for index in range(self.native.groups) if group is None else [as_count("group", group)]:
            self.native.set_settings(settings, index)

    @property
    def lr(self) -> float:
        """The learning rate of the first group, before the schedule. Setting it changes all groups."""
        return float(self.native.settings(0)["lr"])

    @lr.setter
    def lr(self, value: float) -> None:
        self.set(lr=value)

    def set_schedule(
        self,
        shape: Literal["constant", "cosine", "decay"],
        *,
        steps: int = 1,
        warm_up: int = 0,
        gamma: float = 0.1,
        lowest: float = 0.0,
    ) -> None:
        """Sets the learning-rate schedule of all groups. It counts applied steps, so a skipped step does not advance it.

        :param shape: of the factor that multiplies the learning rate
        :param steps: length of the cosine, or number of steps between two decays
        :param warm_up: linear warm-up over this many steps
        :param gamma: for "decay": factor of each decay
        :param lowest: for "cosine": final factor
        """
        self.native.set_schedule(
            shape,
            as_number("gamma", gamma),
            as_number("lowest", lowest),
            as_count("warm_up", warm_up, bits=64),
            as_count("steps", steps, bits=64),
        )

    def progress(self, group: int = 0) -> Progress:
        """The numbers of steps of a group that the device has finished and applied. Does not wait."""
        return Progress(*self.native.progress(as_count("group", group)))

    def last_step_was_applied(self, group: int = 0) -> bool:
        """True if the last finished step of a group was applied, False if it was skipped. Does not wait."""
        return self.progress(group).last_was_applied

    def steps(self, group: int = 0) -> int:
        """The number of applied steps of a group. Waits."""
        return self.native.steps(as_count("group", group))

    def weights(self, parameter: int) -> memoryview[float]:
        """A copy of the weights of a parameter in FP32, whatever their storage. Waits."""
        return memoryview(self.native.weights(as_count("parameter", parameter))).cast("f")

    def moment(self, parameter: int, index: int) -> memoryview[float] | memoryview[int]:
        """A copy of a moment of a parameter; BF16 as 16-bit integers. Waits.

        :param parameter: index of the parameter
        :param index: index of the moment: for Adam, 0 is the first and 1 the second moment
        """
        dtype, data = self.native.moment(as_count("parameter", parameter), as_count("index", index))
        view = memoryview(data)
        return view.cast("f") if dtype == "float32" else view.cast("H")

    @property
    def device_bytes(self) -> int:
        """Memory that the library has allocated for master weights and moments."""
        return self.native.device_bytes

    def __len__(self) -> int:
        return self.native.size


def natives_of(optimizers: Optimizer | Sequence[Optimizer]) -> list[_core.FusedOptimizer]:
    """The objects of the extension module behind one optimizer or several."""
    if isinstance(optimizers, Sequence) and not isinstance(optimizers, str):
        return [native_of(each) for each in optimizers]
    return [native_of(optimizers)]


def native_of(optimizer: Any) -> _core.FusedOptimizer:
    """The object of the extension module behind an optimizer."""
    advice = "; for PyTorch use syclamp.torch.GradScaler" if hasattr(optimizer, "param_groups") else ""
    checked: Optimizer = need("optimizer", optimizer, Optimizer, "a syclamp.Optimizer", advice)
    return checked.native
