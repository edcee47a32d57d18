# SPDX-License-Identifier: Apache-2.0
"""Trains with torch.optim and torch.amp.GradScaler, and with syclamp's optimizers and loss scaler, on the same scaled
gradients, and compares weights, moments, copies and scales.   optimizers.py DRIVER

PyTorch in FP64 is the truth. Two things are required of ours:
1. Every weight and every moment is within the bound of error_bounds.py: it holds for any order of the roundings, so PyTorch's
   own FP32 has to keep it as well, or the bound is wrong.
2. Worst cases do not happen to thousands of elements at once: roundings cancel, and a bound leaves room for small faults.
   PyTorch in FP32 makes about as many roundings as we do, so errors in units of the bound have about the same root mean square:
   at most twice PyTorch's. Two things do not cancel and come on top. PyTorch interpolates moving means of gradients, while we
   multiply by β and by 1 - β, which do not add up to 1 when they are rounded: that error is known exactly. And with clipping,
   all gradients of a step share the error of one norm: it may be wrong by 4 u, each time the same way.
Whether a step is applied, the scale, and the copy of the weights have to be the same exactly.
"""
import ctypes
import inspect
import json
import struct
import subprocess
import sys

from real_torch import import_torch

STEPS = 200
REPORTS = (1, 2, 10, 50, 100, 200)
SIZES = (1, 7, 64, 1000, 4999)
INIT, INTERVAL, MAX_NORM = 2.0**12, 15, 8.0
# How PyTorch computes, not what.
NOT_SETTINGS = {"params", "foreach", "capturable", "differentiable", "fused", "decoupled_weight_decay"}


def raw(tensor):
    return ctypes.string_at(tensor.data_ptr(), tensor.numel() * tensor.element_size())


def differing_defaults(torch, kinds, ours):
    """What is wrong with our settings' names and defaults."""
    wrong = []
    for kind in kinds:
        have = ours[kind.lower()]
        theirs = {name: one.default for name, one in inspect.signature(getattr(torch.optim, kind)).parameters.items()
                  if name not in NOT_SETTINGS}
        have = {name: tuple(value) if isinstance(value, list) else value for name, value in have.items()}
        wrong += [f"{kind}: {name} is {have.get(name, 'missing')!r}, PyTorch's is {theirs.get(name, 'missing')!r}"
                  for name in sorted(have.keys() | theirs.keys()) if have.get(name) != theirs.get(name)]
    return wrong


def make_gradients(torch):
    """Unscaled, in FP32: magnitudes over ten binades, some zeros, small and large steps; and which steps are spoilt by what."""
    rng = torch.Generator().manual_seed(20)
    count = sum(SIZES)
    magnitude = torch.exp2(-10 * torch.rand(count, generator=rng))
    steps, spoilt = [], []
    for i in range(STEPS):
        g = torch.randn(count, generator=rng) * magnitude * (1.0, 0.5, 0.1)[i % 3]
        g[torch.rand(count, generator=rng) < 0.01] = 0
        steps.append(g)
        where = int(torch.randint(count, (1,), generator=rng))
        letter = "." if i < 3 or torch.rand(1, generator=rng) > 0.1 else "in"[i % 2]
        spoilt.append((letter, where))
    return steps, spoilt, 0.5 * torch.randn(count, generator=rng)


class Run:
    """torch.optim in one precision, on parameters of several sizes."""

    def __init__(self, torch, kind, settings, weights, dtype):
        self.torch, self.dtype = torch, dtype
        self.params = [one.to(dtype).requires_grad_() for one in weights.split(SIZES)]
        self.optimizer = getattr(torch.optim, kind)(self.params, **settings)

    def give(self, g):
        for param, part in zip(self.params, g.to(self.dtype).split(SIZES)):
            param.grad = part.clone()

    def clip(self):
        self.torch.nn.utils.clip_grad_norm_(self.params, MAX_NORM)

    def gradients(self):
        return self.torch.cat([param.grad for param in self.params])

    def weights(self):
        return self.torch.cat([param.detach() for param in self.params])

    def moments(self, names):
        """Before the first step there are none, but for Adagrad's; they are zero."""
        def of(param, name):
            value = self.optimizer.state[param].get(name)
            return self.torch.zeros_like(param) if value is None else value

        return {name: self.torch.cat([of(param, name).detach() for param in self.params]) for name in names}


class Driver:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def send(self, data):
        try:
            self.process.stdin.write(data)
            self.process.stdin.flush()
        except BrokenPipeError:
            sys.exit("the driver has ended; its message is above")

    def read(self, torch, dtype, count):
        size = count * torch.tensor([], dtype=dtype).element_size()
        data = self.process.stdout.read(size)
        if len(data) != size:
            sys.exit("the driver has ended; its message is above")
        return torch.frombuffer(bytearray(data), dtype=dtype)

    def answer(self, torch, dtype, moments):
        count = sum(SIZES)
        head = self.process.stdout.read(12)
        if len(head) != 12:
            sys.exit("the driver has ended; its message is above")
        scale, applied = struct.unpack("<fQ", head)
        numbers = {name: self.read(torch, torch.float32, count) for name in ["weights", *moments]}
        copy = self.read(torch, dtype, count) if dtype != torch.float32 else None
        return scale, applied, numbers, copy


