#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Learns one implicit time step of the heat equation: a task where BF16 loses and FP16 with loss scaling wins.

    python examples/python/train_surrogate.py                         # one minute on 2 cores; writes surrogate/curves.png
    python examples/python/train_surrogate.py --steps 100 --seeds 1   # a quick look

An implicit time step multiplies the field by the inverse of a matrix. A simulation can replace the solver by a layer that has learned that
inverse. The step is linear, so a linear layer can represent it exactly, and only the arithmetic limits the error.

BF16 has 8 significant bits, FP16 has 11. But the loss is the mean over 32768 numbers, so the gradients are tiny, and they shrink with the
error. FP16 without scaling rounds them to zero before the layer has learned all it could.

All runs use torch.autocast and keep weights in FP32. Errors are relative to the size of the fields, on fields that were not trained
with: first those of the layer in the precision of its training, then those of the same weights in FP32.
"""
import argparse
import statistics
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import torch
from torch import Tensor, nn

import syclamp.torch

SAMPLES, POINTS, LR = 512, 64, 0.01
RUNS: dict[str, tuple[torch.dtype, bool]] = {  # name: precision, with loss scaling
    "fp32": (torch.float32, False),
    "bf16": (torch.bfloat16, False),
    "fp16": (torch.float16, False),
    "fp16 scaled": (torch.float16, True),
}


def time_step(fields: Tensor) -> Tensor:
    """One step of implicit Euler for the heat equation, with four times the step that an explicit method could take."""
    laplace = torch.diag(torch.full((POINTS,), -2.0)) + torch.diag(torch.ones(POINTS - 1), 1) + torch.diag(torch.ones(POINTS - 1), -1)
    return torch.linalg.solve(torch.eye(POINTS) - 2 * laplace, fields.T).T


def precision_of(dtype: torch.dtype) -> AbstractContextManager[object]:
    return nullcontext() if dtype == torch.float32 else torch.autocast("cpu", dtype)


def train(dtype: torch.dtype, scaled: bool, seed: int, steps: int) -> tuple[list[float], float, float]:
    """The relative error every 10 steps, the final error in FP32, and the share of gradients that were zero in the last step."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    inputs, new_inputs = torch.randn(2, SAMPLES, POINTS, generator=generator)
    targets, new_targets = time_step(inputs), time_step(new_inputs)
    model = nn.Linear(POINTS, POINTS)
    optimizer = syclamp.torch.AdamW(model.parameters(), lr=LR, weight_decay=0.0, eps=1e-15)
    scaler = syclamp.torch.GradScaler("cpu", growth_interval=100, enabled=scaled)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)

    def error(dtype: torch.dtype) -> float:
        with torch.no_grad(), precision_of(dtype):
            return float((model(new_inputs).float() - new_targets).norm() / new_targets.norm())

    errors, zeros = [], 0.0
    for step in range(steps):
        optimizer.zero_grad(set_to_none=True)
        with precision_of(dtype):
            loss = (model(inputs).float() - targets).square().mean()
        scaler.scale(loss).backward()
        if step == steps - 1:
            grads = [p.grad for p in model.parameters() if p.grad is not None]
            zeros = sum(int((g == 0).sum()) for g in grads) / sum(g.numel() for g in grads)
        scaler.step(optimizer)
        scaler.update()
        schedule.step()
        if step % 10 == 9:
            errors.append(error(dtype))
    return errors, error(torch.float32), zeros


def draw(curves: dict[str, list[list[float]]], file: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
    for name, seeds in curves.items():
        steps = range(10, 10 * len(seeds[0]) + 1, 10)
        line = axes.plot(steps, [statistics.median(at) for at in zip(*seeds)], label=name)[0]
        axes.fill_between(steps, [min(at) for at in zip(*seeds)], [max(at) for at in zip(*seeds)], alpha=0.15, linewidth=0,
                          color=line.get_color())
    axes.set(xlabel="step", ylabel="relative error on new fields", yscale="log", title="A learned time step: median and range over seeds")
    axes.legend()
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=600, help="steps per run, at least 10, default 600")
    parser.add_argument("--seeds", type=int, default=3, help="seeds per run, default 3")
    parser.add_argument("--output", type=Path, default=Path("surrogate"), metavar="DIR", help="folder for curves.png")
    options = parser.parse_args()
    if options.steps < 10 or options.seeds < 1:
        parser.error("--steps must be at least 10, and --seeds at least 1")

    print(f"{'run':12} {'seed':>4} {'error':>12} {'in FP32':>9} {'zero gradients':>15}")
    curves: dict[str, list[list[float]]] = {}
    for name, (dtype, scaled) in RUNS.items():
        for seed in range(options.seeds):
            if sys.stderr.isatty():
                print(f"{name}, seed {seed} …", end="\r", file=sys.stderr)
            errors, in_fp32, zeros = train(dtype, scaled, seed, options.steps)
            curves.setdefault(name, []).append(errors)
            print(f"{name:12} {seed:4} {errors[-1]:12.6f} {in_fp32:9.6f} {100 * zeros:13.1f} %", flush=True)
    draw(curves, options.output / "curves.png")
    if options.steps >= 600 and min(seed[-1] for seed in curves["bf16"]) <= max(seed[-1] for seed in curves["fp16 scaled"]):
        sys.exit("train_surrogate.py: FP16 with loss scaling should have the smaller error, but BF16 does; please report this")
    print(f"wrote {options.output / 'curves.png'}")


if __name__ == "__main__":
    main()
