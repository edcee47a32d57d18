# SPDX-License-Identifier: Apache-2.0
"""The figures of a training. Each function returns a Chart, or None if the runs have nothing to draw."""
import math
from dataclasses import dataclass

from markupsafe import Markup
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from . import charts, words
from .document import PHASES
from .findings import short as full_name

MOST_POINTS, MOST_MARKS, MOST_TENSORS = 300, 200, 16
LARGEST, SUBNORMAL, NORMAL = 16, -24, -14  # where FP16 ends, begins to hold anything, and holds all its bits


@dataclass(frozen=True)
class Chart:
    title: str
    svg: Markup
    caption: str


def all_of(training, name):
    """`name` is unique on the page."""
    runs = list(zip(training.runs, charts.looks([run.name for run in training.runs])))

    def drawn(*figures):
        for draw in figures:
            with charts.style(f"{name}-{draw.__name__}"):
                if chart := draw(runs, f"{name}-{draw.__name__}"):
                    yield chart

    low = list(drawn(training_loss, held_out_loss, held_out_accuracy, scales))
    high, last = list(drawn(exponents, underflow)), list(drawn(step_time))
    return [*low, *last, *high] if len(low) % 2 else [*low, *high, *last]  # neighbours of a row are equally high


def short(run):
    return _cut(full_name(run))


