# SPDX-License-Identifier: Apache-2.0
"""The memory of an optimizer's state."""
from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from ._optimizer import FusedOptimizer

_ALIGNMENT = 16  # elements of a cache line
_PAGE = 1024  # elements of a page of memory
_SKEW = 13 * _ALIGNMENT  # a fifth of a page


class Kept:
    """Hides a tensor from code that would cast it."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor


def keep_types(state: dict[Any, Any]) -> dict[Any, Any]:
    """The state of a state_dict with every tensor hidden."""
    return {
        key: {name: Kept(value) if isinstance(value, torch.Tensor) else value for name, value in entry.items()}
        for key, entry in state.items()
    }


def release_types(state: dict[torch.Tensor, dict[str, Any]]) -> None:
    """Replaces hidden tensors by copies in FP32, as PyTorch's own loading copies them."""
    for entry in state.values():
        for name, value in entry.items():
            if isinstance(value, Kept):
                entry[name] = value.tensor.detach().to(dtype=torch.float32, device="cpu", copy=True)


def compact(state: dict[torch.Tensor, dict[str, Any]]) -> defaultdict[torch.Tensor, dict[str, Any]]:
    """A copy in which no tensor shares memory with another. A pickle would otherwise hold the shared memory once per tensor."""
    copied: defaultdict[torch.Tensor, dict[str, Any]] = defaultdict(dict)
    for p, entry in state.items():
        copied[p] = {name: value.clone() if isinstance(value, torch.Tensor) else value for name, value in entry.items()}
    return copied


def place_states(optimizer: FusedOptimizer, trained: list[tuple[torch.Tensor, int, str]]) -> None:
    """Moves all moments and masters to one piece of memory, and makes those that are missing.

    A step reads the moments of a weight along with the weight. Streams that lie a multiple of a page apart fall on the same sets of a
    cache, which costs AdamW a third of its speed. So each stream begins at another place within a page.
    """
    streams: dict[str, list[tuple[torch.Tensor, float | None]]] = defaultdict(list)
    for p, index, _ in trained:
        group = optimizer.param_groups[index]
        if p.dtype is not torch.float32:
            streams["master"].append((p, None))
        for name in optimizer._moments(group):
            streams[name].append((p, optimizer._initial(name, group)))
    end = 0
    offsets: dict[str, list[int]] = {}
    for row, (name, members) in enumerate(streams.items()):
        end = -(-end // _PAGE) * _PAGE + (row + 1) * _SKEW % _PAGE
        offsets[name] = []
        for p, _ in members:
            offsets[name].append(end)
            end += -(-p.numel() // _ALIGNMENT) * _ALIGNMENT
    memory = torch.zeros(end, dtype=torch.float32)
    with torch.no_grad():
        for name, members in streams.items():
            for (p, initial), offset in zip(members, offsets[name]):
                view = memory.as_strided(p.shape, p.stride(), offset)
                existing = optimizer.state[p].get(name)
                if existing is not None:
                    view.copy_(renewed(existing, p) if name == "master" else existing)
                elif initial is None:
                    view.copy_(p.detach())
                elif initial != 0.0:
                    view.fill_(initial)
                optimizer.state[p][name] = view


def renew_master(p: torch.Tensor, state: dict[torch.Tensor, dict[str, Any]]) -> None:
    """Takes over weights that were changed outside the optimizer. Others keep the bits that only the master has."""
    master = state[p]["master"]
    with torch.no_grad():
        master.copy_(renewed(master, p))


def renewed(master: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
    """The master of a parameter, with the parameter's value where the two disagree."""
    return torch.where(p.detach() == master.to(p.dtype), master, p.detach().float())
