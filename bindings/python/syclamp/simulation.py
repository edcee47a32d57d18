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
    """Applies a policy to the records of a run: what would have happened with it?"""
    ledger = [need(f"records[{index}]", record, _core.StepRecord, "a StepRecord") for index, record in enumerate(records)]
    fields = _core.replay(ledger, policy)
    fields["results"] = [SimulatedStep(*result) for result in fields["results"]]
    return Replay(**fields)
