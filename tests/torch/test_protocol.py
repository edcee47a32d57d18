# SPDX-License-Identifier: Apache-2.0
"""The optimizers under PyTorch's own GradScaler, by the protocol of `_step_supports_amp_scaling`; forks and threads."""
import copy
import math
import os
import pickle
import subprocess
import sys
import threading

import pytest
import torch
from torch_cases import allowed, distance, make_gradients, make_parameters, set_gradients

import syclamp.torch
from syclamp import _core


def test_the_mark_is_an_attribute_of_the_class_and_survives_copies():
    optimizer = syclamp.torch.AdamW(make_parameters())
    assert syclamp.torch.AdamW._step_supports_amp_scaling is True
    assert "_step_supports_amp_scaling" not in vars(optimizer)
    plain = syclamp.torch.AdamW(make_parameters(), amp_scaling=False)
    for other in (plain, copy.deepcopy(plain), pickle.loads(pickle.dumps(plain))):
        assert other._step_supports_amp_scaling is False
    for other in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        assert other._step_supports_amp_scaling is True


@pytest.mark.parametrize("amp_scaling", [True, False])
@pytest.mark.parametrize("unscale", [True, False])
@pytest.mark.parametrize("max_norm", [None, 0.5])
def test_under_the_scaler_of_torch(amp_scaling, unscale, max_norm):
    ours, theirs = make_parameters(), make_parameters()
    optimizer, reference = syclamp.torch.AdamW(ours, max_norm=max_norm, amp_scaling=amp_scaling), torch.optim.AdamW(theirs)
    scalers = [torch.amp.GradScaler("cpu", init_scale=512.0, growth_interval=2) for _ in range(2)]
    applied = 0
    for step, gradients in enumerate(make_gradients(7)):
        overflows = step in (2, 5)
        for scaler, o, parameters in zip(scalers, (optimizer, reference), (ours, theirs)):
            scaler.scale(torch.ones(()))
            set_gradients(parameters, [g * scaler.get_scale() for g in gradients])
            if overflows:
                parameters[4].grad[77] = math.nan
            if unscale or parameters is theirs:
                scaler.unscale_(o)
            if max_norm is not None and parameters is theirs:
                torch.nn.utils.clip_grad_norm_(theirs, max_norm)
            scaler.step(o)
            scaler.update()
        applied += not overflows
        assert scalers[0].get_scale() == scalers[1].get_scale()
        assert optimizer.applied_steps() == applied
        # Without amp_scaling, PyTorch's scaler does not call the optimizer for a step that it skips.
        assert optimizer.last_step_was_applied() == (not overflows or not amp_scaling)
        assert not hasattr(optimizer, "grad_scale") and not hasattr(optimizer, "found_inf")
    assert distance(ours, theirs) <= allowed(theirs, 7, 1e-3)


@pytest.mark.parametrize("flag", [1.0, 2.0, 3.0, 0.5, -1.0, math.nan, math.inf])
def test_every_flag_but_zero_skips(flag):
    """Flags of several devices are added, so they may exceed 1."""
    parameters = make_parameters()
    optimizer = syclamp.torch.AdamW(parameters)
    set_gradients(parameters, make_gradients(1)[0])
    optimizer.step()
    before = [p.detach().clone() for p in parameters], copy.deepcopy(optimizer.state_dict()["state"])
    optimizer.found_inf, optimizer.grad_scale = torch.tensor(flag), torch.tensor(4.0)
    optimizer.step()
    assert all(torch.equal(p, q) for p, q in zip(parameters, before[0]))
    for index, entry in before[1].items():
        for name, value in entry.items():
            assert torch.equal(optimizer.state_dict()["state"][index][name], value)
    assert not optimizer.last_step_was_applied()


def test_flags_of_two_devices_add_up_to_two():
    parameters = make_parameters()
    before = [p.detach().clone() for p in parameters]
    optimizer, scaler = syclamp.torch.SGD(parameters), torch.amp.GradScaler("cpu", init_scale=8.0)
    scaler.scale(torch.ones(()))
    set_gradients(parameters, make_gradients(1)[0])
    scaler.unscale_(optimizer)
    # PyTorch has one device here, but keeps a flag for every name of a device.
    scaler._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = {torch.device("cpu"): torch.tensor(1.0), torch.device("cpu:0"): torch.tensor(1.0)}
    scaler.step(optimizer)
    scaler.update()
    assert all(torch.equal(p, q) for p, q in zip(parameters, before))
    assert scaler.get_scale() == 4.0


def test_no_gradients_make_the_flag_an_integer():
    seen = []

    class Watched(syclamp.torch.SGD):
        def step(self, closure=None):
            seen.append(self.found_inf)
            return super().step(closure)

    optimizer, scaler = Watched(make_parameters()), torch.amp.GradScaler("cpu")
    scaler.scale(torch.ones(()))
    scaler.step(optimizer)
    assert seen == [0] and isinstance(seen[0], int)
    assert optimizer.applied_steps() == 0


