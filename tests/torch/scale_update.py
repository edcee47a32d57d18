# SPDX-License-Identifier: Apache-2.0
"""Replays random steps with PyTorch's own update of the scale and with `syclamp simulate --preset pytorch`, and compares
them bit for bit.   scale_update.py PROGRAM
"""
import json
import random
import struct
import subprocess
import sys
import tempfile

from real_torch import import_torch

STEPS = 10_000
SMALLEST = 2.0**-126
LARGEST = float.fromhex("0x1.fffffep127")
# name, init, growth, backoff, interval, share of overflows
SETTINGS = [
    ("default factors, interval 3", 65536.0, 2.0, 0.5, 3, 0.2),
    ("factors 1.7 and 0.3, interval 2", 65536.0, 1.7, 0.3, 2, 0.13),
    ("factors 1.1 and 0.9, interval 1", 65536.0, 1.1, 0.9, 1, 0.475),
    # 3 times this lies 2^-52 above the middle of two FP32: rounded to double it is the middle, and goes down.
    ("a product that is rounded twice", 3.0, float.fromhex("0x1.199998aaaaaabp+0"), 0.5, 1, 0.6),
    ("defaults", 65536.0, 2.0, 0.5, 2000, 0.0003),
    ("at the upper end", LARGEST, 2.0, 0.5, 2, 0.2),
    ("at the upper end, factors 1.7 and 0.3", 2.0**127, 1.7, 0.3, 2, 0.1),
    ("at the lower end", 2.0**-124, 2.0, 0.5, 2, 0.5),
    ("at the lower end, factors 1.7 and 0.3", 1.25 * 2.0**-126, 1.7, 0.3, 2, 0.4),
]


def bits(value):
    return None if value is None else struct.pack(">f", value).hex()


def replay(torch, init, growth, backoff, interval, share, rng):
    """A trace, and the scale before and after each of its letters. Where PyTorch would leave the range of normal numbers
    downwards, which syclamp does not, the step is a clean one."""
    scale = torch.full((1,), init, dtype=torch.float32)
    tracker = torch.zeros(1, dtype=torch.int32)
    found = {letter: torch.tensor([0.0 if letter == "." else 1.0]) for letter in ".in"}
    trace, before, after = [], [], []
    for _ in range(STEPS):
        bad = rng.random() < share and scale.item() * backoff >= SMALLEST
        trace.append(rng.choice("in") if bad else ".")
        before.append(scale.item())
        torch._amp_update_scale_(scale, tracker, found[trace[-1]], growth, backoff, interval)
        after.append(scale.item())
        assert SMALLEST <= after[-1] <= LARGEST
    return "".join(trace), before, after


def simulate(program, trace, init, growth, backoff, interval):
    with tempfile.NamedTemporaryFile("w", suffix=".trace") as file:
        file.write(trace)
        file.flush()
        done = subprocess.run(
            [program, "simulate", "--preset", "pytorch", "--init", repr(init), "--growth", repr(growth), "--backoff",
             repr(backoff), "--interval", str(interval), "--trace", "@" + file.name, "--json"],
            capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{program} simulate ended with {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def difference(trace, before, after, got):
    """What is wrong with `got`, or None."""
    wanted = {"scale_before": [bits(x) for x in before], "scale_after": [bits(x) for x in after],
              "applied": [letter == "." for letter in trace], "status": None}
    for key, want in wanted.items():
        if len(got[key]) != len(trace):
            return f"{key} has {len(got[key])} entries, the trace {len(trace)} letters"
        have = [bits(x) for x in got[key]] if key.startswith("scale") else got[key]
        for step, (expected, found) in enumerate(zip(want or [], have)):
            if expected != found:
                return (f"{key} of step {step} ({trace[max(0, step - 20):step + 1]}, from {before[step].hex()}): "
                        f"PyTorch {expected}, syclamp {found}")
    return None


def main(program):
    torch = import_torch()
    if torch is None:
        return 1
    rng = random.Random(20)
    wrong = 0
    for name, init, growth, backoff, interval, share in SETTINGS:
        trace, before, after = replay(torch, init, growth, backoff, interval, share, rng)
        fault = difference(trace, before, after, simulate(program, trace, init, growth, backoff, interval))
        wrong += fault is not None
        print(f"{name}: {STEPS - trace.count('.')} overflows, {len(set(after))} scales from {min(after):g} to "
              f"{max(after):g}: {fault or 'the same bits'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]) if len(sys.argv) == 2 else __doc__)
