# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: optimizers and their scaler in one file, from which training resumes bit-identically."""

import os
from collections.abc import Sequence

from . import _core
from .optimizer import Optimizer, natives_of
from .scaler import LossScaler


def save_checkpoint(
    file: str | os.PathLike[str],
    optimizers: Optimizer | Sequence[Optimizer],
    scaler: LossScaler | None = None,
    notes: bytes | str = b"",
) -> None:
    """Saves weights, moments, settings and the scaler's state. The file is replaced atomically. Waits.

    >>> import array, pathlib, syclamp, tempfile
    >>> weights, gradients = array.array("f", [1.0]), array.array("f", [0.5])
    >>> optimizer = syclamp.SGD(weights, gradients, lr=1.0)
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name) / "run.ckpt"
    >>> syclamp.save_checkpoint(file, optimizer, notes="epoch 7")
    >>> optimizer.step()
    >>> syclamp.load_checkpoint(file, optimizer), weights
    (b'epoch 7', array('f', [1.0]))
    >>> folder.cleanup()

    :param file: path of the file
    :param optimizers: one optimizer, or several in the order in which they will be loaded
    :param scaler: a scaler whose state is saved, too
    :param notes: any bytes, for example the position of the training loop as JSON
    """
    data = notes.encode() if isinstance(notes, str) else notes
    _core.save_checkpoint(os.fspath(file), natives_of(optimizers), scaler.native if scaler else None, data)


def load_checkpoint(
    file: str | os.PathLike[str], optimizers: Optimizer | Sequence[Optimizer], scaler: LossScaler | None = None
) -> bytes:
    """Loads a checkpoint into optimizers and a scaler that match it, and returns its notes. Waits.

    `save_checkpoint` has an example.

    :param file: path of the file
    :param optimizers: as for `save_checkpoint`, with the same numbers of parameters and the same kinds
    :param scaler: a scaler, if one was saved
    """
    return _core.load_checkpoint(os.fspath(file), natives_of(optimizers), scaler.native if scaler else None)
