# SPDX-License-Identifier: Apache-2.0
"""Results as `syclamp train --compare --json` writes them, made up with a fixed seed: they look like a training."""
import math
import random

LAYERS = ("input.weight", "input.bias", "hidden1.weight", "hidden1.bias", "hidden2.weight", "hidden2.bias", "output.weight",
          "output.bias", "output")


def run(name, steps=400, floor=0.004, scale=None, skipped=(), diverges_at=None, accuracy=False, seed=1):
    """One run: a loss that decays to `floor`; gradients round 2^-31, which FP16 cuts at 2^-24 unless `scale` moves them."""
    noise = random.Random(f"{seed}{name}")
    losses = [[step, floor + 0.35 * math.exp(-step / 60.0) * noise.uniform(0.9, 1.1)] for step in range(steps)]
    held = [[step, 1.05 * floor + 0.36 * math.exp(-step / 60.0),
             (1.0 - 0.9 * math.exp(-step / 80.0)) * (1.0 - 3 * floor) if accuracy else None] for step in range(0, steps + 1, 20)]
    if diverges_at is not None:
        for point in [point for point in losses + held if point[0] > diverges_at]:
            point[1:] = [None] * (len(point) - 1)
    scale_curve, value = [], scale or 1.0
    for step in range(steps):
        scale_curve.append([step, value])
        if step in skipped:
            value = max(value / 2, 2.0**-14)
        elif scale and name.endswith("dynamic") and step % 50 == 49:
            value *= 2
    middle = math.log2(scale_curve[steps // 2][1]) - 31
    counts = [round(100000 * math.exp(-((e - middle) / 4.0)**2 / 2)) for e in range(-60, 20)]
    lost = round(0.03 * sum(counts))
    if name.startswith("fp16"):
        lost += sum(counts[:60 - 24])
        counts[:60 - 24] = [0] * (60 - 24)
    zeros = lost / (lost + sum(counts))
    inspect = 4.1e-5 if name.startswith("fp16") else 0.0
    forward = 4.2e-3 * (1.0 if name == "fp32" else 0.72) * noise.uniform(0.97, 1.03)
    return {
        "name": name, "precision": name.split("-")[0], "scaling": (name.split("-") + ["none"])[1],
        "loss": None if diverges_at is not None else held[-1][1], "accuracy": held[-1][2],
        "zero_share": zeros, "zero_share_weights": zeros * 0.5, "skips": len(skipped), "final_scale": value, "seconds": steps * forward * 3.2,
        "scaling_share": inspect * 1.2 / (forward * 3.2), "steps": steps, "loss_curve": losses, "held_out_curve": held,
        "scale_curve": scale_curve, "skipped_steps": list(skipped),
        "exponents": {"step": steps // 2, "lowest": -60, "counts": counts, "zeros": lost, "infs": 0, "nans": 0},
        "tensors": [{"name": layer, "elements": 65536 if "weight" in layer else 256, "amax": 0.01,
                     "zero_share": min(1.0, zeros * noise.uniform(0.4, 1.03)),
                     "subnormal_share": max(0.0, min(0.2, 0.97 - zeros)) * noise.random() * name.startswith("fp16")}
                    for layer in LAYERS],
        "step_seconds": {"forward": forward, "backward": 2 * forward, "inspect": inspect, "apply": 4e-4,
                         "update": inspect / 5, "other": 1.5e-4},
    }


def training(task="field", accuracy=False, **changes):
    """All five runs of --compare."""
    skipped = (0, 1, 2, 3, 4, 5, 6, 7, 262, 363)
    result = {
        "task": task, "command": f"syclamp train --task {task} --compare --epochs 10 --seed 7 --init 16777216", "seed": 7, "epochs": 10, "steps": 400, "batch": 4096, "parameters": 1187840,
        "device": "AMD EPYC 7763 64-Core Processor", "profile": "cpu", "gemm": "onemkl", "version": "0.1.0",
        "date": "2026-11-16", "interrupted": False,
        "runs": [
            run("fp32", accuracy=accuracy),
            run("fp16-none", floor=0.06, accuracy=accuracy),
            run("fp16-static", floor=0.0046, scale=1024.0, accuracy=accuracy),
            run("fp16-dynamic", floor=0.00401, scale=2.0**24, skipped=skipped, accuracy=accuracy),
            run("bf16", floor=0.0041, accuracy=accuracy),
        ],
    }
    return result | changes
