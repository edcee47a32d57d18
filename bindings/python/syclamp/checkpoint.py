# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: optimizers and their scaler in one file, from which training resumes bit-identically."""

import os
from collections.abc import Sequence

from . import _core
from .optimizers import Optimizer, natives_of
from .scaler import LossScaler


def save_checkpoint(
    file: str | os.PathLike[str],
    optimizers: Optimizer | Sequence[Optimizer],
    scaler: LossScaler | None = None,
    notes: bytes | str = b"",
) -> None:
    """Saves weights, moments, settings and the scaler's state. The file is replaced atomically. Waits.

    :param notes: any bytes, for example the position of the training loop as JSON
    """
    data = notes.encode() if isinstance(notes, str) else notes
    _core.save_checkpoint(os.fspath(file), natives_of(optimizers), scaler.native if scaler else None, data)


def load_checkpoint(
    file: str | os.PathLike[str], optimizers: Optimizer | Sequence[Optimizer], scaler: LossScaler | None = None
) -> bytes:
    """Loads a checkpoint into optimizers and a scaler that match it, and returns its notes. Waits."""
    return _core.load_checkpoint(os.fspath(file), natives_of(optimizers), scaler.native if scaler else None)
