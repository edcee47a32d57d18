# SPDX-License-Identifier: Apache-2.0
"""Arguments of the optimizers and of the scaler: those of torch.optim are accepted or refused by name, and wrong ones are named."""
import re
import subprocess
import sys

import numpy
import pytest
import torch
from torch_cases import allowed, distance, make_gradients, make_parameters, set_gradients

import syclamp.torch


@pytest.mark.parametrize("make", [syclamp.torch.SGD, syclamp.torch.Adam, syclamp.torch.AdamW, syclamp.torch.Adagrad, syclamp.torch.RMSprop,
                                  syclamp.torch.Adadelta, syclamp.torch.Lion, syclamp.torch.LAMB, syclamp.torch.NovoGrad])
def test_arguments_that_choose_an_implementation(make):
    for accepted in (dict(fused=True), dict(foreach=True, fused=None), dict(capturable=False, differentiable=False)):
        assert "fused" not in make(make_parameters(), **accepted).defaults
    for refused in ("capturable", "differentiable"):
        with pytest.raises(ValueError, match=f"{refused}: {make.__name__} of syclamp.torch does not support {refused}=True"):
            make(make_parameters(), **{refused: True})
    with pytest.raises(TypeError, match="unexpected keyword argument 'fuse'"):
        make(make_parameters(), fuse=True)


def test_adam_names_the_optimizer_with_decoupled_decay():
    assert "decoupled_weight_decay" not in syclamp.torch.Adam(make_parameters(), decoupled_weight_decay=False).defaults
    with pytest.raises(ValueError, match="use syclamp.torch.AdamW"):
        syclamp.torch.Adam(make_parameters(), decoupled_weight_decay=True)


@pytest.mark.parametrize("scales", [True, False])
def test_max_norm_may_change_before_every_step(scales):
    """As adaptive clipping does. The bound is `allowed`, because both sides clip in FP32."""
    ours, theirs = make_parameters(), make_parameters()
    optimizer, reference = syclamp.torch.SGD(ours, lr=0.1), torch.optim.SGD(theirs, lr=0.1)
    scaler = syclamp.torch.GradScaler(init_scale=4.0, enabled=scales)
    scaler.scale(torch.ones(()))
    for gradients, max_norm in zip(make_gradients(4), (None, 0.5, 0.25, 100.0)):
        set_gradients(ours, [g * scaler.get_scale() for g in gradients])
        set_gradients(theirs, gradients)
        optimizer.max_norm = max_norm
        assert optimizer.max_norm == max_norm and f"max_norm: {max_norm}" in repr(optimizer)
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(theirs, max_norm)
        scaler.step(optimizer)
        scaler.update()
        reference.step()
    assert distance(ours, theirs) <= allowed(theirs, 4, 0.1)
    for value, problem in ((-1.0, ValueError), ("1", TypeError)):
        with pytest.raises(problem, match="max_norm"):
            optimizer.max_norm = value
    assert optimizer.max_norm == 100.0


def used_scaler():
    scaler = syclamp.torch.GradScaler()
    scaler.scale(torch.ones(()))
    return scaler


