#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small GPT on the CPU in FP32 and, with torch.autocast, in FP16: without loss scaling, with torch's GradScaler, and with
syclamp's optimizer and GradScaler.

    python examples/python/train_gpt.py                                # all runs with three seeds; writes gpt/
    python examples/python/train_gpt.py --steps 20 --seeds 1           # a quick look

The text is the language reference that comes with Python. For a given seed, all runs start from the same weights and see the same
batches. All runs together take about 10 minutes on 2 cores. An interrupted program resumes after its last complete run. The program
ends with exit code 1 if a run learns nothing, or if FP16 with syclamp leaves the losses of FP32 by more than rounding errors.

Does FP16 need loss scaling here? The gradient of a mean over T bytes is proportional to 1/T. Here T is only 128. Large models are
trained with a million bytes per step and more, where gradients are 2^13 times smaller. The runs `fp16 x 2^-N` show that: their loss is
multiplied by 2^-N before the backward pass, and their gradients are multiplied by 2^N after it. In FP32, these two factors change nothing.
"""
import argparse
import json
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import torch
from gpt import GPT, Text, loss_of

import syclamp.torch

LR, WEIGHT_DECAY, MAX_NORM, WARM_UP = 1e-3, 0.1, 1.0, 10


Steps = list[dict[str, float]]  # one entry per step, and one for the held-out text
Results = dict[str, dict[str, Steps]]  # by run and seed


class Run:
    """One way to train: a precision, an optimizer and a scaler."""

    def __init__(self, name: str, autocast: bool, scaler: Callable[[], torch.amp.GradScaler], ours: bool = False) -> None:
        self.name, self.autocast, self.scaler, self.ours = name, autocast, scaler, ours

    def precision(self) -> AbstractContextManager[object]:
        return torch.autocast("cpu", torch.float16) if self.autocast else nullcontext()

    def optimizer(self, model: torch.nn.Module) -> torch.optim.Optimizer:
        if self.ours:  # clips inside the step
            return syclamp.torch.AdamW(model.parameters(), lr=LR, weight_decay=WEIGHT_DECAY, max_norm=MAX_NORM)
        return torch.optim.AdamW(model.parameters(), lr=LR, weight_decay=WEIGHT_DECAY, fused=True)


def fixed_scale(log2: int) -> Callable[[], torch.amp.GradScaler]:
    """A scaler whose scale does not move."""
    return lambda: torch.amp.GradScaler("cpu", init_scale=2.0**log2, growth_interval=10**9, backoff_factor=0.999999)


def all_runs(small_losses: list[int]) -> list[Run]:
    return [
        Run("fp32", False, lambda: torch.amp.GradScaler("cpu", enabled=False)),
        Run("fp16", True, fixed_scale(0)),
        *(Run(f"fp16 x 2^-{n}", True, fixed_scale(-n)) for n in small_losses),
        Run("fp16 torch", True, lambda: torch.amp.GradScaler("cpu")),
        Run("fp16 syclamp", True, lambda: syclamp.torch.GradScaler("cpu"), ours=True),
    ]


def zero_share(model: torch.nn.Module) -> float:
    """The share of gradients that are zero, without the embeddings: bytes that a batch does not contain have no gradient."""
    grads = [p.grad for name, p in model.named_parameters() if p.grad is not None and not name.startswith(("tokens", "positions"))]
    return sum(int((g == 0).sum()) for g in grads) / sum(g.numel() for g in grads)


def train(run: Run, seed: int, steps: int, text: Text, layers: int) -> Iterator[dict[str, float]]:
    """Yields the loss and the share of zero gradients of each step, and at the end the loss on the held-out text."""
    torch.manual_seed(seed)
    model = GPT(layers)
    generator = torch.Generator().manual_seed(seed)
    optimizer, scaler = run.optimizer(model), run.scaler()
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1 / WARM_UP, total_iters=WARM_UP)
    for _ in range(steps):
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        inputs, targets = text.batch(generator)
        with run.precision():
            loss = loss_of(model, inputs, targets)
        scaler.scale(loss).backward()
        scale, zeros = scaler.get_scale(), zero_share(model)
        if not run.ours:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)
        scaler.step(optimizer)
        scaler.update()
        schedule.step()
        yield {"loss": loss.item(), "zeros": zeros, "skipped": float(scaler.get_scale() < scale), "seconds": time.perf_counter() - start}
    with torch.no_grad(), run.precision():
        held_out = [loss_of(model, *batch).item() for batch in text.held_out_batches(256)]
    yield {"held_out": statistics.mean(held_out)}


def check(results: Results) -> None:
    """Ends the program if a run has learned nothing, or if FP16 with syclamp does not train as FP32 does.

    FP16 rounds to 11 bits. A loss is a mean over many products, whose rounding errors average out, so it is off by less than one of them:
    2^-11. Each earlier step may add as much through the weights. The measured difference after 20 steps is 2^-15. A skipped step ends
    the comparison, because the weights then differ by a whole step. After 20 steps, differences may have grown, so no later one is compared."""
    for name, seeds in results.items():
        for seed, steps in seeds.items():
            if not steps[-1]["held_out"] < math.log(256):  # also if it is NaN
                sys.exit(f"train_gpt.py: {name}, seed {seed}: the held-out loss {steps[-1]['held_out']} is not below that of guessing")
    for seed, steps in results.get("fp16 syclamp", {}).items():
        expected = results.get("fp32", {}).get(seed, [])
        for number, (ours, theirs) in enumerate(zip(steps[:-1], expected[:20]), 1):
            limit = number * 2.0**-11
            if not abs(ours["loss"] / theirs["loss"] - 1) <= limit:
                sys.exit(f"train_gpt.py: fp16 syclamp, seed {seed}, step {number}: the loss {ours['loss']} differs from that of FP32, "
                         f"{theirs['loss']}, by more than {100 * limit:.2f} %, which rounding to FP16 cannot explain; please report this")
            if ours["skipped"]:
                break


def draw(results: Results, file: Path) -> None:
    """Loss and zero gradients by step: the mean over seeds, and for the loss the range."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4), layout="constrained")
    for name, seeds in ((name, list(by_seed.values())) for name, by_seed in results.items()):
        curves = [[step["loss"] for step in steps[:-1]] for steps in seeds]
        smooth = [[statistics.mean(curve[max(0, i - 9) : i + 1]) for i in range(len(curve))] for curve in curves]
        mean = [statistics.mean(values) for values in zip(*smooth)]
        line = left.plot(range(1, len(mean) + 1), mean, label=name)[0]
        left.fill_between(range(1, len(mean) + 1), [min(v) for v in zip(*smooth)], [max(v) for v in zip(*smooth)], alpha=0.15,
                          color=line.get_color(), linewidth=0)
        zeros = [100 * statistics.mean(step["zeros"] for step in at) for at in zip(*(steps[:-1] for steps in seeds))]
        right.plot(range(1, len(zeros) + 1), zeros, label=name)
    left.set(xlabel="step", ylabel="training loss, mean of 10 steps", title="Loss: mean and range over seeds")
    right.set(xlabel="step", ylabel="gradients that are zero (%)", title="Gradients lost to underflow")
    left.legend(fontsize="small")
    figure.savefig(file, dpi=110)


