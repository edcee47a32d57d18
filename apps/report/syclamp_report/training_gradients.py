# SPDX-License-Identifier: Apache-2.0
"""Figures of gradients: how large they are, and in which tensors they become zero."""
from matplotlib.ticker import FuncFormatter

from . import charts, words
from .charts import Chart
from .findings import cut, label_of

MOST_TENSORS = 16
LARGEST, SUBNORMAL, NORMAL = 16, -24, -14  # where FP16 ends, begins to hold anything, and holds all its bits


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
    caption = (f"The size of the gradients{when}, by powers of two, as they are stored. FP16 runs store scaled gradients. "
               "Look at how much of a histogram lies in the left band: FP16 stores such gradients as 0, which is called underflow. "
               f"Between {words.power(SUBNORMAL)} and {words.power(NORMAL)} FP16 keeps fewer bits. Values from {words.power(LARGEST)} on "
               "become Inf. Scaling moves the whole histogram to the right. The bands are FP16’s in all panels; FP32 and BF16 have a "
               "much larger range. The hatched bar counts zeros. It is cut off where it would be too high.")
    description = "Histograms of gradient exponents: " + "; ".join(described) + "."
    return Chart("Exponents of the gradients", charts.svg(drawn, name, description), caption)


def shares_by_exponent(data, low, high):
    """The share of gradients for each exponent; the first and the last also count what lies beyond them."""
    shares = dict.fromkeys(range(low, high + 1), 0.0)
    for at, n in enumerate(data.counts):
        shares[min(max(data.lowest + at, low), high)] += n / data.total
    return shares


def _histogram(axes, run, look, low, high):
    """One panel; returns what it shows, in words."""
    data = run.exponents
    shares = shares_by_exponent(data, low, high)
    zeros, bad = data.zeros / data.total, (data.infs + data.nans) / data.total
    for left, right, role in ((low - 1, SUBNORMAL, "lost"), (SUBNORMAL, NORMAL, "coarse"), (LARGEST, high + 1, "lost")):
        axes.axvspan(left, right, color=charts.colour(role), alpha=0.22, linewidth=0)
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
    label = label_of(run)
    scale = run.scale_at(data.step or 0)
    if scale not in (None, 1.0):
        label += f", × {words.scale(scale)}"
    parts = [f"{words.percent(zeros)} zero"] + ([f"{words.percent(bad)} Inf or NaN"] if bad else [])
    axes.text(LARGEST - 0.6, 0.96 * top, f"{label}: {', '.join(parts)}", ha="right", va="top", fontsize=10)
    middle = _median(data)
    below = f", half of the others below {words.power(middle + 1)}" if middle is not None else ""
    return f"{label}: {', '.join(parts)}{below}"


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
                  markersize=5.5, markeredgewidth=0, color=look.colour, label=label_of(run), clip_on=False, zorder=3)
    for row in range(0, len(kept), 2):
        axes.axhspan(row - 0.5, row + 0.5, color=charts.colour("grid"), alpha=0.45, linewidth=0)
    axes.set_yticks(range(len(kept)), [cut(each) for each in kept])
    axes.set_ylim(len(kept) - 0.5, -0.5)
    axes.set_xlim(0, 100)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{share:.0f} %"))
    axes.grid(axis="y", visible=False)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("share of the tensor’s gradients")
    charts.legend(drawn, axes)
    caption = ("The symbol marks the share of gradients that are zero. The line to its right is the share that is subnormal and has "
               "lost bits. Look for tensors where a symbol of FP16 is to the right of FP32’s: there gradients were lost.")
    if len(kept) < len(names):
        caption += f" Shown are the {len(kept)} of {len(names)} tensors with the most zeros."
    described = "; ".join(f"{each}: " + ", ".join(f"{label_of(run)} {words.percent(tensors[each].zero_share)}"
                                                 for run, _, tensors in shown if each in tensors) for each in kept)
    return Chart("Underflow by tensor", charts.svg(drawn, name, f"Share of zero gradients by tensor. {described}."), caption)
