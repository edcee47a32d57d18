# SPDX-License-Identifier: Apache-2.0
"""The training loops of PyTorch's documentation: accumulation, penalties, several losses, models and optimizers, autocast, and a DataLoader.

The references train with torch.amp.GradScaler. Scales and growth trackers must be bit-identical."""
import copy
import gc
import math
import os
import signal

import pytest
import torch
from torch_cases import allowed, distance, loss_of, make_batches, make_gradients, make_model, make_parameters, set_gradients

import syclamp.torch


def train_model(scaler, make_optimizer, use):
    model = make_model()
    optimizer = make_optimizer(model.parameters(), lr=0.05)
    use(model, optimizer, scaler)
    return list(model.parameters())


def accumulate(model, optimizer, scaler):
    for index, batch in enumerate(make_batches(9)):
        scaler.scale(loss_of(model, batch) / 3).backward()
        if index % 3 == 2:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def penalize(model, optimizer, scaler):
    for batch in make_batches(4):
        optimizer.zero_grad()
        loss = loss_of(model, batch)
        gradients = torch.autograd.grad(scaler.scale(loss), list(model.parameters()), create_graph=True)
        gradients = [g / scaler.get_scale() for g in gradients]
        penalty = sum(g.square().sum() for g in gradients)
        scaler.scale(loss + 0.1 * penalty).backward()
        scaler.step(optimizer)
        scaler.update()


def many_losses(model, optimizer, scaler):
    for first, second in zip(make_batches(4), make_batches(4, seed=9)):
        optimizer.zero_grad()
        losses = [loss_of(model, first), 0.3 * loss_of(model, second)]
        for loss in scaler.scale(losses):
            loss.backward()
        scaler.step(optimizer)
        scaler.update()


@pytest.mark.parametrize("use", [accumulate, penalize, many_losses])
@pytest.mark.parametrize("make", [syclamp.torch.SGD, torch.optim.SGD])
def test_accumulation_penalty_and_several_losses(use, make):
    """Both sides compute gradients with PyTorch from weights that differ by rounding, so errors feed back: for this model the loss is smooth, and 4
    steps of 0.05 amplify by less than 2. Powers of two scale exactly."""
    ours = train_model(syclamp.torch.GradScaler(init_scale=128.0, growth_interval=2), make, use)
    theirs = train_model(torch.amp.GradScaler("cpu", init_scale=128.0, growth_interval=2), torch.optim.SGD, use)
    assert distance(ours, theirs) <= 2 * allowed(theirs, 4, 0.05)
    assert distance(ours, list(make_model().parameters())) > 1e-3


@pytest.mark.parametrize("first_overflows, second_overflows", [(True, False), (False, True), (True, True), (False, False)])
def test_several_optimizers_share_a_scale(first_overflows, second_overflows):
    """An optimizer with finite gradients steps although another one is skipped, and the scale backs off whichever it is."""
    numbers = []
    for module, scaler in ((syclamp.torch, syclamp.torch.GradScaler(init_scale=4.0)), (torch.optim, torch.amp.GradScaler("cpu", init_scale=4.0))):
        models = make_model(5), make_model(6)
        before = [copy.deepcopy(model) for model in models]
        optimizers = module.AdamW(models[0].parameters()), module.SGD(models[1].parameters(), lr=0.1, momentum=0.9)
        batch = make_batches(1)[0]
        scaler.scale(loss_of(models[0], batch) + loss_of(models[1], batch)).backward()
        for model, overflows in zip(models, (first_overflows, second_overflows)):
            if overflows:
                model[0].bias.grad[3] = math.inf
        for optimizer in optimizers:
            scaler.step(optimizer)
        scaler.update()
        changed = [distance(model.parameters(), old.parameters()) > 0 for model, old in zip(models, before)]
        assert changed == [not first_overflows, not second_overflows]
        numbers.append((scaler.get_scale(), scaler._get_growth_tracker()))
    assert numbers[0] == numbers[1] == ((2.0, 0) if first_overflows or second_overflows else (4.0, 1))