def load(file: Path, settings: dict[str, int]) -> Results:
    """The runs of an interrupted program with the same settings."""
    if not file.exists():
        return {}
    found = json.loads(file.read_text())
    if found["settings"] != settings:
        sys.exit(f"train_gpt.py: {file} has results with other settings, {found['settings']}; pass --fresh or choose another --output")
    return found["results"]


def save(file: Path, settings: dict[str, int], results: Results) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(".new")
    new.write_text(json.dumps({"settings": settings, "results": results}))
    new.replace(file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100, help="steps per run, default 100")
    parser.add_argument("--seeds", type=int, default=3, help="seeds per run, default 3")
    parser.add_argument("--layers", type=int, default=3, help="layers of the model, default 3")
    parser.add_argument("--small-losses", type=int, nargs="*", default=[8, 13], metavar="N",
                        help="also train with a loss that is 2^N times smaller, default 8 13; only the first seed")
    parser.add_argument("--runs", nargs="*", metavar="NAME", help="only these runs; default: all")
    parser.add_argument("--fresh", action="store_true", help="begin again, without the results of an interrupted program")
    parser.add_argument("--output", type=Path, default=Path("gpt"), metavar="DIR", help="folder for results.json and curves.png")
    options = parser.parse_args()
    if options.steps < 1 or options.seeds < 1 or options.layers < 1:
        parser.error("--steps, --seeds and --layers must be at least 1")
    runs = all_runs(options.small_losses)
    for name in options.runs or []:
        if name not in [run.name for run in runs]:
            parser.error(f"--runs: there is no run \"{name}\"; there are: {', '.join(run.name for run in runs)}")

    text = Text()
    settings = {"format": 2, "steps": options.steps, "layers": options.layers, "bytes": len(text.training)}
    file = options.output / "results.json"
    results = {} if options.fresh else load(file, settings)
    print(f"{sum(p.numel() for p in GPT(options.layers).parameters()) / 1e6:.1f} million parameters, {len(text.training)} bytes of text")
    print(f"{'run':15} {'seed':>4} {'held-out loss':>14} {'zero gradients':>15} {'seconds/step':>13}")
    for run in runs:
        for seed in range(1 if " x " in run.name else options.seeds):
            seeds = results.get(run.name, {})
            if str(seed) not in seeds:
                if options.runs and run.name not in options.runs:
                    continue
                steps = []
                for step in train(run, seed, options.steps, text, options.layers):
                    steps.append(step)
                    if sys.stderr.isatty():
                        bar = "#" * (30 * len(steps) // options.steps)
                        print(f"\r{run.name:15} {seed:4} [{bar:30}]", end="\r", file=sys.stderr)
                results.setdefault(run.name, {})[str(seed)] = steps
                save(file, settings, results)
            steps = results[run.name][str(seed)]
            zeros = statistics.mean(step["zeros"] for step in steps[:-1])
            seconds = statistics.median(step["seconds"] for step in steps[:-1])
            print(f"{run.name:15} {seed:4} {steps[-1]['held_out']:14.4f} {100 * zeros:13.2f} % {seconds:13.2f}", flush=True)

    check(results)
    draw(results, options.output / "curves.png")
    print(f"wrote {file} and {options.output / 'curves.png'}")


if __name__ == "__main__":
    main()
