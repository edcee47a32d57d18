# SPDX-License-Identifier: Apache-2.0
"""torch.compile leaves the calls of the library out of its graphs."""
import torch
from torch._dynamo.utils import counters
from torch_cases import loss_of, make_batches, make_model

import syclamp.torch


def train(compiles):
    model = make_model()
    optimizer = syclamp.torch.AdamW(model.parameters(), lr=0.01)
    scaler = syclamp.torch.GradScaler(init_scale=2.0**10, growth_interval=2)

    def iterate(batch, unscales):
        optimizer.zero_grad()
        scaler.scale(loss_of(model, batch)).backward()
        if unscales:
            scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()

    iteration = torch.compile(iterate, backend="eager") if compiles else iterate
    for index, batch in enumerate(make_batches(6)):
        iteration(batch, index % 2 == 0)
    return list(model.parameters()), scaler.get_scale()


def test_a_compiled_loop_trains_like_any_other():
    expected, expected_scale = train(False)
    torch._dynamo.reset()
    counters.clear()
    weights, scale = train(True)
    assert scale == expected_scale == 2.0**13
    assert all(torch.equal(p, q) for p, q in zip(weights, expected))
    breaks = "".join(counters["graph_break"])
    assert "GradScaler.update" in breaks  # the loop was compiled up to these calls
    for inner in ("TorchScaler", "TorchOptimizer", "item"):
        assert inner not in breaks, breaks
