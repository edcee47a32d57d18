# SPDX-License-Identifier: Apache-2.0
"""The picture of the README: held-out loss with and without loss scaling, beside the exponents of the gradients."""
import math

import matplotlib
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from . import charts, findings, words
from .document import Refused
from .training_curves import loss_ticks
from .training_gradients import LARGEST, SUBNORMAL, shares_by_exponent

THEMES = ("light", "dark")
RUNS = ("fp32", "fp16-none", "fp16-dynamic")
WIDTH, HEIGHT, FONT = 640, 430, 18  # at the 360 pixels of a phone the text still has 10
LOW, HIGH = -40, LARGEST + 1  # exponents that the histogram shows


def render(trainings, task=None):
    """The picture as SVG text, by theme. `task` is the first one that has all runs, unless it is named."""
    training = _chosen(trainings, task)
    return {theme: _picture(training, theme) for theme in THEMES}


def figures_of(training):
    """What the picture is made from. It is kept in the file, so that texts can be compared with it."""
    facts = {name: getattr(training, name) for name in ("task", "command", "device", "version", "date", "steps")}
    return facts | {"runs": {name: _figures_of(findings.named(training, name)) for name in RUNS}}


def _figures_of(run):
    return {"loss": run.loss, "accuracy": run.accuracy, "zero_share_at_last_step": run.exponents.zeros / run.exponents.total,
            "zero_share": run.zero_share, "scale": run.scale_at(run.exponents.step or 0), "skips": run.skips}


def _chosen(trainings, task):
    for training in trainings:
        runs = [findings.named(training, name) for name in RUNS]
        if task in (None, training.task) and all(run and run.loss is not None and run.held_out_curve and run.exponents
                                                 for run in runs):
            return training
    wanted = f"of the task {task} " if task else ""
    raise Refused(f"no result {wanted}has finished runs {words.listed(RUNS)} with curves and exponents; "
                  "make one with: syclamp train --compare --json FILE")


def _picture(training, theme):
    runs = [findings.named(training, name) for name in RUNS]
    looks = dict(zip(RUNS, charts.looks(RUNS)))
    with charts.style(f"picture-{theme}"):
        sizes = ("font.size", "axes.labelsize", "xtick.labelsize", "ytick.labelsize", "legend.fontsize")
        matplotlib.rcParams.update(dict.fromkeys(sizes, FONT) | {"axes.titlesize": FONT, "axes.titlelocation": "left"})
        drawn, axes = charts.figure(HEIGHT, WIDTH, mosaic="LN;LD")
        title = _title(*runs)
        drawn.suptitle(title, x=0.012, ha="left", fontsize=FONT + 3, fontweight="bold")
        _losses(axes["L"], runs, looks)
        top = 1.12 * max(_tallest(run) for run in runs)
        _exponents(axes["N"], runs[1], looks["fp16-none"], top, truth=(runs[0], looks["fp32"]))
        _exponents(axes["D"], runs[2], looks["fp16-dynamic"], top)
        axes["N"].tick_params(labelbottom=False)
        axes["D"].set_xlabel("size of a stored gradient")
        drawn.legend(handles=axes["L"].get_legend_handles_labels()[0], loc="outside lower left", ncols=3)
        return charts.svg_file(drawn, "p", _description(training, runs, title), charts.theme(theme), figures_of(training))


def _title(exact, plain, dynamic):
    """The point, as far as the figures carry it."""
    fails = plain.loss >= 1.1 * exact.loss
    equals = abs(dynamic.loss / exact.loss - 1.0) <= 0.05
    if fails and equals:
        return "Without loss scaling, FP16 loses its small gradients"
    return "FP16 with and without loss scaling"


def _losses(axes, runs, looks):
    for run in runs:
        look = looks[run.name]
        points = [(step, loss) for step, loss, _ in run.held_out_curve if loss is not None]
        axes.plot(*zip(*points), color=look.colour, linestyle=look.line, linewidth=1.7 * look.width, label=findings.label_of(run),
                  alpha=0.75 if look.role == "fp32" else 1)
    losses = [loss for run in runs for _, loss, _ in run.held_out_curve if loss is not None]
    if min(losses) > 0.0 and max(losses) > 4.0 * min(losses):
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(loss_ticks(min(losses) / 1.1, max(losses) * 1.1, most=5))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: words.number(value, 1)))
    axes.xaxis.set_major_locator(MaxNLocator(3, integer=True))
    axes.grid(axis="x", visible=False)
    axes.set_title("held-out loss")
    axes.set_xlabel("training step")


def _tallest(run):
    return 100 * max(shares_by_exponent(run.exponents, LOW, HIGH).values())


def _exponents(axes, run, look, top, truth=None):
    """The gradients as they are stored. `truth` is the run, with its look, that shows what they would be in FP32."""
    data = run.exponents
    for left, right in ((LOW, SUBNORMAL), (LARGEST, HIGH + 1)):
        axes.axvspan(left, right, color=charts.colour("lost"), alpha=0.22, linewidth=0)
    for each, its_look, alpha in ([(*truth, 0.55)] if truth else []) + [(run, look, 1)]:
        shares = shares_by_exponent(each.exponents, LOW, HIGH)
        axes.bar(list(shares), [100 * share for share in shares.values()], width=1.0, align="edge", color=its_look.colour,
                 linewidth=0, alpha=alpha)
    axes.set_xlim(LOW, HIGH + 1)
    axes.set_ylim(0.0, top)
    axes.yaxis.set_major_locator(MaxNLocator(3))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{share:.0f} %"))
    ticks = (SUBNORMAL, -4, LARGEST)
    axes.set_xticks(ticks, [words.power(tick) for tick in ticks])
    axes.grid(axis="x", visible=False)
    scale = run.scale_at(data.step or 0)
    how = "no scaling" if scale in (None, 1.0) else f"scale {words.scale(scale)}"
    axes.set_title(f"{how}: {words.percent(data.zeros / data.total)} are 0")


def _description(training, runs, title):
    parts = [f"{findings.short(run)} ends at a held-out loss of {words.number(run.loss)}, and "
             f"{words.percent(run.exponents.zeros / run.exponents.total)} of its stored gradients are zero" for run in runs]
    return f"{title}. Task {training.task}: {'; '.join(parts)}."