def _cut(text, most=18):
    """Names are others' choice; figures are narrow."""
    return text if len(text) <= most else text[:most // 2 - 1] + "…" + text[-(most // 2):]


def training_loss(runs, name):
    curves = [(run, look, run.loss_curve) for run, look in runs]
    pooled = max((math.ceil(len(curve) / MOST_POINTS) for _, _, curve in curves), default=1)
    caption = "The loss of each batch, as the run itself sees it; runs have the same seed and the same order of data."
    if pooled > 1:
        caption += f" Each point is the mean of {pooled} values."
    return _curves(curves, name, "Training loss", "loss", caption, loss=True)


def held_out_loss(runs, name):
    curves = [(run, look, [(step, loss) for step, loss, _ in run.held_out_curve]) for run, look in runs]
    caption = ("The loss on data that is never trained on. A run that loses its small gradients falls more slowly, or stops: "
               "nothing crashes, and no number looks wrong.")
    return _curves(curves, name, "Held-out loss", "loss", caption, loss=True)


def held_out_accuracy(runs, name):
    curves = [(run, look, [(step, accuracy) for step, _, accuracy in run.held_out_curve if accuracy is not None])
              for run, look in runs]
    return _curves(curves, name, "Held-out accuracy", "accuracy", "The share of held-out samples that are classified rightly.")


def _curves(curves, name, title, label, caption, loss=False):
    curves = [(run, look, points, _pooled(points)) for run, look, points in curves if any(y is not None for _, y in points)]
    if not curves:
        return None
    drawn, axes = charts.figure(255)
    for run, look, _, points in curves:
        x, y = zip(*((step, math.nan if value is None else value) for step, value in points))
        axes.plot(x, y, color=look.colour, linestyle=look.line, linewidth=look.width, marker=look.marker, markersize=4.5,
                  markevery=max(1, len(x) // 6), markeredgewidth=0, label=short(run), alpha=0.75 if look.role == "fp32" else 1)
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
    description = f"{title} over steps. " + "; ".join(f"{short(run)} {_from_to(points, shown)}" for run, _, points, _ in curves)
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
        decades = math.log10(top / low)
        subs = (1.0, 2.0, 5.0) if decades < 2.5 else (1.0, )
        axes.yaxis.set_major_locator(_log_ticks(low / 1.3, top * 1.3, subs))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: words.number(value, 1)))
    else:
        space = 0.06 * (top - low) or abs(top) or 1.0
        axes.set_ylim(low - space, top + space)


def _log_ticks(low, high, subs):
    from matplotlib.ticker import FixedLocator
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [sub * 10.0**e for e in exponents for sub in subs if low <= sub * 10.0**e <= high]
    return FixedLocator(ticks[::math.ceil(len(ticks) / 8)] if ticks else [low, high])


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
    skips, handles, described = 0, [], []
    for run, look in shown:
        steps, values = zip(*_changes(run.scale_curve))
        y = [math.log2(value) for value in values]
        handles += axes.plot(steps, y, drawstyle="steps-post", color=look.colour, linestyle=look.line, linewidth=look.width,
                             label=short(run))
        skipped = [step for step in run.skipped_steps if step >= steps[0]]
        marked = skipped[::math.ceil(len(skipped) / MOST_MARKS) or 1]
        axes.plot(marked, [math.log2(_scale_at(run, step)) for step in marked], linestyle="none", marker="x", markersize=5.5,
                  markeredgewidth=1.6, color=charts.colour("lost"))
        skips += len(skipped)
        described.append(f"{short(run)} from {words.scale(values[0])} to {words.scale(values[-1])}, {len(skipped)} steps skipped")
    if skips:
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
    caption = ("The loss is multiplied by this number before the backward pass, and gradients are divided by it after. A dynamic "
               "scale grows after a number of good steps. If a gradient overflows, the step is skipped, no weight changes, and "
               "the scale is lowered.")
    return Chart("Loss scale", charts.svg(drawn, name, "The loss scale over steps: " + "; ".join(described) + "."), caption)


def _changes(curve):
    """The first and last point and those where the scale changes."""
    return [point for at, point in enumerate(curve)
            if at in (0, len(curve) - 1) or point[1] != curve[at - 1][1]]


def _scale_at(run, step):
    """The scale that a step was taken with; None if the run has no curve."""
    found = [scale for at, scale in run.scale_curve if at <= step]
    return found[-1] if found else run.scale_curve[0][1] if run.scale_curve else None


def exponents(runs, name):
    shown = [(run, look) for run, look in runs if run.exponents]
    if not shown:
        return None
    populated = [run.exponents.lowest + at for run, _ in shown for at, n in enumerate(run.exponents.counts) if n]
    low = max(min([*populated, SUBNORMAL - 4]), -46)
    high = min(max([*populated, LARGEST + 3]), 24)
    drawn, panels = charts.figure(62 + 66 * len(shown), nrows=len(shown), sharex=True, squeeze=False)
    described = []
    for axes, (run, look) in zip(panels[:, 0], shown):
        described.append(_histogram(axes, run, look, low, high))
    top, bottom = panels[0, 0], panels[-1, 0]
    for at, text in (((low + SUBNORMAL) / 2, "becomes 0"), ((SUBNORMAL + NORMAL) / 2, "fewer bits"),
                     ((NORMAL + LARGEST) / 2, "FP16’s normal range"), ((LARGEST + high + 1) / 2, "Inf")):
        top.annotate(text, (at, 1), xycoords=("data", "axes fraction"), xytext=(0, 3), textcoords="offset points", ha="center",
                     color=charts.colour("muted"), fontsize=9.5, annotation_clip=False)
    ticks = [tick for tick in (-40, SUBNORMAL, NORMAL, -4, 6, LARGEST) if low <= tick <= high + 1]
    bottom.set_xticks([low - 2.5, *ticks], ["zero", *(words.power(tick) for tick in ticks)])
    bottom.set_xlabel("size of a gradient")
    steps = {run.exponents.step for run, _ in shown}
    when = f" on step {words.count(steps.pop())}" if len(steps) == 1 and None not in steps else ""
    caption = (f"How large gradients are{when}, by powers of two, as they are stored: in FP16 runs after the loss was scaled. FP16 has "
               f"normal numbers from {words.power(NORMAL)} to 65504 = 2¹⁵·(2 − 2⁻¹⁰), and below them subnormal ones, with fewer "
               f"and fewer bits, down to {words.power(SUBNORMAL)}. What is smaller still becomes 0: that is underflow. What is "
               "larger becomes Inf. Scaling moves the whole histogram to the right. The bands are FP16’s in all panels; FP32 and "
               "BF16 reach much further. Zeros have a bar of their own, cut where it is too high.")
    description = "Histograms of gradient exponents: " + "; ".join(described) + "."
    return Chart("Exponents of the gradients", charts.svg(drawn, name, description), caption)


def _histogram(axes, run, look, low, high):
    """One panel; returns what it shows, in words."""
    data = run.exponents
    shares = dict.fromkeys(range(low, high + 1), 0.0)
    for at, n in enumerate(data.counts):
        shares[min(max(data.lowest + at, low), high)] += n / data.total
    zeros, bad = data.zeros / data.total, (data.infs + data.nans) / data.total
    for left, right, role, alpha in ((low - 1, SUBNORMAL, "lost", 0.22), (SUBNORMAL, NORMAL, "coarse", 0.22),
                                     (LARGEST, high + 1, "lost", 0.22)):
        axes.axvspan(left, right, color=charts.colour(role), alpha=alpha, linewidth=0)
    axes.bar(list(shares), list(shares.values()), width=1.0, align="edge", color=look.colour,
             edgecolor=charts.colour("surface"), linewidth=0.5)
    top = 1.5 * max(shares.values()) or 1.0  # room for a line of text
    axes.bar([low - 2.5], [min(zeros, top)], width=1.6, color=charts.colour("surface"), edgecolor=look.colour, hatch="//////",
             linewidth=1.0)
    axes.set_ylim(0.0, top)
    axes.set_xlim(low - 4.5, high + 1)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(visible=False)
    label = short(run)
    scale = _scale_at(run, data.step or 0)
    if scale not in (None, 1.0):
        label += f", × {words.scale(scale)}"
    parts = [f"{words.percent(zeros)} zero"] + ([f"{words.percent(bad)} Inf or NaN"] if bad else [])
    axes.text(LARGEST - 0.6, 0.96 * top, f"{label}: {', '.join(parts)}", ha="right", va="top", fontsize=10)
    middle = _median(data)
    return f"{label}: {', '.join(parts)}" + (f", half of the others below {words.power(middle + 1)}" if middle is not None else "")


def _median(data):
    seen, half = 0, sum(data.counts) / 2
    for at, n in enumerate(data.counts):
        seen += n
        if seen and seen >= half:
            return data.lowest + at
    return None


def underflow(runs, name):
    shown = [(run, look, {tensor.name: tensor for tensor in run.tensors}) for run, look in runs if run.tensors]
    names = list(dict.fromkeys(tensor for _, _, tensors in shown for tensor in tensors))
    if not names:
        return None
    worst = {each: max(tensors[each].zero_share for _, _, tensors in shown if each in tensors) for each in names}
    kept = names if len(names) <= MOST_TENSORS else sorted(names, key=worst.get, reverse=True)[:MOST_TENSORS]
    kept = [each for each in names if each in set(kept)]
    drawn, axes = charts.figure(90 + max(26, min(9 * len(shown), 40)) * len(kept))
    step = 0.76 / max(1, len(shown))
    for at, (run, look, tensors) in enumerate(shown):
        rows = [(row + (at - (len(shown) - 1) / 2) * step, tensors[each]) for row, each in enumerate(kept) if each in tensors]
        for y, tensor in rows:
            axes.plot([100 * tensor.zero_share, 100 * (tensor.zero_share + tensor.subnormal_share)], [y, y], color=look.colour,
                      linewidth=1.4, solid_capstyle="butt", alpha=0.65, clip_on=False)
        axes.plot([100 * tensor.zero_share for _, tensor in rows], [y for y, _ in rows], linestyle="none", marker=look.marker,
                  markersize=5.5, markeredgewidth=0, color=look.colour, label=short(run), clip_on=False, zorder=3)
    for row in range(0, len(kept), 2):
        axes.axhspan(row - 0.5, row + 0.5, color=charts.colour("grid"), alpha=0.45, linewidth=0)
    axes.set_yticks(range(len(kept)), [_cut(each) for each in kept])
    axes.set_ylim(len(kept) - 0.5, -0.5)
    axes.set_xlim(0, 100)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{share:.0f} %"))
    axes.grid(axis="y", visible=False)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("share of the tensor’s gradients")
    charts.legend(drawn, axes)
    caption = ("Underflow by tensor. The symbol is the share of gradients that are zero; the line after it, the share that is "
               "subnormal and has lost bits. Where FP16’s share is larger than FP32’s, gradients were lost.")
    if len(kept) < len(names):
        caption += f" Shown are the {len(kept)} of {len(names)} tensors with the most zeros."
    described = "; ".join(f"{each}: " + ", ".join(f"{short(run)} {words.percent(tensors[each].zero_share)}"
                                                 for run, _, tensors in shown if each in tensors) for each in kept)
    return Chart("Underflow by tensor", charts.svg(drawn, name, f"Share of zero gradients by tensor. {described}."), caption)


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
        scaling = run.step_seconds.get("inspect", 0.0) + run.step_seconds.get("update", 0.0)
        note = words.seconds(total) + (f"; scaling {words.percent(scaling / total)}" if scaling else "")
        axes.text(0.0, row - 0.3, f"{short(run)}: {note}", fontsize=10, va="bottom", ha="left")
        described.append(f"{short(run)} {note}: " + ", ".join(f"{phase} {words.seconds(s)}" for phase, s in run.step_seconds.items()))
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
    caption = ("Where the time of a step goes. Scaling is what it costs to inspect all gradients and to move the scale; apply is the "
               "optimizer, which unscales on the way at no cost of its own.")
    return Chart("Time of a step", charts.svg(drawn, name, "Time of a step. " + "; ".join(described) + "."), caption)
