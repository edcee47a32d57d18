# SPDX-License-Identifier: Apache-2.0
"""The base class of the optimizers: a torch.optim.Optimizer whose step is one kernel of the library."""
from __future__ import annotations

from collections import OrderedDict
from typing import Any, Callable

import torch
from torch.optim.optimizer import ParamsT

from .. import _core
from .._checks import as_count, as_number
from ._arguments import TorchOptions, check_options, check_same_moments, check_settings, check_state, checked_max_norm
from ._compiler import not_compiled
from ._state import compact, keep_types, place_states, release_types, renew_master

_SAVED_ATTRIBUTES = ("_max_norm", "_setting_names", "_step_supports_amp_scaling", "_applied_count")


class FusedOptimizer(torch.optim.Optimizer):
    """An optimizer of the library for CPU parameters in FP32, FP16 or BF16.

    FP16 and BF16 parameters get FP32 masters, which are part of the state (``state[p]["master"]``). A step updates the masters and
    writes the rounded weights to the parameters. All state is FP32.

    Do not use this class itself; use one of its subclasses.
    """

    #: GradScaler of PyTorch asks this, also after pickling, so the default is an attribute of the class.
    _step_supports_amp_scaling: bool = True

    _kind: str  # the library's name of the optimizer

    _applied_count = 0  # steps that this object has applied; unlike `applied_steps`, a loaded state does not change it

    def __init__(self, params: ParamsT, defaults: dict[str, Any], options: TorchOptions, *, max_norm: float | None,
                 amp_scaling: bool) -> None:
        check_options(type(self).__name__, options)
        check_settings(defaults)
        self._max_norm = checked_max_norm(max_norm)
        self._setting_names = tuple(defaults)
        if not amp_scaling:
            self._step_supports_amp_scaling = False
        self._forget_core()
        super().__init__(params, defaults)

    @property
    def max_norm(self) -> float | None:
        """The norm to which all gradients together are clipped inside the step; None: no clipping. May change before every step."""
        return self._max_norm

    @max_norm.setter
    def max_norm(self, max_norm: float | None) -> None:
        self._max_norm = checked_max_norm(max_norm)

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}max_norm: {self._max_norm}\n)"

    # --- What a subclass says -----------------------------------------------------------------------------------------------------

    def _moments(self, group: dict[str, Any]) -> tuple[str, ...]:
        """The names of the moments in PyTorch's state, in the library's order."""
        raise NotImplementedError

    def _initial(self, name: str, group: dict[str, Any]) -> float:
        """The value of a moment before the first step."""
        return 0.0

    # --- Steps --------------------------------------------------------------------------------------------------------------------

    @not_compiled
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Applies the gradients. Waits until the parameters have changed.

        Args:
            closure: computes the loss again and returns it.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        if self._is_applied_by_scaler:
            return loss
        core = self._prepare_step()
        if core is not None:
            # GradScaler of PyTorch sets both attributes. Flags of several devices add up; no gradient at all is the integer 0.
            scale, found_inf = getattr(self, "grad_scale", None), getattr(self, "found_inf", None)
            skip = found_inf is not None and float(found_inf) != 0.0
            is_applied = core.apply(1.0 if scale is None else float(scale), skip, self._max_norm)
            self._end_step(core, is_applied)
        return loss

    def _skip_step(self) -> None:
        """Counts a step that a scaler skips without a call of `step`."""
        core = self._prepare_step()
        if core is not None:
            self._end_step(core, core.apply(1.0, True, None))

    def last_step_was_applied(self) -> bool:
        """True if the last step was applied, False if it was skipped or there was none. Does not wait."""
        return self._core is not None and self._has_stepped and self._core.last_step_was_applied()

    def applied_steps(self, group: int = 0) -> int:
        """The number of applied steps of the parameter group with the index `group`. Does not wait."""
        if as_count("group", group) >= len(self.param_groups):
            raise IndexError(f"group is {group}, but the optimizer has {len(self.param_groups)} parameter groups")
        if self._core is not None and group < len(self._steps):
            return self._core.applied_steps(group)
        return max((self._steps_of(self.state[p]) for p in self.param_groups[group]["params"] if p in self.state), default=0)

    @staticmethod
    def _steps_of(state: dict[str, Any]) -> int:
        # torch.optim.SGD does not count, but with a momentum from earlier steps the next step is not the first one.
        return int(state.get("step", 1 if state.get("momentum_buffer") is not None else 0))

    def _prepare_step(self) -> _core.TorchOptimizer | None:
        """The core with the present gradients and hyper-parameters; None if there is no gradient."""
        core = self._core
        if core is None or not self._send_groups(core) or not core.read_gradients():
            core = self._make_core()
            if not core.read_gradients():
                raise RuntimeError("step: the parameters or their gradients change while they are read; do not change them in another thread")
        for index in core.written:
            renew_master(self._trained[index], self.state)
        self._has_stepped = core.gradients > 0
        return core if self._has_stepped else None

    def _end_step(self, core: _core.TorchOptimizer, is_applied: bool) -> None:
        self._applied_count += is_applied
        for index, step in enumerate(self._steps):
            step.fill_(core.applied_steps(index))

    def _settings(self, group: dict[str, Any]) -> dict[str, Any]:
        settings = {name: group[name] for name in self._setting_names}
        settings["lr"] = as_number("lr", settings["lr"])
        return settings

    def _send_groups(self, core: _core.TorchOptimizer) -> bool:
        """Sends hyper-parameters that have changed. False: they need another kernel, or the groups have other parameters."""
        if len(self.param_groups) != len(self._sent):
            return False
        if any(self.state.get(p, {}).get("step") is not step for p, step in self._first_of_groups):
            return False  # the state was cleared
        if not all(_core.same_objects(group["params"], members) for group, members in zip(self.param_groups, self._members)):
            return False
        for index, group in enumerate(self.param_groups):
            settings = self._settings(group)
            if settings == self._sent[index]:
                continue
            if self._moments(group) != self._moments(self._sent[index]):
                return False
            core.set_group(index, settings)
            self._sent[index] = settings
        return True

    # --- The core and its state ---------------------------------------------------------------------------------------------------

    def _forget_core(self) -> None:
        self._core: _core.TorchOptimizer | None = None
        self._sent: list[dict[str, Any]] = []
        self._members: list[list[torch.Tensor]] = []  # parameters per group, with those that are frozen
        self._steps: list[torch.Tensor] = []
        self._trained: list[torch.Tensor] = []  # parameters with state, in the order of the core
        self._first_of_groups: list[tuple[torch.Tensor, torch.Tensor]] = []  # a parameter of each group, with the count of the group
        self._has_stepped = False
        self._is_applied_by_scaler = False

    def _make_core(self) -> _core.TorchOptimizer:
        check_same_moments(self.param_groups, [self._moments(group) for group in self.param_groups])
        self._save_tensor_moments()
        # By the parameters' own state: the groups may be others than those of the old core.
        steps = [max((self._steps_of(self.state[p]) for p in group["params"] if p in self.state), default=0) for group in self.param_groups]
        self._core = None
        present = {p for group in self.param_groups for p in group["params"]}
        for p in self._trained:
            if p not in present:
                self.state.pop(p, None)  # PyTorch's state_dict fails on state of a parameter that is in no group
        entries, watched, trained = [], [], []
        for index, group in enumerate(self.param_groups):
            for position, p in enumerate(group["params"]):
                if p.requires_grad or p.grad is not None:
                    names = group.get("param_names") or []
                    name = names[position] if position < len(names) else f"parameter {position} of group {index}"
                    trained.append((p, index, name))
                else:
                    watched.append(p)
        # A backward pass makes gradients from the last parameter to the first, and so they lie in memory. The same order makes a step with
        # thousands of tensors faster (docs/performance.md): a processor fetches memory ahead only in the order of addresses.
        trained.reverse()
        self._steps = [torch.tensor(float(count)) for count in steps]
        self._members = [list(group["params"]) for group in self.param_groups]
        self._trained = [p for p, _, _ in trained]
        place_states(self, trained)
        for p, index, name in trained:
            state = self.state[p]
            state["step"] = self._steps[index]
            moments = self._moments(self.param_groups[index])
            entries.append((p, index, name, state.get("master"), *(state[moment] for moment in moments)))
        self._first_of_groups = [(p, self._steps[index]) for index, p in {index: p for p, index, _ in trained}.items()]
        self._sent = [self._settings(group) for group in self.param_groups]
        core = _core.TorchOptimizer(torch.Tensor, self._kind, entries, watched, self._sent)
        core.set_steps(steps)
        self._load_tensor_moments(core)
        self._core = core
        return core

    def _save_tensor_moments(self) -> None:
        """NovoGrad keeps one number per tensor in the core."""

    def _load_tensor_moments(self, core: _core.TorchOptimizer) -> None:
        """The opposite of `_save_tensor_moments`."""

    @not_compiled
    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a parameter group, whose steps count from 0. `param_group` has the parameters, and settings where they differ.

        >>> import torch, syclamp.torch
        >>> first, second = (torch.nn.Parameter(torch.ones(2)) for _ in range(2))
        >>> optimizer = syclamp.torch.SGD([first], lr=0.5)
        >>> optimizer.add_param_group({"params": [second], "lr": 0.25})
        >>> [group["lr"] for group in optimizer.param_groups]
        [0.5, 0.25]
        """
        if isinstance(param_group, dict):  # PyTorch's own check comes later
            check_settings({**self.defaults, **param_group})
        super().add_param_group(param_group)
        if self._core is not None:
            self._save_tensor_moments()
            self._sent = []  # the next step makes a new core

    def state_dict(self) -> dict[str, Any]:
        """The state as PyTorch's optimizers return it, with the additional entry ``master`` for FP16 and BF16 parameters."""
        self._save_tensor_moments()
        state_dict = super().state_dict()
        # One count per parameter: PyTorch's optimizers would add to a shared one several times.
        state_dict["state"] = {
            key: {name: value.clone() if name == "step" and isinstance(value, torch.Tensor) else value for name, value in entry.items()}
            for key, entry in state_dict["state"].items()
        }
        return state_dict

    @not_compiled
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads the `state_dict` of an optimizer of this class, or of the optimizer of the same name in torch.optim.

        Unlike PyTorch's optimizers it keeps FP32 state of FP16 and BF16 parameters in FP32.
        """
        state_dict = state_dict.copy()
        pre_hooks, post_hooks = self._optimizer_load_state_dict_pre_hooks, self._optimizer_load_state_dict_post_hooks
        for pre_hook in pre_hooks.values():
            changed = pre_hook(self, state_dict)
            if changed is not None:
                state_dict = changed
        groups = [{"maximize": self.defaults["maximize"], **group} for group in state_dict["param_groups"]]  # old states lack it
        check_state(type(self).__name__, groups, self._setting_names)
        # PyTorch casts state tensors to the type of the parameter, so they are hidden from it.
        self._optimizer_load_state_dict_pre_hooks = OrderedDict()
        self._optimizer_load_state_dict_post_hooks = OrderedDict()
        try:
            super().load_state_dict({**state_dict, "param_groups": groups, "state": keep_types(state_dict["state"])})
        finally:
            self._optimizer_load_state_dict_pre_hooks, self._optimizer_load_state_dict_post_hooks = pre_hooks, post_hooks
        release_types(self.state)
        self._forget_core()
        for post_hook in post_hooks.values():
            post_hook(self)

    def __getstate__(self) -> dict[str, Any]:
        self._save_tensor_moments()
        options = {name: self.__dict__[name] for name in _SAVED_ATTRIBUTES if name in self.__dict__}
        return {**super().__getstate__(), "state": compact(self.state), "options": options}

    def __setstate__(self, state: dict[str, Any]) -> None:
        options = state.pop("options", {})  # PyTorch's load_state_dict also calls this function, without options
        self._forget_core()
        super().__setstate__(state)
        self.__dict__.update(options)

