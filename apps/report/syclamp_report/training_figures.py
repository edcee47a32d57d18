# SPDX-License-Identifier: Apache-2.0
"""All figures of a training, and the figure of its step time."""
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from . import charts, words
from .charts import Chart
from .document import PHASES
from .findings import label_of
from .training_curves import held_out_accuracy, held_out_loss, scales, training_loss
from .training_gradients import exponents, underflow


def all_of(training, name):
    """`name` is unique on the page."""
    runs = list(zip(training.runs, charts.looks([run.name for run in training.runs])))

    def drawn(*figures):
        for draw in figures:
            with charts.style(f"{name}-{draw.__name__}"):
                chart = draw(runs, f"{name}-{draw.__name__}")
            if chart:
                yield chart

    low = list(drawn(training_loss, held_out_loss, held_out_accuracy, scales))
    high, last = list(drawn(exponents, underflow)), list(drawn(step_time))
    return [*low, *last, *high] if len(low) % 2 else [*low, *high, *last]  # neighbours of a row are equally high


_FILLS = {"forward": "phase-1", "backward": "phase-2", "inspect": "scaling", "apply": "phase-3", "update": "scaling",
          "other": "phase-4"}


def step_time(runs, name):
    shown = [run for run, _ in runs if run.step_seconds]
    if not shown:
        return None
    longest = max(sum(run.step_seconds.values()) for run in shown)
    unit, size = ("s", 1.0) if longest >= 1.0 else ("ms", 1e-3) if longest >= 1e-3 else ("µs", 1e-6)
    drawn, axes = charts.figure(88 + 37 * len(shown))
    described = []
    for row, run in enumerate(shown):
        left = 0.0
        for phase, seconds in run.step_seconds.items():
            axes.barh(row, seconds / size, left=left, height=0.5, color=charts.colour(_FILLS[phase]),
                      edgecolor=charts.colour("surface"), linewidth=0.6)
            left += seconds / size
        total = sum(run.step_seconds.values())
        note = words.seconds(total) + (f"; scaling {words.percent(run.scaling_share)}" if run.scaling_share else "")
        axes.text(0.0, row - 0.3, f"{label_of(run)}: {note}", fontsize=10, va="bottom", ha="left")
        phases = ", ".join(f"{phase} {words.seconds(seconds)}" for phase, seconds in run.step_seconds.items())
        described.append(f"{label_of(run)} {note}: {phases}")
    axes.set_ylim(len(shown) - 0.55, -0.95)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(visible=False)
    axes.set_xlabel(f"time of a step, {unit}")
    axes.xaxis.set_major_locator(MaxNLocator(5))
    there = [phase for phase in PHASES if any(phase in run.step_seconds for run in shown) and _FILLS[phase] != "scaling"]
    handles = [Patch(color=charts.colour(_FILLS[phase]), label=phase) for phase in there]
    if any(phase in run.step_seconds for run in shown for phase in ("inspect", "update")):
        handles.append(Patch(color=charts.colour("scaling"), label="scaling"))
    charts.legend(drawn, axes, columns=3, handles=handles)
    caption = ("The time of one training step, by phase. Scaling is the time to inspect all gradients and to update the scale. Apply "
               "is the optimizer, which also unscales the gradients. Look at how thin the part of scaling is.")
    return Chart("Time of a step", charts.svg(drawn, name, "Time of a step. " + "; ".join(described) + "."), caption)