@pytest.mark.parametrize("unscales", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("make", [syclamp.torch.SGD, torch.optim.SGD])
def test_two_models_with_two_mixed_losses(make, unscales):
    """Both losses depend on both models. Weights that differ by rounding make gradients that differ. The second derivative of the losses is at most
    17 times the 24 squares of the hidden layer, so 6 steps of 0.0005 with momentum 0.5 amplify by less than (1 + 2 * 0.0005 * 17 * 24)^6 < 8."""
    overflows = {2: 1, 4: 0}  # by step: the model with an Inf in its gradients
    traces, weights = [], []
    for make_optimizer, scaler in ((make, syclamp.torch.GradScaler(init_scale=64.0, growth_interval=2)),
                                   (torch.optim.SGD, torch.amp.GradScaler("cpu", init_scale=64.0, growth_interval=2))):
        models = make_model(5), make_model(6)
        optimizers = make_optimizer(models[0].parameters(), lr=0.0005), make_optimizer(models[1].parameters(), lr=0.0005, momentum=0.5)
        trace = []
        for step, (inputs, targets) in enumerate(make_batches(6)):
            before = copy.deepcopy(models)
            for optimizer in optimizers:
                optimizer.zero_grad()
            outputs = [model(inputs) for model in models]
            first = torch.nn.functional.mse_loss(2 * outputs[0] + 3 * outputs[1], targets)
            second = torch.nn.functional.mse_loss(3 * outputs[0] - 5 * outputs[1], targets)
            scaler.scale(first).backward(retain_graph=True)
            scaler.scale(second).backward()
            if step in overflows:
                models[overflows[step]][0].bias.grad[3] = math.inf
            for optimizer, unscale in zip(optimizers, unscales):
                if unscale:
                    scaler.unscale_(optimizer)
            for optimizer in optimizers:
                scaler.step(optimizer)
            scaler.update()
            changed = [distance(model.parameters(), old.parameters()) > 0 for model, old in zip(models, before)]
            assert changed == [overflows.get(step) != index for index in range(2)]
            trace.append((scaler.get_scale(), scaler._get_growth_tracker()))
        traces.append(trace)
        weights.append([p for model in models for p in model.parameters()])
    assert traces[0] == traces[1] == [(64.0, 1), (128.0, 0), (64.0, 0), (64.0, 1), (32.0, 0), (32.0, 1)]
    assert distance(*weights) <= 8 * allowed(weights[1], 6, 0.0005)


def test_more_optimizers_than_the_scaler_keeps_tables_for():
    scaler = syclamp.torch.GradScaler(init_scale=4.0)
    scaler.scale(torch.ones(()))
    parameters = [torch.nn.Parameter(torch.zeros(3)) for _ in range(70)]
    optimizers = [torch.optim.SGD([p], lr=1.0) for p in parameters]
    for overflows in (False, True):
        for i, (p, optimizer) in enumerate(zip(parameters, optimizers)):
            p.grad = torch.full((3,), math.inf if overflows and i == 1 else 4.0 * i)
            scaler.unscale_(optimizer)
            scaler.step(optimizer)
        scaler.update()
    assert scaler.get_scale() == 2.0
    for i, p in enumerate(parameters):
        assert p.tolist() == [-1.0 if i == 1 else -2.0 * i] * 3


def test_autocast_in_fp16_and_bf16():
    for dtype in (torch.float16, torch.bfloat16):
        losses, batch = [], make_batches(1)[0]
        start = loss_of(make_model(), batch).item()
        for optimizer_class, scaler in ((syclamp.torch.AdamW, syclamp.torch.GradScaler(init_scale=2.0**10)),
                                        (torch.optim.AdamW, torch.amp.GradScaler("cpu", init_scale=2.0**10))):
            model = make_model()
            optimizer = optimizer_class(model.parameters(), lr=0.01)
            for _ in range(20):
                optimizer.zero_grad()
                with torch.autocast("cpu", dtype):
                    loss = loss_of(model, batch)
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
            losses.append(loss.item())
        # The forward pass rounds to 8 bits (BF16) or 11 bits, and 20 steps amplify: the losses agree to a few units of 2^-8.
        assert losses[0] < 0.9 * start and abs(losses[0] - losses[1]) < 4 * 2.0**-8 * losses[1]


def test_clipping_by_a_limit_that_adapts():
    """The limit follows the norms of earlier steps, as ZClip's does. The norm in a record is that of the unscaled gradients. A skipped step has none."""
    ours, theirs = make_parameters(), make_parameters()
    optimizer, reference = syclamp.torch.SGD(ours, lr=0.1), torch.optim.SGD(theirs, lr=0.1)
    scaler = syclamp.torch.GradScaler(init_scale=2.0**12, growth_interval=2)
    scaler.scale(torch.ones(()))
    mean, clipped = 40.0, []
    for step, (gradients, size) in enumerate(zip(make_gradients(8), (1.0, 1.0, 1.0, 8.0, 1.0, 8.0, 0.5, 8.0))):
        is_broken = step in (2, 5)
        optimizer.max_norm = 1.5 * mean
        set_gradients(ours, [g * (scaler.get_scale() * size) for g in gradients])
        if is_broken:
            ours[1].grad[4] = math.nan
        scaler.step(optimizer)
        scaler.update()
        scaler.get_scale()  # waits for the record
        record = scaler.ledger()[-1]
        assert record.was_applied == (not is_broken)
        if is_broken:
            continue
        set_gradients(theirs, [g * size for g in gradients])
        norm = float(torch.nn.utils.clip_grad_norm_(theirs, 1.5 * mean))
        reference.step()
        assert abs(record.norm / norm - 1.0) < 1e-5
        if record.clip < 1.0:
            clipped.append(step)
        mean = 0.5 * mean + 0.5 * record.norm
    assert clipped == [3, 7]
    # The norms differ by rounding, and so do the limits: by less than 1e-5 of a move, which is 0.1 times a norm below 300.
    assert distance(ours, theirs) <= allowed(theirs, 8, 0.1) + 8 * 1e-5 * 0.1 * 300


class Rows(torch.utils.data.Dataset):
    """Rows of fixed data, and the process that has read each of them. A worker destroys its copy of an optimizer that has stepped."""

    def __init__(self):
        (self.inputs, self.targets), = make_batches(1)
        parameter = torch.nn.Parameter(torch.ones(3))
        parameter.grad = torch.ones(3)
        self.only_copy = [syclamp.torch.AdamW([parameter])]
        self.only_copy[0].step()

    def __len__(self):
        return len(self.inputs)

    def __getitem__(self, index):
        if os.getpid() != PARENT:
            self.only_copy.clear()
            gc.collect()
        return self.inputs[index], self.targets[index], os.getpid()


PARENT = os.getpid()


def train_epochs(workers):
    """Weights, scale, and the processes that have read the data."""
    dataset, model = Rows(), make_model()
    optimizer, scaler = syclamp.torch.AdamW(model.parameters(), lr=0.01, max_norm=1.0), syclamp.torch.GradScaler(init_scale=256.0, growth_interval=3)
    loader = torch.utils.data.DataLoader(dataset, batch_size=4, shuffle=True, generator=torch.Generator().manual_seed(7), num_workers=workers,
                                         multiprocessing_context="fork" if workers else None,
                                         worker_init_fn=lambda worker: signal.alarm(300))  # ends a worker that waits for the driver
    readers = set()
    for epoch in range(2):
        for inputs, targets, processes in loader:
            optimizer.zero_grad()
            scaler.scale(loss_of(model, (inputs, targets))).backward()
            scaler.step(optimizer)
            scaler.update()
            readers |= set(processes.tolist())
    assert optimizer.applied_steps() == 8
    return list(model.parameters()), scaler.get_scale(), readers


def test_workers_of_a_data_loader():
    """They are forked while the library is in use, in the second epoch as well. They must not use the OpenCL driver, which does not survive a fork."""
    expected, expected_scale, readers = train_epochs(0)
    assert readers == {PARENT}
    weights, scale, readers = train_epochs(2)
    assert PARENT not in readers and len(readers) == 4  # two new workers per epoch
    assert all(torch.equal(p, q) for p, q in zip(weights, expected))
    assert scale == expected_scale == 1024.0