WRONG = {
    "lr is -1.0; it must be 0 or more": (ValueError, lambda: syclamp.torch.SGD(make_parameters(), lr=-1.0)),
    "lr: a number is needed, not 'a'": (TypeError, lambda: syclamp.torch.SGD(make_parameters(), lr="a")),
    "eps is nan; it must be": (ValueError, lambda: syclamp.torch.AdamW(make_parameters(), eps=float("nan"))),
    "betas[0] is 1.2; it must be at least 0 and below 1": (ValueError, lambda: syclamp.torch.AdamW(make_parameters(), betas=(1.2, 0.9))),
    "betas: two numbers are needed, not 0.9": (TypeError, lambda: syclamp.torch.Lion(make_parameters(), betas=0.9)),
    "rho is 1.0; it must be": (ValueError, lambda: syclamp.torch.Adadelta(make_parameters(), rho=1.0)),
    "nesterov: it needs a momentum": (ValueError, lambda: syclamp.torch.SGD(make_parameters(), nesterov=True)),
    "weight_decay is -0.5": (ValueError, lambda: syclamp.torch.SGD([{"params": make_parameters(), "weight_decay": -0.5}])),
    "max_norm: a number is needed, not '1'": (TypeError, lambda: syclamp.torch.SGD(make_parameters(), max_norm="1")),
    "group is 9, but the optimizer has 1": (IndexError, lambda: syclamp.torch.SGD(make_parameters()).applied_steps(9)),
    "ledger_size is -1; it must be": (ValueError, lambda: syclamp.torch.GradScaler(ledger_size=-1)),
    "optimizer: an optimizer of PyTorch is needed, not SGD; for arrays use syclamp.LossScaler": (
        TypeError, lambda: syclamp.torch.GradScaler().step(syclamp.SGD(numpy.ones(2, numpy.float32), numpy.ones(2, numpy.float32)))),
    "growth_factor: a number is needed, not 'x'": (TypeError, lambda: syclamp.torch.GradScaler(growth_factor="x")),
    "new_scale: a number is needed, not 'x'": (TypeError, lambda: used_scaler().update("x")),
    "optimizer: an optimizer of PyTorch is needed, not None": (TypeError, lambda: syclamp.torch.GradScaler().unscale_(None)),
    "optimizer: a syclamp.Optimizer is needed, not SGD; for PyTorch use syclamp.torch.GradScaler": (
        TypeError, lambda: syclamp.LossScaler().step(torch.optim.SGD(make_parameters()))),
    "arrays[0]: pass a dense array that has memory; the array's library says: ": (
        ValueError, lambda: syclamp.inspect(torch.sparse_coo_tensor([[0]], [1.0], (3,)))),
    'arrays["meta"]: pass a dense array that has memory': (ValueError, lambda: syclamp.inspect({"meta": torch.ones(3, device="meta")})),
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_arguments_are_named(message):
    problem, call = WRONG[message]
    with pytest.raises(problem) as caught:
        call()
    assert message in str(caught.value) and "incompatible" not in str(caught.value) and "frame #" not in str(caught.value)


@pytest.mark.parametrize("make, setting, value", [(syclamp.torch.SGD, "momentum", 0.9), (syclamp.torch.AdamW, "amsgrad", True),
                                                  (syclamp.torch.RMSprop, "centered", True), (syclamp.torch.RMSprop, "momentum", 0.5)])
def test_groups_that_need_other_moments_name_the_setting(make, setting, value):
    first, second = make_parameters(), make_parameters()
    optimizer = make([{"params": first}, {"params": second, setting: value}])
    set_gradients(first + second, make_gradients(1)[0] * 2)
    with pytest.raises(ValueError, match=re.escape(f"{setting}: it is {value} in group 1, but")):
        optimizer.step()


def test_a_state_of_another_optimizer_is_refused():
    parameters = make_parameters()
    optimizer = syclamp.torch.SGD(parameters, momentum=0.9)
    before = repr(optimizer.state_dict())
    with pytest.raises(ValueError, match="load_state_dict: group 0 of the state has no momentum and no dampening"):
        optimizer.load_state_dict(torch.optim.AdamW(make_parameters()).state_dict())
    assert repr(optimizer.state_dict()) == before
    old = torch.optim.SGD(make_parameters(), momentum=0.5).state_dict()
    del old["param_groups"][0]["maximize"]  # as versions before 1.11 saved it
    optimizer.load_state_dict(old)
    set_gradients(parameters, make_gradients(1)[0])
    optimizer.step()
    assert optimizer.param_groups[0]["momentum"] == 0.5


def test_the_scale_may_be_made_for_the_name_of_a_device():
    """torch.amp.GradScaler hands over a text in some versions."""
    scaler = syclamp.torch.GradScaler(init_scale=8.0)
    scaler._lazy_init_scale_growth_tracker("cpu")
    assert scaler.get_scale() == 8.0
    with pytest.raises(ValueError, match='"meta"'):
        scaler._lazy_init_scale_growth_tracker("meta")


def test_the_import_does_not_load_the_compiler():
    program = "import sys, torch; loaded = 'torch._dynamo' in sys.modules; import syclamp.torch; assert loaded or 'torch._dynamo' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
