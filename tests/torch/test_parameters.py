# SPDX-License-Identifier: Apache-2.0
"""Parameters that move in memory, change, or are exchanged while an optimizer of syclamp.torch uses them."""
import pytest
import torch
from torch_cases import SHAPES, allowed, distance, make_gradients, make_parameters, set_gradients, train

import syclamp.torch


@pytest.mark.parametrize("scaled", [False, True])
def test_parameters_may_move_in_memory(scaled):
    ours, theirs = make_parameters(), make_parameters()
    optimizer, reference = syclamp.torch.AdamW(ours), torch.optim.AdamW(theirs)
    scaler = syclamp.torch.GradScaler(init_scale=1.0, growth_interval=3, enabled=scaled)
    for gradients in make_gradients(4):
        scaler.scale(torch.ones(()))
        for p in ours[:2]:
            p.data = p.data.clone()
        set_gradients(ours, [g * scaler.get_scale() for g in gradients])
        set_gradients(theirs, gradients)
        scaler.step(optimizer)
        scaler.update()
        reference.step()
    assert distance(ours, theirs) <= allowed(theirs, 4, 1e-3)
    assert optimizer.applied_steps() == 4
    assert not scaled or (scaler.get_scale(), scaler._get_growth_tracker()) == (2.0, 1)  # every step counted as clean


@pytest.mark.parametrize("change", ["replaced", "appended", "removed"])
def test_parameters_that_are_exchanged_by_hand_are_noticed(change):
    """As PyTorch's optimizers do, which read `param_groups` on every step. SGD without momentum has no other state."""
    all_parameters = []
    for make in (syclamp.torch.SGD, torch.optim.SGD):
        parameters = make_parameters()
        optimizer = make(parameters, lr=0.5)
        train(optimizer, parameters, make_gradients(1))
        new = torch.nn.Parameter(torch.full((33,), 2.0))
        members = optimizer.param_groups[0]["params"]
        if change == "replaced":
            members[1] = new
        elif change == "appended":
            members.append(new)
        else:
            del members[1]
        new.grad = torch.ones(33)
        train(optimizer, parameters, make_gradients(2)[1:])
        all_parameters.append([*parameters, new])
        assert torch.equal(new, torch.full((33,), 2.0 if change == "removed" else 1.5))
    assert distance(*all_parameters) <= allowed(all_parameters[1], 2, 0.5)


def test_a_weight_that_changed_outside_is_not_lost():
    """A model of FP16 weights that is loaded after the optimizer has stepped: the masters follow."""
    parameters = make_parameters(torch.float16)
    optimizer = syclamp.torch.SGD(parameters, lr=0.25)
    train(optimizer, parameters, make_gradients(1, torch.float16))
    with torch.no_grad():
        parameters[4].fill_(8.0)
    set_gradients(parameters, [torch.zeros(shape, dtype=torch.float16) for shape in SHAPES])
    optimizer.step()
    assert torch.equal(parameters[4].detach(), torch.full((1000,), 8.0, dtype=torch.float16))


def test_a_weight_that_moved_and_changed_is_not_lost():
    """`p.data = …` gives an FP16 parameter another address and another value at once: the master follows, the others keep their bits."""
    parameters = make_parameters(torch.float16)
    optimizer = syclamp.torch.SGD(parameters, lr=0.25)
    train(optimizer, parameters, make_gradients(1, torch.float16))
    kept = optimizer.state[parameters[0]]["master"].clone()
    assert not torch.equal(kept, parameters[0].detach().float())  # the master has bits that the parameter has not
    parameters[4].data = torch.full((1000,), 8.0, dtype=torch.float16)
    set_gradients(parameters, [torch.zeros(shape, dtype=torch.float16) for shape in SHAPES])
    optimizer.step()
    assert torch.equal(parameters[4].detach(), torch.full((1000,), 8.0, dtype=torch.float16))
    assert torch.equal(optimizer.state[parameters[4]]["master"], torch.full((1000,), 8.0))
    assert torch.equal(optimizer.state[parameters[0]]["master"], kept)


def test_a_cleared_state_starts_again():
    """The core keeps the memory that it writes to until it notices that the state is another one."""
    ours, theirs = make_parameters(), make_parameters()
    for optimizer, parameters in ((syclamp.torch.AdamW(ours), ours), (torch.optim.AdamW(theirs), theirs)):
        train(optimizer, parameters, make_gradients(2))
        optimizer.state.clear()
        train(optimizer, parameters, make_gradients(2))
    assert distance(ours, theirs) <= allowed(theirs, 4, 1e-3)


def test_new_parameters_of_a_group_begin_at_step_one():
    """As torch.optim.AdamW: the bias correction of the first step belongs to moments of 0. A removed parameter leaves no state behind."""
    all_parameters = []
    for make in (syclamp.torch.AdamW, torch.optim.AdamW):
        optimizer = make(make_parameters(), lr=0.5)
        train(optimizer, optimizer.param_groups[0]["params"], make_gradients(5))
        parameters = make_parameters(seed=8)
        optimizer.param_groups[0]["params"] = list(parameters)
        if make is torch.optim.AdamW:
            optimizer.state.clear()
        train(optimizer, parameters, make_gradients(1))
        assert len(optimizer.state_dict()["state"]) == len(parameters)
        all_parameters.append(parameters)
    assert distance(*all_parameters) <= allowed(all_parameters[1], 1, 0.5)
