#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The lines of the README in a whole training loop: PyTorch in FP16 on the CPU.

    python examples/python/step.py

Ends with exit code 1 if the loss did not fall.
"""
import sys

import torch

torch.manual_seed(0)
model = torch.nn.Linear(16, 1)
inputs = torch.randn(256, 16)
targets = inputs.sum(dim=1, keepdim=True)

# [readme]
import syclamp.torch

optimizer = syclamp.torch.AdamW(model.parameters(), lr=1e-3, max_norm=1.0)  # was: torch.optim.AdamW
scaler = syclamp.torch.GradScaler()  # was: torch.amp.GradScaler("cpu")
# [readme]

losses = []
for _ in range(200):
    optimizer.zero_grad()
    with torch.autocast("cpu", torch.float16):
        loss = (model(inputs).float() - targets).square().mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)  # unscales, clips and applies, or skips
    scaler.update()
    losses.append(loss.item())

print(f"loss {losses[0]:.2f} -> {losses[-1]:.2f}, scale {scaler.get_scale():g}")
sys.exit(0 if losses[-1] < 0.9 * losses[0] else "step.py: the loss did not fall; please report this")
