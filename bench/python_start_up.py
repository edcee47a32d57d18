# SPDX-License-Identifier: Apache-2.0
"""Measures how long a Python process takes until the package is imported and the first training step is done.

    PYTHONPATH=build/python python bench/python_start_up.py [--rounds N] [--torch]

Each round starts new processes: with an empty kernel cache, and with a filled one. With --torch, the step is one of syclamp.torch, and
PyTorch is imported before the clock starts.
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
imported = time.perf_counter()
import array, json
weights, gradients = array.array("f", [1.0] * 1000), array.array("f", [0.5] * 1000)
optimizer, scaler = syclamp.AdamW(weights, gradients), syclamp.LossScaler()
scaler.begin_step()
scaler.step(optimizer, max_norm=1.0)
scaler.update()
print(json.dumps([imported - start, time.perf_counter() - imported]))
"""


TORCH = """
import json, time, torch
parameter = torch.nn.Parameter(torch.ones(1000))
parameter.grad = torch.full((1000,), 0.5)
start = time.perf_counter()
import syclamp.torch
imported = time.perf_counter()
optimizer, scaler = syclamp.torch.AdamW([parameter], max_norm=1.0), syclamp.torch.GradScaler()
scaler.scale(torch.ones(()))
scaler.step(optimizer)
scaler.update()
print(json.dumps([imported - start, time.perf_counter() - imported]))
"""


def seconds(script, cache):
    """Seconds of the import, and from then to the end of the first step."""
    environment = {**os.environ, "SYCLAMP_CACHE_DIR": cache}
    result = subprocess.run([sys.executable, "-c", script], env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(result.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--torch", action="store_true")
    options = parser.parse_args()
    times = {"empty": [], "filled": []}
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory() as cache:
            for name in times:
                times[name].append(seconds(TORCH if options.torch else CORE, cache))
    for name, values in times.items():
        imports, steps = zip(*values, strict=True)
        print(f"kernel cache {name:6}: import {statistics.median(imports):.2f} s, first step {statistics.median(steps):.2f} s after it")


main()
