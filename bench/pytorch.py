#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An AdamW step of a mixed-precision model, ours and PyTorch's, alternated: FP16 gradients of a scaled loss, FP32 weights
and moments, clipping by the norm of all gradients, an FP16 copy of the weights, on the CPU.

    PYTHON bench/pytorch.py PARTNER [--log2-size N] [--tensors K]… [--rounds N] [--json FILE]

PYTHON has PyTorch (tests/torch/README.md); PARTNER is build/bin/pytorch_partner. Both sides get the same gradients, and their
weights are compared first. PyTorch's recipes:

  unscale   what GradScaler and clip_grad_norm_ do: foreach copy to FP32, foreach check-and-unscale, foreach norm and clip, fused
            AdamW, foreach copy to FP16, update of the scale
  folded    the least that PyTorch can do for the same result: foreach copy to FP32, foreach norm (whose Inf and NaN are the
            check), then scale and clip coefficient as fused AdamW's own `grad_scale`, `found_inf` as its own skip, foreach copy
            to FP16, update of the scale
  single    as `unscale` with a loop over the tensors instead of the foreach functions

The figure that counts is ours against the fastest of them.
"""
import argparse
import ctypes
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "torch"))
from real_torch import import_torch  # noqa: E402

SCALE, MAX_NORM = 1024.0, 1.0
LR, STEPS = 1e-3, 3  # AdamW's default on both sides; steps of the comparison
BYTES = 30  # that a step has to move for each parameter


class Recipe:
    """A model of equal tensors; `step` is the recipe."""

    def __init__(self, torch, gradients, tensors):
        self.torch = torch
        sizes = [len(gradients) * (i + 1) // tensors - len(gradients) * i // tensors for i in range(tensors)]
        self.half_grads = [part.clone() for part in gradients.split(sizes)]
        self.params = [torch.ones(size, requires_grad=True) for size in sizes]
        self.models = [torch.ones(size, dtype=torch.float16) for size in sizes]
        for param in self.params:
            param.grad = torch.zeros_like(param)
        self.grads = [param.grad for param in self.params]
        self.plain = [param.detach() for param in self.params]
        self.optimizer = torch.optim.AdamW(self.params, lr=LR, fused=True)
        self.scale, self.found = torch.tensor(SCALE), torch.tensor(0.0)
        self.tracker = torch.tensor(0, dtype=torch.int32)

    def update(self):
        self.torch._amp_update_scale_(self.scale, self.tracker, self.found, 2.0, 0.5, 2000)

    def unscale(self):
        torch = self.torch
        torch._foreach_copy_(self.grads, self.half_grads)
        self.found.zero_()
        torch._amp_foreach_non_finite_check_and_unscale_(self.grads, self.found, self.scale.reciprocal())
        torch.nn.utils.clip_grad_norm_(self.params, MAX_NORM, foreach=True)
        if self.found.item() == 0:
            self.optimizer.step()
            torch._foreach_copy_(self.models, self.plain)
        self.update()

    def folded(self):
        torch = self.torch
        torch._foreach_copy_(self.grads, self.half_grads)
        norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(self.grads)))
        self.found.copy_(~torch.isfinite(norm))
        coefficient = (MAX_NORM / (norm / self.scale + 1e-6)).clamp_max(1.0)
        self.optimizer.grad_scale, self.optimizer.found_inf = self.scale / coefficient, self.found
        self.optimizer.step()
        torch._foreach_copy_(self.models, self.plain)
        self.update()

    def single(self):
        torch = self.torch
        for to, source in zip(self.grads, self.half_grads):
            to.copy_(source)
        self.found.zero_()
        torch._amp_foreach_non_finite_check_and_unscale_(self.grads, self.found, self.scale.reciprocal())
        torch.nn.utils.clip_grad_norm_(self.params, MAX_NORM, foreach=False)
        if self.found.item() == 0:
            self.optimizer.step()
            for to, source in zip(self.models, self.plain):
                to.copy_(source)
        self.update()


class Partner:
    def __init__(self, program, elements, tensors, file):
        self.process = subprocess.Popen([program, str(elements), str(tensors), file], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.expect("ready")

    def ask(self, request):
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()
        return self.answer()

    def answer(self):
        line = self.process.stdout.readline().strip()
        if not line:
            sys.exit("the partner has ended; its message is above")
        return line

    def expect(self, word):
        if (line := self.answer()) != word:
            sys.exit(f"the partner says {line!r} instead of {word!r}")

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def norm_error(torch, recipe):
    """How far PyTorch's norm of all gradients is from the exact one, as a ratio of at least 1, less 1. It adds up the squares of a
    tensor one after the other in FP32, a sum for each lane of a vector: of one tensor of 2^25 elements the norm is wrong by
    30 000 u, where u = 2^-24, of 64 tensors by 80 u. No useful bound holds for all data, so the error is measured."""
    theirs = torch.linalg.vector_norm(torch.stack(torch._foreach_norm([part.float() for part in recipe.half_grads]))).item()
    exact = math.sqrt(sum(part.double().square().sum().item() for part in recipe.half_grads))
    return max(theirs / exact, exact / theirs) - 1


def allowed_difference(norm_error):
    """How far the weights of both sides may be apart after STEPS steps with the same gradients.

    Rounding: in a step, a weight of about 1 is rounded twice, for decay and for the move, by at most u = 2^-24 each; the move
    itself is LR at most, and right to some u of that. So both sides together are wrong by 4 u a step at most.

    The norm: both sides clip, so PyTorch's gradients are ours times c, where c differs from 1 by the error of its norm (ours is
    right to some u). With equal gradients g in all steps Adam moves a weight by LR g / (g + eps). That does not depend on the
    size of g but for eps, and c changes it by LR (sqrt(c) - 1) / (sqrt(c) + 1) at most, where sqrt(c) g = eps. That is less
    than LR (c - 1) / 4."""
    return STEPS * (4 * 2.0**-24 + LR * norm_error / 4)


def check(torch, partner, recipes, folder, elements):
    """A few steps of each end with the same weights, up to what `allowed_difference` says."""
    path = os.path.join(folder, "weights")
    for _ in range(STEPS):
        partner.ask("step")
    if partner.ask(f"weights {path}") != "written":
        sys.exit("the partner cannot write its weights")
    ours = torch.from_file(path, size=elements, dtype=torch.float32)
    for name, recipe in recipes.items():
        allowed = allowed_difference(norm_error(torch, recipe))
        for _ in range(STEPS):
            getattr(recipe, name)()
        theirs = torch.cat(recipe.plain)
        apart = (ours - theirs).abs().max().item()
        if not apart <= allowed or torch.equal(ours, torch.ones(1).expand(elements)):
            sys.exit(f"the weights of ours and of `{name}` differ by up to {apart}, and rounding explains {allowed}")
        if not torch.equal(torch.cat(recipe.models), theirs.half()):
            sys.exit(f"the copy of `{name}` is not its weights")


def measure(torch, options, tensors, folder):
    elements = 2**options.log2_size
    generator = torch.Generator().manual_seed(20)
    gradients = (torch.randn(elements, generator=generator) * SCALE).to(torch.float16)
    file = os.path.join(folder, "gradients")
    with open(file, "wb") as out:
        out.write(ctypes.string_at(gradients.data_ptr(), 2 * elements))
    partner = Partner(options.partner, elements, tensors, file)
    recipes = {name: Recipe(torch, gradients, tensors) for name in options.recipe}
    check(torch, partner, recipes, folder, elements)
    times = {name: [] for name in ["ours", *recipes]}
    for _ in range(options.rounds):
        for name in times:
            time.sleep(0.02)  # PyTorch's threads look for work for a while before they sleep
            for again in range(3):
                start = time.perf_counter()
                if name == "ours":
                    seconds = float(partner.ask("step"))
                else:
                    getattr(recipes[name], name)()
                    seconds = time.perf_counter() - start
                if again > 0:  # the first one finds other data in the caches
                    times[name].append(seconds)
    partner.end()
    ours = median(times["ours"])
    rows = [{"recipe": name, "tensors": tensors, "elements": elements, "seconds_median": median(all_of_it),
             "seconds_min": min(all_of_it), "gbps": 1e-9 * BYTES * elements / median(all_of_it),
             "ours_is_faster_by": median(all_of_it) / ours} for name, all_of_it in times.items()]
    for row in rows:
        print(f"{row['tensors']:>8} {row['recipe']:<10} {1e3 * row['seconds_median']:>9.2f} {1e3 * row['seconds_min']:>9.2f} "
              f"{row['gbps']:>7.2f} {row['ours_is_faster_by']:>7.2f}", flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("partner", help="build/bin/pytorch_partner")
    parser.add_argument("--log2-size", type=int, default=25, help="parameters over all tensors, as a power of two")
    parser.add_argument("--tensors", type=int, action="append", help="may be repeated; default: 64 and 8192")
    parser.add_argument("--recipe", action="append", choices=["unscale", "folded", "single"], help="default: all")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of PyTorch; default: all")
    parser.add_argument("--json", help="write the rows to this file")
    options = parser.parse_args()
    options.recipe = options.recipe or ["unscale", "folded", "single"]
    torch = import_torch()
    if torch is None:
        return 1
    torch.set_num_threads(options.threads)
    print(f"{'tensors':>8} {'':<10} {'median ms':>9} {'min ms':>9} {'GB/s':>7} {'/ ours':>7}")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for tensors in options.tensors or [64, 8192]:
            rows += measure(torch, options, tensors, folder)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump({"torch": torch.__version__, "threads": options.threads, "rows": rows}, out, indent=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
