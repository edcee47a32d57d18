#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A training step with GradScaler, clipping and AdamW: syclamp.torch, PyTorch and the library's C++ step, alternated.

    PYTHONPATH=build/python PYTHON bench/python.py [--partner build/bin/pytorch_partner] [--model float32|float16] [--tensors K]… [--compile]

PYTHON has PyTorch (.syclamp/torch/bin/python). No environment variable is needed, and the number of threads is PyTorch's own. What is timed begins
after the backward pass and ends when the scale has moved. The backward pass makes new gradients on every step, as after `zero_grad()`.

Models:
  float32   FP32 parameters and gradients, as under autocast. PyTorch: unscale_, clip_grad_norm_, step of AdamW(fused=True), update.
  float16   FP16 parameters and gradients with FP32 masters. PyTorch has no optimizer for it. Its recipe: foreach copy of the gradients to those
            of the masters, then as above, then foreach copy of the masters to the parameters.

Before each step PyTorch multiplies two matrices with all its threads, as a backward pass does (`--rest`: sleeps instead), because its threads
keep looking for work for a while.
"""
import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time
from statistics import median

import torch

import syclamp.torch

SCALE, MAX_NORM, LR = 1024.0, 1.0, 1e-3


def parts_of(elements, tensors):
    return [elements * (i + 1) // tensors - elements * i // tensors for i in range(tensors)]


class Ours:
    def __init__(self, gradients, sizes, dtype):
        self.params = [torch.nn.Parameter(torch.ones(size, dtype=dtype)) for size in sizes]
        self.source = [part.clone() for part in gradients.split(sizes)]
        self.optimizer = syclamp.torch.AdamW(self.params, lr=LR, max_norm=MAX_NORM)
        self.scaler = syclamp.torch.GradScaler(init_scale=SCALE)
        self.scaler.scale(torch.zeros(()))

    def prepare(self):
        self.optimizer.zero_grad()
        torch.autograd.backward(self.params, self.source)

    def step(self):
        self.scaler.step(self.optimizer)
        self.scaler.update()

    def weights(self):
        masters = [self.optimizer.state[p].get("master", p.detach()) for p in self.params]
        return torch.cat(masters)


class Theirs:
    """PyTorch's recipe."""

    def __init__(self, gradients, sizes, dtype, compiled=False):
        self.source = [part.clone() for part in gradients.split(sizes)]
        self.params = [torch.nn.Parameter(torch.ones(size)) for size in sizes]
        self.plain = [param.detach() for param in self.params]
        self.models = [torch.ones(size, dtype=dtype) for size in sizes] if dtype is not torch.float32 else None
        for param in self.params:
            param.grad = torch.zeros_like(param)
        self.optimizer = torch.optim.AdamW(self.params, lr=LR, fused=not compiled)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=SCALE)
        self.scaler.scale(torch.zeros(()))
        self.compiled = torch.compile(self.compiled_step, dynamic=False) if compiled else None

    def prepare(self):
        if self.models is None and self.compiled is None:
            self.optimizer.zero_grad()
            torch.autograd.backward(self.params, self.source)
        elif self.models is None:  # the compiler expects the same addresses
            torch._foreach_copy_([param.grad for param in self.params], self.source)

    def step(self):
        if self.compiled is not None:
            return self.compiled()
        if self.models is not None:
            torch._foreach_copy_([param.grad for param in self.params], self.source)
        self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(self.params, MAX_NORM)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        if self.models is not None:
            torch._foreach_copy_(self.models, self.plain)

    def compiled_step(self):
        """The same arithmetic for the compiler, without the host's question whether to skip."""
        gradients = [param.grad for param in self.params]
        if self.models is not None:
            torch._foreach_copy_(gradients, self.source)
        torch._foreach_mul_(gradients, 1.0 / SCALE)
        torch.nn.utils.clip_grad_norm_(self.params, MAX_NORM)
        self.optimizer.step()
        if self.models is not None:
            torch._foreach_copy_(self.models, self.plain)

    def weights(self):
        return torch.cat(self.plain)


