# SPDX-License-Identifier: Apache-2.0
"""Measures how long a Python process takes until the package is imported and the first training step is done.

    PYTHONPATH=build/python python bench/python_start_up.py [--rounds N]

Each round starts new processes: with an empty kernel cache, and with a filled one.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

SCRIPT = """
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


def seconds(cache):
    """Seconds of the import, and from then to the end of the first step."""
    environment = {**os.environ, "SYCLAMP_CACHE_DIR": cache}
    result = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, check=True, capture_output=True, text=True)
    return json.loads(result.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    times = {"empty": [], "filled": []}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as cache:
            for name in times:
                times[name].append(seconds(cache))
    for name, values in times.items():
        imports, steps = zip(*values, strict=True)
        print(f"kernel cache {name:6}: import {statistics.median(imports):.2f} s, first step {statistics.median(steps):.2f} s after it")


main()