def test_a_scale_of_the_user_multiplies():
    ours, theirs = make_parameters(), make_parameters()
    gradients = make_gradients(1)[0]
    for scaler in (torch.amp.GradScaler("cpu", init_scale=8.0), syclamp.torch.GradScaler(init_scale=8.0)):
        optimizer, reference = syclamp.torch.SGD(ours, lr=0.5), torch.optim.SGD(theirs, lr=0.5)
        scaler.scale(torch.ones(()))
        set_gradients(ours, [g * 8.0 * 4.0 for g in gradients])
        set_gradients(theirs, gradients)
        optimizer.grad_scale = torch.tensor(4.0)
        scaler.step(optimizer)
        scaler.update()
        reference.step()
        assert all(torch.equal(p, q) for p, q in zip(ours, theirs))


@pytest.mark.parametrize("scale", [2.0**-126, 1e-30, 0.75, 3.0, 1e30, 2.0**127])
def test_scales_of_any_size(scale):
    p, q = torch.nn.Parameter(torch.ones(5)), torch.nn.Parameter(torch.ones(5, dtype=torch.float64))
    gradient = torch.tensor([1.0, -2.0, 0.5, 0.0, 1.5]) * min(scale, 2.0**100)
    p.grad, q.grad = gradient, gradient.double() / scale
    optimizer = syclamp.torch.SGD([p], lr=1.0)
    optimizer.found_inf, optimizer.grad_scale = torch.tensor(0.0), torch.tensor(scale)
    optimizer.step()
    torch.optim.SGD([q], lr=1.0).step()
    # The factor, two products and the difference are rounded once each; no number exceeds 4.
    assert (p - q).abs().max() <= 4 * 4 * 2.0**-24


def test_an_exception_leaves_attributes_behind_and_the_next_step_works():
    parameters = make_parameters()
    optimizer, scaler = syclamp.torch.SGD(parameters), torch.amp.GradScaler("cpu", init_scale=8.0)
    scaler.scale(torch.ones(()))
    set_gradients(parameters, make_gradients(1)[0])
    good = parameters[0]
    optimizer.param_groups[0]["lr"] = -1.0
    with pytest.raises(ValueError, match="lr"):
        scaler.step(optimizer)
    assert hasattr(optimizer, "found_inf")
    optimizer.param_groups[0]["lr"] = 0.25
    del optimizer.found_inf, optimizer.grad_scale
    before = good.detach().clone()
    optimizer.step()
    assert not torch.equal(good, before)


FORK = """
import os, signal, sys, torch, syclamp.torch
p = torch.nn.Parameter(torch.ones(int(sys.argv[1])))
p.grad = torch.ones_like(p)
optimizer = syclamp.torch.SGD([p])
optimizer.step()
torch.ones(1 << 22).exp_()  # PyTorch's OpenMP threads exist again; the child has none of them
child = os.fork()
if child == 0:
    signal.alarm(30)  # ends a child that waits for threads of its parent
    message = "no exception"
    try:
        optimizer.step()
    except RuntimeError as error:
        message = str(error)
    os.write(1, message.encode())
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
optimizer.step()  # the parent continues
assert optimizer.applied_steps() == 2
"""


@pytest.mark.parametrize("elements", [3, 1 << 22])
def test_a_forked_process_is_told_what_to_do(elements):
    """OpenCL drivers do not survive a fork, and DataLoader forks. From 2^22 elements on, a step releases PyTorch's OpenMP threads."""
    process = subprocess.run([sys.executable, "-c", FORK, str(elements)], text=True, capture_output=True)
    assert process.returncode == 0, process.stderr
    message = process.stdout
    assert "fork" in message and ("spawn" in message or "after" in message), message


def test_other_threads_run_while_a_step_waits():
    """Threads change only where the GIL is released. PyTorch releases it as well, so only calls of the extension module are made."""
    p = torch.nn.Parameter(torch.ones(1 << 16))
    p.grad = torch.ones_like(p)
    optimizer = syclamp.torch.SGD([p])
    optimizer.step()
    core, is_ready, has_run = optimizer._core, threading.Event(), threading.Event()
    thread = threading.Thread(target=lambda: is_ready.wait() and has_run.set())
    thread.start()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        is_ready.set()
        had_run = any(core.apply(1.0, False, None) and has_run.is_set() for _ in range(10_000))
    finally:
        sys.setswitchinterval(interval)
        thread.join()
    assert had_run


def test_steps_applied_are_read_without_a_wait():
    p = torch.nn.Parameter(torch.ones(3))
    p.grad = torch.ones(3)
    optimizer = syclamp.torch.SGD([p])
    assert not optimizer.last_step_was_applied()
    optimizer.step()
    waits = _core.torch_host_waits()
    assert optimizer.last_step_was_applied() and optimizer.applied_steps() == 1
    assert _core.torch_host_waits() == waits
