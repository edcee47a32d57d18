# SPDX-License-Identifier: Apache-2.0
"""Reads what `syclamp train --json` wrote. The file is not trusted: whatever leaves this module has the stated types, finite
numbers (None where the file says null) and printable text, or the file was refused with the place and the reason."""
import json
import math
import shlex
import unicodedata
from dataclasses import dataclass

MOST_BYTES = 256 << 20
MOST_CHARACTERS = 200
LONGEST_COMMAND = 1 << 15  # a path has up to 4096 bytes, of which each may take five characters when a shell quotes it
LARGEST = 1e100  # nothing that is measured comes near; sums and ratios of what is below stay finite
MOST_TRAININGS, MOST_RUNS = 32, 32
PHASES = ("forward", "backward", "inspect", "apply", "update", "other")


class Refused(ValueError):
    """A file that is not what it should be."""


@dataclass(frozen=True)
class Exponents:
    step: int | None
    lowest: int
    counts: list[int]
    zeros: int
    infs: int
    nans: int

    @property
    def total(self):
        return sum(self.counts) + self.zeros + self.infs + self.nans


@dataclass(frozen=True)
class Tensor:
    name: str
    elements: int | None
    zero_share: float
    subnormal_share: float
    amax: float | None


@dataclass(frozen=True)
class Run:
    name: str
    precision: str | None
    scaling: str | None
    loss: float | None
    accuracy: float | None
    zero_share: float | None
    zero_share_weights: float | None
    skips: int | None
    final_scale: float | None
    seconds: float | None
    scaling_share: float | None
    steps: int | None
    loss_curve: list[tuple]  # (step, loss)
    held_out_curve: list[tuple]  # (step, loss, accuracy)
    scale_curve: list[tuple]  # (step, scale)
    skipped_steps: list[int]
    exponents: Exponents | None
    tensors: list[Tensor]
    step_seconds: dict[str, float]  # of one step, in the order of PHASES; what took no time is left out

    def zero_share_output(self):
        """Of the gradient of the output, which is the tensor of that name; None if there is none."""
        return next((tensor.zero_share for tensor in self.tensors if tensor.name == "output"), None)

    def scale_at(self, step):
        """The scale that a step was taken with; None if the run has no curve."""
        found = [scale for at, scale in self.scale_curve if at <= step] or [scale for _, scale in self.scale_curve[:1]]
        return found[-1] if found else None


@dataclass(frozen=True)
class Training:
    task: str
    command: str | None  # that makes the same runs again: words as a shell quotes them, the first are «syclamp train»
    seed: int | None
    epochs: int | None
    steps: int | None
    batch: int | None
    parameters: int | None
    device: str | None
    profile: str | None
    gemm: str | None
    version: str | None
    date: str | None
    interrupted: bool
    runs: list[Run]


def read(file):
    """All trainings of a file, at least one."""
    with open(file, "rb") as stream:
        data = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise Refused(f"{file} has more than {MOST_BYTES} bytes, so it is no result of a training")
    try:
        value = json.loads(data, parse_constant=_no_constant)
        return parse(value)
    except Refused as error:
        raise Refused(f"{file}: {error}") from None
    except RecursionError:
        raise Refused(f"{file}: nested too deeply") from None
    except ValueError as error:  # not JSON, or not UTF-8
        raise Refused(f"{file} is not JSON: {error}") from None


def parse(value):
    values = value if isinstance(value, list) else [value]
    if not 1 <= len(values) <= MOST_TRAININGS:
        raise Refused(f"a list of {len(values)} results; 1 to {MOST_TRAININGS} are expected")
    return [_training(_Fields(each, f"result {at}: " if isinstance(value, list) else "")) for at, each in enumerate(values)]


def _training(fields):
    runs = fields.rows("runs", lambda row, where: _run(_Fields(row, where + ".")))
    if not 1 <= len(runs) <= MOST_RUNS:
        raise Refused(f"{fields.where}runs has {len(runs)} entries; 1 to {MOST_RUNS} are expected")
    counts = {name: fields.count(name) for name in ("seed", "epochs", "steps", "batch", "parameters")}
    texts = {name: fields.text(name) for name in ("device", "profile", "gemm", "version", "date")}
    return Training(task=fields.text("task", needed=True), command=_command(fields), interrupted=fields.flag("interrupted"),
                    runs=runs, **counts, **texts)


def _command(fields):
    """People copy it into a shell, so it may be nothing but one call of syclamp. None if it cannot be shown whole."""
    command = fields.value.get("command")
    if command is None:
        return None
    try:
        parts = shlex.split(command) if isinstance(command, str) and len(command) <= LONGEST_COMMAND else []
    except ValueError:  # a quotation that does not end
        parts = []
    if parts[:2] != ["syclamp", "train"] or shlex.join(parts) != command:
        raise Refused(f"{fields.where}command is {_shown(command)}; syclamp train with its options is expected")
    return command if _printable(command, LONGEST_COMMAND) == command else None


def _run(fields):
    return Run(
        name=fields.text("name", needed=True), precision=fields.text("precision"), scaling=fields.text("scaling"),
        loss=fields.number("loss"), accuracy=fields.share("accuracy"), zero_share=fields.share("zero_share"),
        zero_share_weights=fields.share("zero_share_weights"), skips=fields.count("skips"),
        final_scale=fields.number("final_scale", least=0.0),
        seconds=fields.number("seconds", least=0.0), scaling_share=fields.share("scaling_share"), steps=fields.count("steps"),
        loss_curve=fields.curve("loss_curve", (_number,)),
        held_out_curve=fields.curve("held_out_curve", (_number, _share)),
        scale_curve=fields.curve("scale_curve", (_scale,)),
        skipped_steps=_ascending(fields.rows("skipped_steps", _needed_count), f"{fields.where}skipped_steps"),
        exponents=_exponents(fields.inner("exponents")), tensors=fields.rows("tensors", _tensor),
        step_seconds=_phases(fields.inner("step_seconds")))