class Partner:
    """The C++ step, in a separate process. Its tensors lie one after the other in memory, or apart, as PyTorch's."""

    def __init__(self, program, elements, tensors, model, file, *placement):
        environment = {name: value for name, value in os.environ.items() if name != "OCL_ICD_FILENAMES"}  # which the library has set here
        self.process = subprocess.Popen([program, str(elements), str(tensors), file, model, *placement], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env=environment)
        self.answer()

    def answer(self):
        line = self.process.stdout.readline().strip()
        if not line:
            sys.exit("the partner has ended; its message is above")
        return line

    def prepare(self):
        pass

    def step(self):
        self.process.stdin.write("step\n")
        self.process.stdin.flush()
        return float(self.answer())

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def check(sides):
    """Three steps of ours and of PyTorch end with the same weights, up to rounding: bench/pytorch.py derives the bound."""
    for name, side in sides.items():
        start = time.perf_counter()
        for _ in range(3):
            side.prepare()
            side.step()
        if name == "compile":
            print(f"torch.compile took {time.perf_counter() - start:.0f} s", flush=True)
    ours = sides["ours"].weights()
    for name, side in sides.items():
        if isinstance(side, Theirs):
            apart = (ours - side.weights()).abs().max().item()
            if not apart <= 3 * (4 * 2.0**-24 + LR * 1e-4):
                sys.exit(f"the weights of ours and of {name} differ by {apart}")


def measure(options, tensors):
    elements = 2**options.log2_size
    dtype = getattr(torch, options.model)
    gradients = (torch.randn(elements, generator=torch.Generator().manual_seed(20)) * SCALE).to(dtype)
    sizes = parts_of(elements, tensors)
    sides = {"ours": Ours(gradients, sizes, dtype)}
    if not options.no_torch:
        sides["torch"] = Theirs(gradients, sizes, dtype)
    if options.compile:
        sides["compile"] = Theirs(gradients, sizes, dtype, compiled=True)
    check(sides)
    with tempfile.NamedTemporaryFile() as file:
        if options.partner:
            file.write(ctypes.string_at(gradients.data_ptr(), gradients.element_size() * elements))
            file.flush()
            sides["C++"] = Partner(options.partner, elements, tensors, options.model, file.name)
            sides["C++ apart"] = Partner(options.partner, elements, tensors, options.model, file.name, "apart")
        left, right = torch.randn(512, 512), torch.randn(512, 512)
        times = {name: [] for name in sides}
        for _ in range(options.rounds):
            for name, side in sides.items():
                time.sleep(0.02)
                for again in range(4):
                    side.prepare()
                    if options.rest:
                        time.sleep(0.02)
                    else:
                        torch.mm(left, right)
                    start = time.perf_counter()
                    own = side.step()
                    seconds = own if own is not None else time.perf_counter() - start
                    if again > 0:  # the first one finds other data in the caches
                        times[name].append(seconds)
    for side in sides.values():
        if isinstance(side, Partner):
            side.end()
    rows = [{"side": name, "model": options.model, "tensors": tensors, "elements": elements, "seconds_median": median(values), "seconds_min": min(values),
             "per_ours": median(values) / median(times["ours"])} for name, values in times.items()]
    for row in rows:
        print(f"{row['model']:<8} {tensors:>8} {row['side']:<9} {1e3 * row['seconds_median']:>9.2f} {1e3 * row['seconds_min']:>9.2f} "
              f"{row['per_ours']:>7.2f}", flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partner", help="build/bin/pytorch_partner")
    parser.add_argument("--model", choices=["float32", "float16"], default="float32")
    parser.add_argument("--log2-size", type=int, default=25, help="parameters over all tensors, as a power of two")
    parser.add_argument("--tensors", type=int, action="append", help="may be repeated; default: 64 and 8192")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--rest", action="store_true", help="PyTorch's threads sleep before each step")
    parser.add_argument("--compile", action="store_true", help="also torch.compile of PyTorch's recipe")
    parser.add_argument("--no-torch", action="store_true", help="only ours and the partner")
    parser.add_argument("--json", help="write the rows to this file")
    options = parser.parse_args()
    print(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads")
    print(f"{'model':<8} {'tensors':>8} {'':<9} {'median ms':>9} {'min ms':>9} {'/ ours':>7}")
    rows = [row for tensors in options.tensors or [64, 8192] for row in measure(options, tensors)]
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump({"torch": torch.__version__, "threads": torch.get_num_threads(), "rows": rows}, out, indent=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
