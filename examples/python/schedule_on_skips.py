# SPDX-License-Identifier: Apache-2.0
"""A learning-rate schedule that advances on skipped steps, and two cures.

With accelerate, or in any loop that calls `schedule.step()` after `scaler.step(optimizer)`, a fused optimizer decides on its own whether
to skip a step, and the loop does not notice. The schedule advances although no weight has changed
(https://github.com/huggingface/accelerate/issues/4242). The first steps of a run with
loss scaling are often skipped, so that a warm-up is partly over before the first weight moves.

    python examples/python/schedule_on_skips.py

Needs torch and accelerate. The loss scale starts so high that the first steps overflow, as in a real run.
"""
import torch
from accelerate import Accelerator
from accelerate.optimizer import AcceleratedOptimizer
from accelerate.scheduler import AcceleratedScheduler

import syclamp.torch

STEPS, WARM_UP = 12, 10


def warm_up(optimizer):
    return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / WARM_UP))


def train(make_optimizer, scaler, make_schedule):
    """Returns the number of steps that changed weights and the number of steps that the schedule has counted."""
    torch.manual_seed(0)
    model = torch.nn.Linear(16, 4)
    optimizer = AcceleratedOptimizer(make_optimizer(model.parameters()), scaler=scaler)
    scheduler = warm_up(optimizer.optimizer)
    schedule = make_schedule(scheduler, optimizer)
    applied = 0
    for _ in range(STEPS):
        before = model.weight.detach().clone()
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.float16):
            loss = model(torch.randn(32, 16)).square().mean()
        scaler.scale(loss).backward()
        optimizer.step()
        schedule.step()
        applied += not torch.equal(model.weight, before)
    return applied, scheduler.last_epoch


def main():
    Accelerator(cpu=True)  # AcceleratedScheduler needs its state
    start = dict(init_scale=2.0**24, growth_interval=1000)
    runs = {
        "torch.optim.AdamW(fused=True), torch.amp.GradScaler": train(
            lambda p: torch.optim.AdamW(p, fused=True), torch.amp.GradScaler("cpu", **start), AcceleratedScheduler),
        "syclamp.torch.AdamW, torch.amp.GradScaler, AppliedStepSchedule": train(
            syclamp.torch.AdamW, torch.amp.GradScaler("cpu", **start), lambda scheduler, _: syclamp.torch.AppliedStepSchedule(scheduler)),
        "syclamp.torch.AdamW, syclamp.torch.GradScaler": train(
            syclamp.torch.AdamW, syclamp.torch.GradScaler(**start), AcceleratedScheduler),
    }
    print(f"{'':<64} weights changed  schedule counted")
    for name, (applied, counted) in runs.items():
        print(f"{name:<64} {applied:>15}  {counted:>16}")
    (torch_applied, torch_counted), *cured = runs.values()
    if not torch_applied < torch_counted == STEPS:
        raise SystemExit("PyTorch's schedule no longer advances on skipped steps: this example is out of date")
    if any(applied != counted for applied, counted in cured):
        raise SystemExit("a schedule has counted a skipped step")


if __name__ == "__main__":
    main()
