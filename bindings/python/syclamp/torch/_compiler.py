# SPDX-License-Identifier: Apache-2.0
"""PyTorch's compiler cannot trace an extension module."""
from __future__ import annotations

from typing import Any, Callable, TypeVar, cast

import torch

_Function = TypeVar("_Function", bound=Callable[..., Any])


def not_compiled(function: _Function) -> _Function:
    """A decorator that keeps torch.compile away from a function and from what it calls."""
    return cast(_Function, torch.compiler.disable(function, recursive=True))  # type: ignore[no-untyped-call]
