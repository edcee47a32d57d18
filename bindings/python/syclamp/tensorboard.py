# SPDX-License-Identifier: Apache-2.0
"""The ledger as scalars of TensorBoard. Needs the package tensorboard."""

import os
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol

from ._core import StepRecord

#: Tags and the numbers that are written for each step. With several scales, "/0", "/1" and so on follow the tags.
SCALARS: dict[str, Callable[[StepRecord], float]] = {
    "syclamp/scale": lambda record: record.scale,
    "syclamp/norm": lambda record: record.norm,
    "syclamp/amax": lambda record: record.amax,
    "syclamp/clip": lambda record: record.clip,
    "syclamp/skipped": lambda record: float(not record.was_applied),
    "syclamp/skipped_total": lambda record: float(record.skipped),
}


class Scaler(Protocol):
    """What a `LedgerWriter` needs of a scaler: `syclamp.LossScaler` and `syclamp.torch.GradScaler` have it."""

    @property
    def engine(self) -> Any: ...

    def on_step(self, handler: Callable[[StepRecord], None], /) -> Callable[[], None]: ...

    def report(self) -> None: ...


class LedgerWriter:
    """Writes every record of a scaler to a TensorBoard log.

        with LedgerWriter(scaler, "runs/first"):
            train()

    :param scaler: a `syclamp.LossScaler` or a `syclamp.torch.GradScaler`, whose records are written from now on
    :param folder: folder of the log
    """

    def __init__(self, scaler: Scaler, folder: str | os.PathLike[str]) -> None:
        try:
            from tensorboard.summary.writer.event_file_writer import EventFileWriter
        except ImportError as problem:
            raise ImportError("LedgerWriter needs tensorboard: pip install tensorboard") from problem
        self._scaler = scaler
        self._has_scales = getattr(scaler, "scales", 1) > 1
        self._writer: Any = EventFileWriter(os.fspath(folder))
        self._remove = scaler.on_step(self._write)

    def _write(self, record: StepRecord) -> None:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary

        suffix = f"/{record.scale_index}" if self._has_scales else ""
        values = [Summary.Value(tag=tag + suffix, simple_value=read(record)) for tag, read in SCALARS.items()]
        self._writer.add_event(Event(wall_time=time.time(), step=record.step, summary=Summary(value=values)))

    def close(self) -> None:
        """Waits for the last step, writes its record and closes the log."""
        self._scaler.engine.wait()
        self._scaler.report()
        self._remove()
        self._writer.close()

    def __enter__(self) -> "LedgerWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
