# SPDX-License-Identifier: Apache-2.0
"""Checks of the arguments and settings of optimizers, with the exceptions of torch.optim."""
from __future__ import annotations

from typing import Any, Mapping, TypedDict

from .._checks import as_number


class TorchOptions(TypedDict, total=False):
    """Arguments of torch.optim that choose among PyTorch's implementations. One kernel of syclamp is there instead."""

    foreach: bool | None  #: ignored
    fused: bool | None  #: ignored
    capturable: bool  #: must be False
    differentiable: bool  #: must be False


_IGNORED = ("foreach", "fused")
_REFUSED = {
    "capturable": "a step waits for its end, which a graph cannot record",
    "differentiable": "autograd cannot follow a step of the library",
}
_NOT_NEGATIVE = ("lr", "weight_decay", "eps", "momentum", "dampening", "lr_decay", "initial_accumulator_value")
_RATES = ("alpha", "rho")


def check_options(optimizer: str, options: Mapping[str, Any]) -> None:
    """Accepts arguments that change nothing here, and refuses the others by name."""
    for name, value in options.items():
        if name in _REFUSED:
            if value:
                raise ValueError(f"{name}: {optimizer} of syclamp.torch does not support {name}=True: {_REFUSED[name]}; leave it out")
        elif name not in _IGNORED:
            raise TypeError(f"{optimizer}.__init__() got an unexpected keyword argument '{name}'")


def check_settings(settings: Mapping[str, Any]) -> None:
    """Checks the settings of an optimizer or of a parameter group, as far as they are given."""
    for name in _NOT_NEGATIVE:
        if name in settings and not as_number(name, settings[name]) >= 0.0:
            raise ValueError(f"{name} is {settings[name]}; it must be 0 or more")
    rates = {name: settings[name] for name in _RATES if name in settings}
    if "betas" in settings:
        betas = settings["betas"]
        if not isinstance(betas, (tuple, list)) or len(betas) != 2:
            raise TypeError(f"betas: two numbers are needed, not {betas!r}")
        rates |= {f"betas[{index}]": beta for index, beta in enumerate(betas)}
    for name, value in rates.items():
        if not 0.0 <= as_number(name, value) < 1.0:
            raise ValueError(f"{name} is {value}; it must be at least 0 and below 1")
    if settings.get("nesterov") and (settings.get("momentum", 1.0) <= 0.0 or settings.get("dampening", 0.0) != 0.0):
        raise ValueError(f"nesterov: it needs a momentum and no dampening, but they are {settings.get('momentum')} and "
                         f"{settings.get('dampening')}; set momentum=0.9 and dampening=0, or nesterov=False")


def checked_max_norm(max_norm: Any) -> float | None:
    if max_norm is None:
        return None
    number = as_number("max_norm", max_norm)
    if not number >= 0.0:
        raise ValueError(f"max_norm is {max_norm}; it must be 0 or more, or None for no clipping")
    return number


def check_same_moments(groups: list[dict[str, Any]], moments: list[tuple[str, ...]]) -> None:
    """All groups share a kernel, so they must need the same moments. Names the setting that differs."""
    for index, names in enumerate(moments):
        if names == moments[0]:
            continue
        for setting in ("momentum", "amsgrad", "centered"):
            first, other = groups[0].get(setting), groups[index].get(setting)
            if bool(first) != bool(other):
                raise ValueError(f"{setting}: it is {other} in group {index}, but {first} in group 0; both groups must have it or neither, "
                                 "so make an optimizer for each")


def check_state(optimizer: str, groups: list[dict[str, Any]], needed: tuple[str, ...]) -> None:
    """Whether the parameter groups of a saved state have all settings of an optimizer."""
    for index, group in enumerate(groups):
        missing = [name for name in needed if name not in group]
        if missing:
            raise ValueError(f"load_state_dict: group {index} of the state has no {' and no '.join(missing)}, which {optimizer} needs; "
                             "load the state of an optimizer of the same kind")
