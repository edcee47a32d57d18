# SPDX-License-Identifier: Apache-2.0
"""Measures how long a Python process takes until the package is imported and the first training step is done.

    PYTHONPATH=build/python python bench/python_start_up.py [--rounds N] [--torch]

Each round starts new processes: with an empty kernel cache, and with a filled one. With --torch, the step is one of syclamp.torch, and
PyTorch is imported before the clock starts. A third process then makes the same step with PyTorch alone, because much of the time is
spent there: the first optimizer of a process loads PyTorch's compiler. Processor time is printed as well, because it depends less on other programs.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

CORE = """
import time
start = time.perf_counter()
import syclamp
imported, busy = time.perf_counter(), time.process_time()
import array, json
weights, gradients = array.array("f", [1.0] * 1000), array.array("f", [0.5] * 1000)
optimizer, scaler = syclamp.AdamW(weights, gradients), syclamp.LossScaler()
scaler.begin_step()
scaler.step(optimizer, max_norm=1.0)
scaler.update()
print(json.dumps([imported - start, time.perf_counter() - imported, time.process_time() - busy]))
"""


TORCH = """
import json, time, torch
parameter = torch.nn.Parameter(torch.ones(1000))
parameter.grad = torch.full((1000,), 0.5)
start = time.perf_counter()
import syclamp.torch
imported, busy = time.perf_counter(), time.process_time()
optimizer, scaler = syclamp.torch.AdamW([parameter], max_norm=1.0), syclamp.torch.GradScaler()
scaler.scale(torch.ones(()))
scaler.step(optimizer)
scaler.update()
print(json.dumps([imported - start, time.perf_counter() - imported, time.process_time() - busy]))
"""

PYTORCH_ALONE = """
import json, time, torch
parameter = torch.nn.Parameter(torch.ones(1000))
parameter.grad = torch.full((1000,), 0.5)
start, busy = time.perf_counter(), time.process_time()
optimizer, scaler = torch.optim.AdamW([parameter], fused=True), torch.amp.GradScaler("cpu")
scaler.scale(torch.ones(()))
scaler.unscale_(optimizer)
torch.nn.utils.clip_grad_norm_([parameter], 1.0)
scaler.step(optimizer)
scaler.update()
print(json.dumps([0.0, time.perf_counter() - start, time.process_time() - busy]))
"""


def seconds(script, cache):
    """Seconds of the import, from then to the end of the first step, and those of the processors in the latter time."""
    environment = {**os.environ, "SYCLAMP_CACHE_DIR": cache}
    result = subprocess.run([sys.executable, "-c", script], env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(result.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--torch", action="store_true")
    options = parser.parse_args()
    script = TORCH if options.torch else CORE
    scripts = {"kernel cache empty": script, "kernel cache filled": script}
    if options.torch:
        scripts["PyTorch alone"] = PYTORCH_ALONE
    times = {name: [] for name in scripts}
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory() as cache:
            for name, script in scripts.items():
                times[name].append(seconds(script, cache))
    for name, values in times.items():
        imports, steps, busy = zip(*values, strict=True)
        print(f"{name:19}: import {statistics.median(imports):.2f} s, first step {statistics.median(steps):.2f} s after it "
              f"({min(steps):.2f} to {max(steps):.2f} s), of which processors were busy {statistics.median(busy):.2f} s "
              f"({min(busy):.2f} to {max(busy):.2f} s)")


main()
