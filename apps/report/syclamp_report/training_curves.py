# SPDX-License-Identifier: Apache-2.0
"""Figures over steps: losses, accuracy and the scale. Each is a Chart, or None if there is nothing to draw."""
import math

from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from . import charts, words
from .charts import Chart
from .findings import label_of

MOST_POINTS, MOST_MARKS = 300, 200


def training_loss(runs, name):
    curves = [(run, look, run.loss_curve) for run, look in runs]
    pooled = max((math.ceil(len(curve) / MOST_POINTS) for _, _, curve in curves), default=1)
    caption = "The loss of each training batch. All runs start from the same weights and see the same data in the same order."
    if any(len(run.loss_curve) < (run.steps or 0) for run, _ in runs):
        caption += " Of a long run only some batches are shown."
    if pooled > 1:
        caption += f" Each point is the mean of {pooled} values."
    return _curves(curves, name, "Training loss", "loss", caption, loss=True)


def held_out_loss(runs, name):
    curves = [(run, look, [(step, loss) for step, loss, _ in run.held_out_curve]) for run, look in runs]
    caption = ("The loss on samples that are not used for training; lower is better. Look for the curve that stays above FP32’s: "
               "that run has lost its small gradients. It does not crash, and no single number looks wrong.")
    return _curves(curves, name, "Held-out loss", "loss", caption, loss=True)


def held_out_accuracy(runs, name):
    curves = [(run, look, [(step, accuracy) for step, _, accuracy in run.held_out_curve if accuracy is not None])
              for run, look in runs]
    caption = "The share of held-out samples that are classified correctly; higher is better."
    return _curves(curves, name, "Held-out accuracy", "accuracy", caption)


def _curves(curves, name, title, label, caption, loss=False):
    curves = [(run, look, points, _pooled(points)) for run, look, points in curves if any(y is not None for _, y in points)]
    if not curves:
        return None
    drawn, axes = charts.figure(255)
    for run, look, _, points in curves:
        x, y = zip(*((step, math.nan if value is None else value) for step, value in points))
        axes.plot(x, y, color=look.colour, linestyle=look.line, linewidth=look.width, marker=look.marker, markersize=4.5,
                  markevery=max(1, len(x) // 6), markeredgewidth=0, label=label_of(run), alpha=0.75 if look.role == "fp32" else 1)
    values = [y for _, _, _, points in curves for _, y in points if y is not None]
    if loss:
        _loss_axis(axes, curves, values)
    else:
        axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.4g} %"))
    ends = [_mark_end(axes, look, points) for _, look, _, points in curves]
    axes.set_xlabel("step")
    axes.set_ylabel(label)
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.grid(axis="x", visible=False)
    charts.legend(drawn, axes)
    if any(ends):
        caption += " ✖ marks the last finite value of a run that diverged."
    shown = words.number if loss else words.percent
    description = f"{title} over steps. " + "; ".join(f"{label_of(run)} {_from_to(points, shown)}" for run, _, points, _ in curves)
    return Chart(title, charts.svg(drawn, name, description + "."), caption)


def _from_to(points, shown):
    finite = [y for _, y in points if y is not None]
    text = f"goes from {shown(finite[0])} to {shown(finite[-1])}"
    return text + (" and is not finite after that" if points[-1][1] is None else "")


def _loss_axis(axes, curves, values):
    """Logarithmic if the loss falls far; and a run that explodes does not flatten the others."""
    first = max(next(y for _, y in points if y is not None) for _, _, points, _ in curves)
    top = min(max(values), 3.0 * first) if first > 0.0 else max(values)
    low = min(values)
    if low > 0.0 and top > 4.0 * low:
        axes.set_yscale("log")
        axes.set_ylim(low / 1.3, top * 1.3)
        axes.yaxis.set_major_locator(loss_ticks(low / 1.3, top * 1.3))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: words.number(value, 1)))
    else:
        space = 0.06 * (top - low) or abs(top) or 1.0
        axes.set_ylim(low - space, top + space)


def loss_ticks(low, high, most=8):
    """Round numbers on a logarithmic axis, at most so many."""
    subs = (1.0, 2.0, 5.0) if math.log10(high / low) < 2.7 else (1.0, )
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [sub * 10.0**e for e in exponents for sub in subs if low <= sub * 10.0**e <= high]
    return FixedLocator(ticks[::math.ceil(len(ticks) / most)] if ticks else [low, high])


def _mark_end(axes, look, points):
    """Where a curve stops being finite; tells whether it does."""
    finite = [point for point in points if point[1] is not None]
    if points[-1][1] is not None:
        return False
    axes.plot(*finite[-1], marker="X", markersize=9, color=look.colour, markeredgecolor=charts.colour("surface"), clip_on=False)
    return True


def _pooled(points):
    """At most MOST_POINTS: the mean of neighbours; one that is not finite makes its pool so."""
    size = math.ceil(len(points) / MOST_POINTS)
    pools = [points[at:at + size] for at in range(0, len(points), size)] if size > 1 else []
    mean = [(pool[-1][0], None if any(y is None for _, y in pool) else sum(y for _, y in pool) / len(pool)) for pool in pools]
    return mean or points


def scales(runs, name):
    shown = [(run, look) for run, look in runs if any(scale != 1.0 for _, scale in run.scale_curve)]
    if not shown:
        return None
    drawn, axes = charts.figure(255)
    handles, described, any_skipped = [], [], False
    for run, look in shown:
        steps, values = zip(*_changes(run.scale_curve))
        y = [math.log2(value) for value in values]
        handles += axes.plot(steps, y, drawstyle="steps-post", color=look.colour, linestyle=look.line, linewidth=look.width,
                             label=label_of(run))
        marked = [step for step in run.skipped_steps if step >= steps[0]]
        marked = marked[::math.ceil(len(marked) / MOST_MARKS) or 1]
        axes.plot(marked, [math.log2(run.scale_at(step)) for step in marked], linestyle="none", marker="x", markersize=5.5,
                  markeredgewidth=1.6, color=charts.colour("lost"))
        any_skipped |= bool(marked)
        skips = len(run.skipped_steps) if run.skips is None else run.skips  # a long list is not complete
        described.append(f"{label_of(run)} from {words.scale(values[0])} to {words.scale(values[-1])}, "
                         f"{words.count(skips)} steps skipped")
    if any_skipped:
        handles.append(Line2D([], [], linestyle="none", marker="x", markersize=5.5, markeredgewidth=1.6,
                              color=charts.colour("lost"), label="step skipped"))
    axes.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda exponent, _: words.power(int(exponent))))
    low, high = axes.get_ylim()
    axes.set_ylim(min(low, math.floor(low + 0.2)), max(high, low + 2.0))
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.grid(axis="x", visible=False)
    axes.set_xlabel("step")
    axes.set_ylabel("loss scale")
    charts.legend(drawn, axes, handles=handles)
    caption = ("The loss is multiplied by the scale before the backward pass. The gradients are divided by it afterwards. A dynamic "
               "scale grows after a number of steps without overflow. If a gradient overflows, the step is skipped: no weight "
               "changes, and the scale is lowered. Look for skipped steps at the start, while the scale is still too large.")
    return Chart("Loss scale", charts.svg(drawn, name, "The loss scale over steps: " + "; ".join(described) + "."), caption)


def _changes(curve):
    """The first and last point and those where the scale changes."""
    return [point for at, point in enumerate(curve)
            if at in (0, len(curve) - 1) or point[1] != curve[at - 1][1]]
