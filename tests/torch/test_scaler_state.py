# SPDX-License-Identifier: Apache-2.0
"""The state of syclamp.torch.GradScaler: saved, loaded, pickled and copied."""
import copy
import io
import pickle

import pytest
import torch
from torch_cases import advance

import syclamp.torch


@pytest.mark.parametrize("way", ["state_dict", "from torch", "to torch", "pickle", "deepcopy"])
@pytest.mark.parametrize("before", [0, 1, 5])
def test_state_continues_in_every_direction(way, before):
    settings = dict(init_scale=256.0, growth_factor=3.0, backoff_factor=0.25, growth_interval=4)
    source = (torch.amp.GradScaler("cpu", **settings) if way == "from torch" else syclamp.torch.GradScaler(**settings))
    advance(source, [False, True, False, False, False, False][:before])
    if way in ("pickle", "deepcopy"):
        target = pickle.loads(pickle.dumps(source)) if way == "pickle" else copy.deepcopy(source)
    else:
        target = torch.amp.GradScaler("cpu") if way == "to torch" else syclamp.torch.GradScaler()
        if before == 1:
            advance(target, [True])  # one that is already in use
        file = io.BytesIO()
        torch.save(source.state_dict(), file)
        file.seek(0)
        target.load_state_dict(torch.load(file, weights_only=True))
    assert target.get_scale() == source.get_scale() and target.get_growth_factor() == 3.0
    rest = [False] * 5 + [True, False]
    assert advance(target, rest) == advance(source, rest)


def test_state_of_a_policy_with_memory_is_complete():
    """Megatron's hysteresis counts overflows, which PyTorch's five entries do not hold."""
    source, target = syclamp.torch.GradScaler(policy="megatron"), syclamp.torch.GradScaler(policy="megatron")
    first = advance(source, [True, True])
    assert first[0] == (2.0**32, 0) and first[1] == (2.0**31, 0)
    target.load_state_dict(source.state_dict())
    assert advance(target, [True])[0] == (2.0**30, 0)


@pytest.mark.parametrize("way", ["state_dict", "pickle"])
def test_a_loaded_state_can_be_saved_before_the_first_scale(way):
    """The hysteresis of the source must survive a scaler that has loaded it and has not been used."""
    source, between, target = (syclamp.torch.GradScaler(policy="megatron") for _ in range(3))
    advance(source, [True])  # one more overflow halves the scale
    between.load_state_dict(source.state_dict())
    if way == "pickle":
        target = pickle.loads(pickle.dumps(between))
    else:
        target.load_state_dict(between.state_dict())
    assert advance(target, [True]) == [(2.0**31, 0)]


def test_pickling_leaves_no_old_state_behind():
    """A state that is saved between step and update has only the entries of PyTorch."""
    scaler = syclamp.torch.GradScaler(policy="megatron")
    advance(scaler, [True])
    pickle.dumps(scaler)
    advance(scaler, [True])
    p = torch.nn.Parameter(torch.ones(3))
    p.grad = torch.ones(3)
    scaler.step(syclamp.torch.SGD([p]))
    assert "syclamp" not in scaler.state_dict()


def test_a_copy_keeps_a_changed_rule():
    scaler = syclamp.torch.GradScaler(init_scale=4.0)
    scaler.scale(torch.zeros(()))
    scaler.set_growth_interval(1)
    copied = pickle.loads(pickle.dumps(scaler))
    p = torch.nn.Parameter(torch.ones(3))
    p.grad = torch.ones(3)
    optimizer = syclamp.torch.SGD([p])
    copied.scale(torch.zeros(()))
    copied.step(optimizer)
    copied.update()
    assert copied.get_scale() == 8.0


@pytest.mark.parametrize("broken", [{"syclamp": "{}"}, {"syclamp": "no JSON"}, {"syclamp": 7}, {"growth_interval": "many"}, {"growth_factor": -1.0}])
@pytest.mark.parametrize("is_used", [True, False])
def test_a_load_that_fails_changes_nothing(broken, is_used):
    source, scaler = (syclamp.torch.GradScaler(init_scale=scale) for scale in (2.0**4, 2.0**10))
    advance(source, [False])
    if is_used:
        advance(scaler, [False])
    before = scaler.state_dict(), repr(vars(scaler))
    state = {**source.state_dict(), **broken}
    with pytest.raises((ValueError, TypeError)):
        scaler.load_state_dict(state)
    assert (scaler.state_dict(), repr(vars(scaler))) == before
    p = torch.nn.Parameter(torch.ones(3))
    scaler.scale(p.sum()).backward()
    assert p.grad[0] == 2.0**10
    scaler.step(syclamp.torch.SGD([p], lr=0.5))
    assert p[0] == 0.5


def test_a_loaded_scale_is_used_at_once():
    source, scaler = (syclamp.torch.GradScaler(init_scale=scale) for scale in (2.0**4, 2.0**10))
    advance(source, [False])
    advance(scaler, [False])
    assert scaler._scale == 2.0**10
    scaler.load_state_dict(source.state_dict())
    p = torch.nn.Parameter(torch.ones(3))
    scaler.scale(p.sum()).backward()
    scaler.step(syclamp.torch.SGD([p], lr=0.5))
    assert p[0] == 0.5 and scaler.get_scale() == 2.0**4


@pytest.mark.parametrize("copy_of", [copy.deepcopy, lambda scaler: pickle.loads(pickle.dumps(scaler))])
def test_a_scaler_with_a_policy_can_be_copied(copy_of):
    scaler = syclamp.torch.GradScaler(policy=syclamp.Policy("megatron", init_scale=64.0, hysteresis=3))
    advance(scaler, [True, True])
    copied = copy_of(scaler)
    assert advance(copied, [True]) == advance(scaler, [True]) == [(32.0, 0)]
