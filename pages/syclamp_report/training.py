# SPDX-License-Identifier: Apache-2.0
"""The page of `syclamp train --compare`."""
import shlex

from . import charts, findings, page, training_figures, words


def render(trainings):
    sections = [_section(training, f"t{at}") for at, training in enumerate(trainings, 1)]
    return page.render("training.html.j2", sections=sections, title="syclamp: " + words.listed(each.task for each in trainings))


def _section(training, name):
    base = findings.baseline(training)
    runs = [{"run": run, "label": findings.short(run), "role": look.role, "against": _against(run, base),
             "diverged": findings.diverged(run, training)}
            for run, look in zip(training.runs, charts.looks([run.name for run in training.runs]))]
    return {"name": name, "training": training, "runs": runs, "sentences": findings.of_training(training),
            "charts": training_figures.all_of(training, name), "command": training.command or _command(training),
            "zeros_of_weights": [(row["label"], row["run"].zero_share_weights) for row in runs
                                 if row["run"].zero_share_weights is not None],
            "has_base": any(run["against"] for run in runs), "columns": _columns(training)}


def _columns(training):
    """The columns that have anything in them."""
    fields = ("accuracy", "zero_share", "skips", "final_scale", "seconds", "scaling_share")
    return {field for field in fields if any(getattr(run, field) is not None for run in training.runs)}


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
