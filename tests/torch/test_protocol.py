# SPDX-License-Identifier: Apache-2.0
"""The optimizers under PyTorch's own GradScaler, by the protocol of `_step_supports_amp_scaling`; forks and threads."""
import copy
import importlib.util
import inspect
import math
import os
import pickle
import subprocess
import sys
import threading
import warnings

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


@pytest.mark.parametrize("name", [name for name in syclamp.torch.__all__ if hasattr(getattr(syclamp.torch, name), "step")])
def test_no_step_has_a_parameter_grad_scaler(name):
    """GradScaler of PyTorch would warn, pass itself, and leave the attributes `found_inf` and `grad_scale` out."""
    assert "grad_scaler" not in inspect.signature(getattr(syclamp.torch, name).step).parameters


def test_no_step_warns_of_the_old_protocol():
    parameters = make_parameters()
    optimizer, scaler = syclamp.torch.AdamW(parameters), torch.amp.GradScaler("cpu")
    scaler.scale(torch.ones(()))
    set_gradients(parameters, make_gradients(1)[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scaler.step(optimizer)
    assert optimizer.applied_steps() == 1


def test_importing_the_core_imports_neither_torch_nor_numpy():
    """tests/python has the same test, but no PyTorch."""
    assert all(importlib.util.find_spec(name) is not None for name in ("numpy", "torch"))
    script = "import sys, syclamp; print(*({'numpy', 'torch'} & set(sys.modules)))"
    process = subprocess.run([sys.executable, "-c", script], text=True, capture_output=True)
    assert (process.stdout, process.returncode) == ("\n", 0), process.stderr


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("amp_scaling", [True, False])
@pytest.mark.parametrize("unscale", [True, False])
@pytest.mark.parametrize("max_norm", [None, 0.5])
def test_under_the_scaler_of_torch(amp_scaling, unscale, max_norm, dtype):
    """The reference trains FP32 parameters with the same gradients. Scales are powers of two, so unscaling is exact in every type."""
    ours = make_parameters(dtype)
    theirs = [torch.nn.Parameter(p.detach().float()) for p in ours]
    optimizer, reference = syclamp.torch.AdamW(ours, max_norm=max_norm, amp_scaling=amp_scaling), torch.optim.AdamW(theirs)
    if dtype is torch.float16 and (unscale or not amp_scaling):  # `step` calls `unscale_` without the protocol
        scaler = torch.amp.GradScaler("cpu")
        scaler.scale(torch.ones(()))
        set_gradients(ours, make_gradients(1, dtype)[0])
        with pytest.raises(ValueError, match="Attempting to unscale FP16 gradients"):
            scaler.unscale_(optimizer) if unscale else scaler.step(optimizer)
        return
    scalers = [torch.amp.GradScaler("cpu", init_scale=512.0, growth_interval=2) for _ in range(2)]
    applied = 0
    for step, gradients in enumerate(make_gradients(7, dtype)):
        overflows = step in (2, 5)
        for scaler, o, parameters in zip(scalers, (optimizer, reference), (ours, theirs)):
            scaler.scale(torch.ones(()))
            set_gradients(parameters, [(g * scaler.get_scale()).to(parameters[0].dtype) for g in gradients])
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
    weights = ours if dtype is torch.float32 else [optimizer.state[p]["master"] for p in ours]
    assert distance(weights, theirs) <= allowed(theirs, 7, 1e-3)
    for p, master in zip(ours, weights):
        assert torch.equal(p.detach(), master.detach().to(dtype))


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


@pytest.mark.parametrize("make", [lambda: torch.amp.GradScaler("cpu", init_scale=8.0), lambda: syclamp.torch.GradScaler(init_scale=8.0)],
                         ids=["torch", "syclamp"])
@pytest.mark.parametrize("when", ["before unscale_", "after unscale_"])
def test_a_scale_of_the_user_divides_unscaled_gradients(make, when):
    """After `unscale_`, the step divides by the user's factor alone, as PyTorch's fused optimizers do."""
    weights = []
    for make_optimizer in (syclamp.torch.SGD, lambda parameters, lr: torch.optim.SGD(parameters, lr=lr, fused=True)):
        parameters, scaler = make_parameters(), make()
        optimizer = make_optimizer(parameters, lr=0.5)
        scaler.scale(torch.ones(()))
        set_gradients(parameters, [g * 8.0 * 4.0 for g in make_gradients(1)[0]])
        if when == "before unscale_":
            optimizer.grad_scale = torch.tensor(4.0)
        scaler.unscale_(optimizer)
        optimizer.grad_scale = torch.tensor(4.0)
        scaler.step(optimizer)
        scaler.update()
        weights.append(parameters)
        assert not hasattr(optimizer, "grad_scale")
    expected = make_parameters()
    set_gradients(expected, make_gradients(1)[0])
    torch.optim.SGD(expected, lr=0.5).step()
    for parameters in weights:  # the factors are powers of two, so the same bits are left
        assert all(torch.equal(p, q) for p, q in zip(parameters, expected))


def test_no_gradient_is_converted_to_fp64(monkeypatch):
    """GPUs without FP64 fail where PyTorch's scaler calls `double`."""
    calls = []
    for name in ("double", "to", "type"):
        usual = getattr(torch.Tensor, name)

        def watched(tensor, *arguments, usual=usual, name=name, **options):
            if name == "double" or torch.float64 in (*arguments, *options.values()):
                calls.append(name)
            return usual(tensor, *arguments, **options)

        monkeypatch.setattr(torch.Tensor, name, watched)
    for make_optimizer in (syclamp.torch.SGD, torch.optim.SGD):
        for unscale in (True, False):
            parameters, scaler = make_parameters(), syclamp.torch.GradScaler(init_scale=8.0)
            optimizer = make_optimizer(parameters)
            for overflows in (False, True):
                scaler.scale(torch.ones(()))
                set_gradients(parameters, [g * (math.inf if overflows else 8.0) for g in make_gradients(1)[0]])
                if unscale:
                    scaler.unscale_(optimizer)
                scaler.step(optimizer)
                scaler.update()
            assert scaler.get_scale() == 4.0
    assert calls == []
    scaler = torch.amp.GradScaler("cpu")  # PyTorch's own scaler shows that a call is noticed
    scaler.scale(torch.ones(()))
    scaler.unscale_(optimizer)
    assert "double" in calls


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
