# SPDX-License-Identifier: Apache-2.0
"""Presets, and simulations of policies on the host."""

from collections.abc import Iterable
from dataclasses import dataclass

from . import _core
from ._checks import need


@dataclass(frozen=True)
class Preset:
    """The scaling policy of a framework."""

    name: str  #: for `Policy` and `LossScaler`
    framework: str  #: the framework whose rules it replays
    note: str  #: differences from the framework; may be empty


def presets() -> list[Preset]:
    """All presets, `syclamp` first.

    >>> import syclamp
    >>> [preset.name for preset in syclamp.presets()][:2]
    ['syclamp', 'pytorch']
    """
    return [Preset(*fields) for fields in _core.presets()]


@dataclass(frozen=True)
class SimulatedStep:
    """The result of a simulated step."""

    scale_before: float  #: scale of this step
    scale_after: float  #: scale of the next step
    outcome: str  #: applied, or why not
    status: str  #: a warning, or ok


def simulate(trace: str, policy: str | _core.Policy | None = None) -> list[SimulatedStep]:
    """Moves a scale through a trace of steps, with the rules that run on devices: `.` clean, `i` Inf, `n` NaN.

    >>> import syclamp
    >>> [step.scale_after for step in syclamp.simulate(".i.", "pytorch")]
    [65536.0, 32768.0, 32768.0]

    :param trace: one character per step
    :param policy: a `Policy`, or the name of a preset; default: syclamp's own policy
    """
    steps = need("trace", trace, str, "a string", '; use the letters of ".in"')
    return [SimulatedStep(*fields) for fields in _core.simulate(policy, steps)]


@dataclass(frozen=True)
class Replay:
    """The result of applying a policy to a recorded run."""

    steps: int  #: steps of the ledger that had gradients
    skips: int  #: skipped steps with the policy
    recorded_skips: int  #: skipped steps in the ledger
    zero_share: float  #: share of gradients that were zero when they were recorded
    subnormal_share: float  #: share of gradients that were subnormal when they were recorded
    final_scale: float  #: scale after the last step
    max_safe_scale: float  #: largest power of two with which no recorded step is known to overflow
    results: list[SimulatedStep]  #: one per step


def replay(records: Iterable[_core.StepRecord], policy: str | _core.Policy | None = None) -> Replay:
    """Applies a policy to the records of a run: what would have happened with it?

    >>> import array, math, syclamp
    >>> weights, gradients = array.array("f", [1.0]), array.array("f", [0.0])
    >>> optimizer, scaler = syclamp.SGD(weights, gradients), syclamp.LossScaler(syclamp.Policy(init_scale=1024.0))
    >>> for gradient in (1.0, math.inf, 1.0):
    ...     gradients[0] = gradient * scaler.begin_step()
    ...     scaler.step(optimizer)
    ...     scaler.update()
    >>> scaler.outcome().outcome  # waits for the last record
    'applied'
    >>> result = syclamp.replay(scaler.ledger, syclamp.Policy(init_scale=256.0))  # the Inf was at a scale of 1024
    >>> result.steps, result.recorded_skips, result.skips
    (3, 1, 0)

    :param records: a ledger, or its records
    :param policy: a `Policy`, or the name of a preset; default: syclamp's own policy
    """
    ledger = [need(f"records[{index}]", record, _core.StepRecord, "a StepRecord") for index, record in enumerate(records)]
    fields = _core.replay(ledger, policy)
    fields["results"] = [SimulatedStep(*result) for result in fields["results"]]
    return Replay(**fields)