def _exponents(fields):
    if fields is None:
        return None
    lowest = fields.number("lowest")
    if lowest is None or lowest != int(lowest) or not -2000 <= lowest <= 2000:
        raise Refused(f"{fields.where}lowest is {_shown(lowest)}; an exponent of two is expected")
    counts = fields.rows("counts", _needed_count)
    if len(counts) > 4096:
        raise Refused(f"{fields.where}counts has {len(counts)} entries; no type has so many exponents")
    others = {name: fields.count(name) or 0 for name in ("zeros", "infs", "nans")}
    found = Exponents(step=fields.count("step"), lowest=int(lowest), counts=counts, **others)
    return found if found.total else None


def _tensor(row, where):
    fields = _Fields(row, where + ".")
    tensor = Tensor(name=fields.text("name", needed=True), elements=fields.count("elements"),
                    zero_share=fields.share("zero_share") or 0.0, subnormal_share=fields.share("subnormal_share") or 0.0,
                    amax=fields.number("amax", least=0.0))
    if tensor.zero_share + tensor.subnormal_share > 1.0 + 1e-6:
        raise Refused(f"{where}: zero_share and subnormal_share are more than 1 together")
    return tensor


def _phases(fields):
    if fields is None:
        return {}
    found = {name: fields.number(name, least=0.0) for name in PHASES}
    return {name: seconds for name, seconds in found.items() if seconds}


class _Fields:
    """The entries of one object; complains with the place."""

    def __init__(self, value, where):
        if not isinstance(value, dict):
            raise Refused(f"{where or 'the file: '}{_shown(value)} where an object is expected")
        self.value, self.where = value, where

    def text(self, name, needed=False):
        value = self.value.get(name)
        if value is None and not needed:
            return None
        if not isinstance(value, str) or (needed and not value.strip()):
            raise Refused(f"{self.where}{name} is {_shown(value)}; text is expected")
        return _printable(value)

    def flag(self, name):
        value = self.value.get(name)
        if value not in (None, False, True) or isinstance(value, (int, float)) and not isinstance(value, bool):
            raise Refused(f"{self.where}{name} is {_shown(value)}; true or false is expected")
        return bool(value)

    def number(self, name, least=-math.inf):
        value = _number(self.value.get(name), self.where + name)
        if value is not None and value < least:
            raise Refused(f"{self.where}{name} is {value:g}; at least {least:g} is expected")
        return value

    def share(self, name):
        return _share(self.value.get(name), self.where + name)

    def count(self, name):
        value = self.value.get(name)
        return None if value is None else _needed_count(value, self.where + name)

    def inner(self, name):
        value = self.value.get(name)
        return None if value is None or value == {} else _Fields(value, f"{self.where}{name}.")

    def rows(self, name, parsed):
        value = self.value.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise Refused(f"{self.where}{name} is {_shown(value)}; a list is expected")
        return [parsed(row, f"{self.where}{name}[{at}]") for at, row in enumerate(value)]

    def curve(self, name, columns):
        """Rows of a step and `columns`; steps never go back."""
        def point(row, where):
            if not isinstance(row, list) or len(row) != 1 + len(columns):
                raise Refused(f"{where} is {_shown(row)}; a step and {len(columns)} more are expected")
            return (_needed_count(row[0], where), *(parsed(each, where) for parsed, each in zip(columns, row[1:])))

        points = self.rows(name, point)
        _ascending([point[0] for point in points], self.where + name)
        return points


def _number(value, where):
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Refused(f"{where} is {_shown(value)}; a number or null is expected")
    try:
        value = float(value)
    except OverflowError:
        value = math.inf
    if not abs(value) <= LARGEST:
        raise Refused(f"{where} is too large for a number; what is not finite is null")
    return value


def _share(value, where):
    value = _number(value, where)
    if value is not None and not 0.0 <= value <= 1.0:
        raise Refused(f"{where} is {value:g}; a share, 0 to 1, is expected")
    return value


def _scale(value, where):
    value = _number(value, where)
    if value is None or value <= 0.0:
        raise Refused(f"{where} is {_shown(value)}; a scale above 0 is expected")
    return value


def _needed_count(value, where):
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 64:
        raise Refused(f"{where} is {_shown(value)}; a whole number, 0 or more, is expected")
    return value


def _ascending(steps, where):
    if any(later < earlier for earlier, later in zip(steps, steps[1:])):
        raise Refused(f"{where}: steps go back")
    return steps


def _printable(text, most=MOST_CHARACTERS):
    """Without what neither HTML nor a terminal can show, and not without end."""
    clean = "".join("\N{REPLACEMENT CHARACTER}" if unicodedata.category(each) in ("Cc", "Cs", "Cf", "Co", "Cn") else each
                    for each in text[:most + 1])
    return clean if len(clean) <= most else clean[:most - 1] + "…"


def _shown(value):
    text = _printable(json.dumps(value, ensure_ascii=True, default=str)[:60]) if value is not None else "missing or null"
    return text if len(text) < 60 else text[:59] + "…"


def _no_constant(name):
    raise Refused(f"{name} is no JSON; what is not finite is null")
