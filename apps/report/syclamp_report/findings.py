# SPDX-License-Identifier: Apache-2.0
"""Findings as sentences. Each one is derived from the data, and left out if the data does not support it."""
import math

from . import words

_SHORT = {"fp32": "FP32", "fp16-none": "FP16, no scaling", "fp16-static": "FP16, static", "fp16-dynamic": "FP16, dynamic",
          "bf16": "BF16"}
_LONG = {"fp16-none": "FP16 without scaling", "fp16-static": "FP16 with a static scale",
         "fp16-dynamic": "FP16 with dynamic scaling"}
_FIRST = ("fp16-none", "fp16-dynamic", "fp16-static", "bf16")  # the order of the sentences


def short(run):
    return _SHORT.get(run.name, run.name)


def long(run):
    return _LONG.get(run.name) or short(run)


def label_of(run):
    """For figures, which are narrow."""
    return cut(short(run))


def cut(text, most=18):
    """Names are others' choice."""
    return text if len(text) <= most else text[:most // 2 - 1] + "…" + text[-(most // 2):]


def named(training, name):
    """The run of that name, if there is one."""
    return next((run for run in training.runs if run.name == name), None)


def baseline(training):
    return named(training, "fp32")


def diverged(run, training):
    """Without a loss at the end; a run that was interrupted has none either, but its curve is finite."""
    return run.loss is None and (not training.interrupted or any(loss is None for _, loss in run.loss_curve))


def of_training(training):
    """The sentences, the most important first."""
    found = [*_losses(training), _accuracy(training), _underflow(training), _skips(training), _cost(training)]
    return [sentence for sentence in found if sentence]


def _losses(training):
    base = baseline(training)
    others = [run for run in training.runs if run is not base]
    others.sort(key=lambda run: _FIRST.index(run.name) if run.name in _FIRST else len(_FIRST))
    if base is None or base.loss is None or base.loss <= 0.0:
        return [_sentence(_alone(run, training) for run in ([base] if base else []) + others)]
    clauses = [_compared(run, base, training) for run in others]
    if not clauses:
        return [_sentence([_alone(base, training)])]
    return [_sentence(clauses[:2]), _sentence(clauses[2:])]


def _alone(run, training):
    if run.loss is not None:
        return f"{long(run)} ended at a loss of {words.number(run.loss)}"
    return f"{long(run)} diverged" if diverged(run, training) else f"{long(run)} was stopped before its loss was measured"


def _compared(run, base, training):
    if run.loss is None:
        return _alone(run, training)
    ratio, whose = run.loss / base.loss, f"{long(base)}’s"
    if ratio >= 2.0:
        return f"{long(run)} ended at a loss {words.times(ratio)} times {whose}"
    if ratio == 1.0:
        return f"{long(run)} ended at exactly {whose} loss"
    if abs(ratio - 1.0) <= 0.01:
        return f"{long(run)} ended within {words.percent(_up(abs(ratio - 1.0)))} of {whose} loss"
    return f"{long(run)} ended {words.percent(abs(ratio - 1.0))} {'above' if ratio > 1.0 else 'below'} {whose} loss"


def _up(share):
    """Rounded up to a hundredth of a percent: «within» must hold (but for what the division itself has rounded)."""
    return max(1, math.ceil(share * 1e4 - 1e-8)) / 1e4


def _accuracy(training):
    base = baseline(training)
    if base is None or base.accuracy is None:
        return None
    others = [run for run in training.runs if run is not base and run.accuracy is not None]
    parts = [f"{long(run)} {words.percent(run.accuracy)}" for run in others]
    return f"In accuracy {long(base)} reached {words.percent(base.accuracy)}" + (f"; {words.listed(parts)}." if parts else ".")


def _underflow(training):
    none, base = named(training, "fp16-none"), baseline(training)
    if none is None or none.zero_share is None:
        return None
    dynamic = named(training, "fp16-dynamic")
    if none.zero_share_weights is not None and none.zero_share_output() is not None:
        return _underflow_by_kind(none, dynamic, base)
    sentence = f"Without scaling {words.percent(none.zero_share)} of the FP16 gradients were zero"
    parts = [f"with dynamic scaling {words.percent(dynamic.zero_share)}"] if dynamic and dynamic.zero_share is not None else []
    parts += [f"in FP32 {words.percent(base.zero_share)}"] if base and base.zero_share is not None else []
    return sentence + (f", {words.listed(parts)}." if parts else ".")


def _underflow_by_kind(none, dynamic, base):
    """The gradient of the output is where it begins; what the optimizer gets is another share."""
    def shares(run):
        return words.percent(run.zero_share_output()), words.percent(run.zero_share_weights)

    output, weights = shares(none)
    clauses = [f"Without scaling {output} of the gradient of the output and {weights} of the weights’ gradients were zero in FP16"]
    for run, how in ((dynamic, "with dynamic scaling"), (base, "in FP32")):
        if run and run.zero_share_weights is not None and run.zero_share_output() is not None:
            clauses.append("{} {} and {}".format(how, *shares(run)))
    return _sentence(clauses)


def _skips(training):
    run = named(training, "fp16-dynamic")
    if run is None or run.skips is None:
        return None
    of = f" of {words.count(run.steps)}" if run.steps else ""
    skipped = f"{words.count(run.skips)}{of} step{'s' if run.steps or run.skips != 1 else ''}" if run.skips else "no step"
    ended = f" and ended at a scale of {words.scale(run.final_scale)}" if run.final_scale else ""
    return f"Dynamic scaling skipped {skipped}{ended}."


def _cost(training):
    run = named(training, "fp16-dynamic")
    if run is None or run.scaling_share is None:
        return None
    return f"Inspecting the gradients and updating the scale took {words.percent(run.scaling_share)} of a step."


def _sentence(clauses):
    text = "; ".join(clauses)
    return text and text + "."
