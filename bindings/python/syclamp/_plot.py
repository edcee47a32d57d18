# SPDX-License-Identifier: Apache-2.0
"""The picture of a ledger."""

import math
from os import PathLike
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .ledger import Ledger

SCALE, NORM, SKIP = "#0b6e99", "#6b5b95", "#c0392b"


def plot_ledger(ledger: "Ledger", file: str | PathLike[str] | None) -> Any:
    """Draws a ledger; see `Ledger.plot`."""
    try:
        from matplotlib.figure import Figure  # the figure alone needs no display
    except ImportError as problem:
        raise ImportError("Ledger.plot needs matplotlib: pip install matplotlib") from problem
    figure = Figure(figsize=(8, 5), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    indices = sorted({record.scale_index for record in ledger})
    for index in indices or [0]:
        records = [record for record in ledger if record.scale_index == index]
        is_only = len(indices) <= 1
        suffix = "" if is_only else f" {index}"
        scales = [record.scale for record in records]
        above.step([record.step for record in records], scales, where="mid", color=SCALE if is_only else None, label=f"scale{suffix}")
        finite = [record for record in records if math.isfinite(record.norm)]
        norms = [record.norm for record in finite]
        below.plot([record.step for record in finite], norms, color=NORM if is_only else None, label=f"norm{suffix}")
    above.set_yscale("log", base=2)
    above.set_ylabel("loss scale")
    below.set_ylabel("gradient norm")
    below.set_xlabel("step")
    for axes in (above, below):
        for index, step in enumerate(ledger.skipped_steps):
            axes.axvline(step, color=SKIP, linewidth=0.8, alpha=0.6, label=None if index else "skipped")
        axes.legend(loc="upper right")
    if file is not None:
        figure.savefig(file)
    return figure