def compare(torch, dtype, bounds, one_norm, single, double, scale, applied, answer):
    """What is wrong with an answer, or None; and the largest error of ours, and the root mean square of what
    cancels, ours over PyTorch's."""
    from error_bounds import ONE_MORE  # which imports PyTorch
    our_scale, our_applied, ours, copy = answer
    if (our_scale, our_applied) != (scale, applied):
        return f"{our_applied} steps applied and scale {our_scale}, PyTorch {applied} and {scale}", 0, 0
    if copy is not None and not torch.equal(copy, ours["weights"].to(dtype)):
        return "the copy is not the weights, rounded", 0, 0
    names = [name for name in ours if name != "weights"]
    truth = {"weights": double.weights(), **double.moments(names)}
    theirs = {"weights": single.weights(), **single.moments(names)}
    worst, apart = 0, 0
    for name, got in ours.items():
        bound = bounds.weights if name == "weights" else bounds.error(name)
        bound = ONE_MORE * bound + 2.0**-140  # subnormals have an absolute error
        share = ((got.double() - truth[name]).abs() / bound)
        share_of_theirs = ((theirs[name].double() - truth[name]).abs() / bound)
        if share_of_theirs.max() > 1:
            return f"{name}: PyTorch's own FP32 does not keep the bound ({share_of_theirs.max():.2f} of it)", 0, 0
        at = int(share.argmax())
        if not share[at] <= 1:
            return (f"{name}[{at}] is {got[at]:.9g}, PyTorch in FP64 {truth[name][at]:.9g}, in FP32 "
                    f"{theirs[name][at]:.9g}: {share[at]:.2f} of the bound {bound[at]:.3g}"), 0, 0
        mean, mean_of_theirs = share.square().mean().sqrt().item(), share_of_theirs.square().mean().sqrt().item()
        known = (bounds.known_part(name) / bound).square().mean().sqrt().item()
        if mean > 2 * mean_of_theirs + known + one_norm:
            return f"{name}: root mean square {mean:.3g} of the bound, that of PyTorch in FP32 is {mean_of_theirs:.3g}", 0, 0
        worst = max(worst, share[at].item())
        if mean > known + one_norm:
            apart = max(apart, (mean - known - one_norm) / max(mean_of_theirs, 1e-30))
    return None, worst, apart


def run_case(torch, driver, kind, settings, full, dtype, clips, data):
    from error_bounds import CLIP, OPTIMIZERS, Bounds
    gradients, spoilt, weights = data
    names = OPTIMIZERS[kind].moments(full)
    single = Run(torch, kind, settings, weights, torch.float32)
    double = Run(torch, kind, settings, weights, torch.float64)
    bounds = Bounds(kind, full, clips, double.weights())
    scaler = torch.amp.GradScaler("cpu", init_scale=INIT, growth_interval=INTERVAL)
    scaler.scale(torch.zeros(1))  # makes its state
    reports = "".join("r" if i + 1 in REPORTS else "." for i in range(STEPS))
    driver.send(json.dumps({"optimizer": kind.lower(), "settings": settings, "type": str(dtype).removeprefix("torch."),
                            "sizes": SIZES, "max_norm": MAX_NORM if clips else None, "init": INIT,
                            "interval": INTERVAL, "report": reports}).encode() + b"\n" + raw(weights))
    applied, worst, apart, scales = 0, 0, 0, set()
    for i in range(STEPS):
        scale = scaler.get_scale()
        scaled = (gradients[i] * scale).to(dtype)
        letter, where = spoilt[i]
        if letter != ".":
            scaled[where] = float("inf" if letter == "i" else "nan")
        driver.send(raw(scaled))

        single.give(scaled)
        scaler.unscale_(single.optimizer)
        if clips:
            single.clip()
        scaler.step(single.optimizer)
        scaler.update()
        if torch.isfinite(scaled).all():
            applied += 1
            double.give(scaled.double() / scale)
            if clips:
                double.clip()
            before, w = double.moments(names), double.weights().clone()
            g = double.gradients()
            double.optimizer.step()
            bounds.step(g, w, before, double.moments(names))
        scales.add(scale)
        if reports[i] == "r":
            answer = driver.answer(torch, dtype, names)
            fault, share, ratio = compare(torch, dtype, bounds, 4 / CLIP if clips else 0, single, double,
                                          scaler.get_scale(), applied, answer)
            if fault:
                return f"after step {i + 1}: {fault}"
            worst, apart = max(worst, share), max(apart, ratio)
    assert 100 < applied < STEPS - 10 and len(scales) > 2  # or the case tests less than it says
    return worst, apart, STEPS - applied


def main(program):
    torch = import_torch()
    if torch is None:
        return 1
    from error_bounds import OPTIMIZERS  # which imports PyTorch
    torch.set_num_threads(1)
    ours = json.loads(subprocess.run([program, "--defaults"], check=True, capture_output=True).stdout)
    faults = differing_defaults(torch, OPTIMIZERS, ours)
    print("defaults:", "; ".join(faults) or "the same")
    driver, data = Driver(program), make_gradients(torch)
    for kind, settings in ((kind, case) for kind, known in OPTIMIZERS.items() for case in known.cases):
        full = {**ours[kind.lower()], **settings}
        for dtype in (torch.float16, torch.bfloat16, torch.float32):
            for clips in (False, True):
                found = run_case(torch, driver, kind, settings, full, dtype, clips, data)
                name = (f"{kind}({', '.join(f'{k}={v}' for k, v in settings.items())}), {str(dtype)[6:]}"
                        f"{', clipped' if clips else ''}")
                if isinstance(found, str):
                    faults.append(found)
                    print(f"{name}: {found}", flush=True)
                    driver.process.kill()
                    driver = Driver(program)
                else:
                    print(f"{name}: at most {found[0]:.2f} of the bound, {found[1]:.2f} of PyTorch's FP32; "
                          f"{found[2]} steps skipped", flush=True)
    driver.process.stdin.close()
    if driver.process.wait() != 0:
        faults.append("the driver failed")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]) if len(sys.argv) == 2 else __doc__)
