# SPDX-License-Identifier: Apache-2.0
"""The ledger: one record per step, as the device has written it."""

from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal, overload

from . import _core


class Ledger(Sequence[_core.StepRecord]):
    """Records of steps, oldest first. A scaler with several scales writes one record per step and scale.

    >>> import syclamp
    >>> scaler = syclamp.LossScaler("pytorch")
    >>> scaler.ledger
    Ledger(0 steps, 0 skipped)
    >>> scaler.ledger.to_text("csv").split(",")[:2]
    ['step', 'scale_index']

    :param records: records of steps, oldest first
    """

    def __init__(self, records: Iterable[_core.StepRecord]) -> None:
        self._records = list(records)

    @classmethod
    def from_text(cls, text: str) -> "Ledger":
        """Reads a ledger from CSV or JSON lines."""
        return cls(_core.read_ledger(text))

    @classmethod
    def read(cls, file: str | PathLike[str]) -> "Ledger":
        """Reads a ledger from a file of CSV or JSON lines."""
        return cls.from_text(Path(file).read_text(encoding="utf-8"))

    def to_text(self, format: Literal["csv", "jsonl"] = "csv") -> str:
        """The ledger as text.

        :param format: "csv", or "jsonl" for one JSON object per line
        """
        return _core.ledger_text(self._records, format)

    @overload
    def __getitem__(self, index: int) -> _core.StepRecord: ...
    @overload
    def __getitem__(self, index: slice) -> "Ledger": ...
    def __getitem__(self, index: int | slice) -> "_core.StepRecord | Ledger":
        return Ledger(self._records[index]) if isinstance(index, slice) else self._records[index]

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[_core.StepRecord]:
        return iter(self._records)

    def __repr__(self) -> str:
        return f"Ledger({len(set(self.steps))} steps, {len(self.skipped_steps)} skipped)"

    @property
    def steps(self) -> list[int]:
        """The number of the step of each record."""
        return [record.step for record in self._records]

    @property
    def scales(self) -> list[float]:
        """The scale of each record."""
        return [record.scale for record in self._records]

    @property
    def norms(self) -> list[float]:
        """The norm of the unscaled gradients of each record."""
        return [record.norm for record in self._records]

    @property
    def skipped_steps(self) -> list[int]:
        """The numbers of the steps that were not applied, or with several scales not for all groups."""
        return list(dict.fromkeys(record.step for record in self._records if not record.was_applied))

    def plot(self, file: str | PathLike[str] | None = None) -> Any:
        """Draws scale, norm and skipped steps with matplotlib.

        :param file: the picture to write, for example ledger.png; None: nothing is written
        :return: the matplotlib figure
        """
        from ._plot import plot_ledger

        return plot_ledger(self, file)
