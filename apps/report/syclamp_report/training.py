# SPDX-License-Identifier: Apache-2.0
"""The page of `syclamp train --compare`."""
import shlex

from markupsafe import Markup

from . import charts, findings, page, training_figures, words

_DIVERGED = Markup("<em>diverged</em>")


def render(trainings):
    sections = [_section(training, f"t{at}") for at, training in enumerate(trainings, 1)]
    return page.render("training.html.j2", sections=sections, title="syclamp: " + words.listed(each.task for each in trainings))


def _section(training, name):
    looks = charts.looks([run.name for run in training.runs])
    runs = [{"label": findings.short(run), "role": look.role} for run, look in zip(training.runs, looks)]
    sizes = [(training.parameters, "parameter", "parameters"), (training.steps, "step", "steps"),
             (training.epochs, "epoch", "epochs"), (training.batch, "sample a batch", "samples a batch")]
    return {"name": name, "training": training, "sizes": sizes, "runs": runs, "columns": _columns(training),
            "sentences": findings.of_training(training), "charts": training_figures.all_of(training, name),
            "has_zeros": any(run.zero_share is not None for run in training.runs),
            "zeros_of_weights": [(findings.short(run), run.zero_share_weights) for run in training.runs
                                 if run.zero_share_weights is not None],
            "command": training.command or _command(training)}


_FIELDS = (("accuracy", "accuracy", words.percent), ("gradients that are 0", "zero_share", words.percent),
           ("steps skipped", "skips", words.count), ("final scale", "final_scale", words.scale),
           ("time", "seconds", words.seconds), ("scaling’s share", "scaling_share", words.percent))


def _columns(training):
    """Headings of the table, each with a cell for each run; those that no run has anything for are left out."""
    base = findings.baseline(training)
    columns = [("held-out loss", [_DIVERGED if findings.diverged(run, training) else words.number(run.loss)
                                  for run in training.runs])]
    against = [_against(run, base) for run in training.runs]
    if any(against):
        columns.append(("against FP32", [text or words.NONE for text in against]))
    for heading, field, shown in _FIELDS:
        values = [getattr(run, field) for run in training.runs]
        if any(value is not None for value in values):
            columns.append((heading, [shown(value) for value in values]))
    return columns


def _against(run, base):
    if base is None or run is base or run.loss is None or not base.loss or base.loss < 0.0:
        return ""
    ratio = run.loss / base.loss
    if ratio >= 2.0:
        return f"× {words.times(ratio)}"
    return f"{'+' if ratio >= 1.0 else '−'}{words.percent(abs(ratio - 1.0))}"


def _command(training):
    parts = ["syclamp", "train", "--task", training.task]
    if len(training.runs) > 1:
        parts += ["--compare"]
    elif training.runs[0].precision:
        parts += ["--precision", training.runs[0].precision]
        parts += ["--scaling", training.runs[0].scaling] if training.runs[0].scaling else []
    for option in ("epochs", "seed"):
        if getattr(training, option) is not None:
            parts += [f"--{option}", str(getattr(training, option))]
    return shlex.join(parts + ["--report", "report"])
