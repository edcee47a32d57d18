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
    above.step(ledger.steps, ledger.scales, where="mid", color=SCALE, label="scale")
    above.set_yscale("log", base=2)
    above.set_ylabel("loss scale")
    finite = [(step, norm) for step, norm in zip(ledger.steps, ledger.norms, strict=True) if math.isfinite(norm)]
    below.plot([step for step, _ in finite], [norm for _, norm in finite], color=NORM, label="norm")
    below.set_ylabel("gradient norm")
    below.set_xlabel("step")
    for axes in (above, below):
        for index, step in enumerate(ledger.skipped_steps):
            axes.axvline(step, color=SKIP, linewidth=0.8, alpha=0.6, label=None if index else "skipped")
        axes.legend(loc="upper right")
    if file is not None:
        figure.savefig(file)
    return figure
