# SPDX-License-Identifier: Apache-2.0
"""PyTorch's compiler cannot trace an extension module."""
from __future__ import annotations

from typing import Any, Callable, TypeVar, cast

import torch

_Function = TypeVar("_Function", bound=Callable[..., Any])


def not_compiled(function: _Function) -> _Function:
    """A decorator that keeps torch.compile away from a function and from what it calls.

    PyTorch decorates its own optimizers with `_disable_dynamo`, which loads the compiler at the first call. The public function loads it
    at once, which makes the import of this package slow.
    """
    disable: Callable[[_Function], Any] = getattr(torch, "_disable_dynamo", torch.compiler.disable)
    return cast(_Function, disable(function))
