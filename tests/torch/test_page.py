# SPDX-License-Identifier: Apache-2.0
"""The first program of docs/pytorch.md, line by line. tests/lint/pages.py compares the page with this file."""
import math

from torch_cases import loss_of, make_batches, make_model


def test_the_first_program():
    model, batches, losses = make_model(), make_batches(1) * 20, []

    import torch
    import syclamp.torch

    optimizer = syclamp.torch.AdamW(model.parameters(), lr=1e-3, max_norm=1.0)  # was: torch.optim.AdamW
    scaler = syclamp.torch.GradScaler()  # was: torch.amp.GradScaler("cpu")

    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.float16):
            loss = loss_of(model, batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)  # unscales, clips and applies, or skips
        scaler.update()
        losses.append(loss.item())
    assert losses[-1] < losses[0] and math.isfinite(scaler.get_scale())  # waits for the last record
    assert optimizer.applied_steps() == sum(record.was_applied for record in scaler.ledger()) > 0
