# SPDX-License-Identifier: Apache-2.0
"""The optimizers of syclamp.torch as torch.optim.Optimizers. tests/torch/optimizers.py compares the library's arithmetic with PyTorch's for all
settings; here the same optimizers are reached through PyTorch's interface."""
import copy
import inspect
import io
import math
import pickle

import pytest
import torch
from torch_cases import UNIT, allowed, distance, make_gradients, make_parameters, set_gradients, train

import syclamp.torch

PAIRS = {
    "sgd": (syclamp.torch.SGD, torch.optim.SGD, dict(lr=0.1)),
    "momentum": (syclamp.torch.SGD, torch.optim.SGD, dict(lr=0.1, momentum=0.9, dampening=0.1, weight_decay=0.01)),
    "nesterov": (syclamp.torch.SGD, torch.optim.SGD, dict(lr=0.1, momentum=0.9, nesterov=True, maximize=True)),
    "adam": (syclamp.torch.Adam, torch.optim.Adam, dict(lr=0.01, weight_decay=0.01)),
    "adamw": (syclamp.torch.AdamW, torch.optim.AdamW, dict(lr=0.01, betas=(0.8, 0.99))),
    "amsgrad": (syclamp.torch.AdamW, torch.optim.AdamW, dict(lr=0.01, amsgrad=True, maximize=True)),
    "adagrad": (syclamp.torch.Adagrad, torch.optim.Adagrad, dict(lr=0.05, lr_decay=0.1, initial_accumulator_value=0.5)),
    "rmsprop": (syclamp.torch.RMSprop, torch.optim.RMSprop, dict(lr=0.01)),
    "rmsprop_all": (syclamp.torch.RMSprop, torch.optim.RMSprop, dict(lr=0.01, momentum=0.9, centered=True, weight_decay=0.1)),
    "adadelta": (syclamp.torch.Adadelta, torch.optim.Adadelta, dict(lr=0.5)),
}
ALL = [syclamp.torch.SGD, syclamp.torch.Adam, syclamp.torch.AdamW, syclamp.torch.Lion, syclamp.torch.Adagrad, syclamp.torch.RMSprop,
       syclamp.torch.Adadelta, syclamp.torch.LAMB, syclamp.torch.NovoGrad]


@pytest.mark.parametrize("name", PAIRS)
def test_weights_and_moments_are_those_of_torch(name):
    ours_class, theirs_class, settings = PAIRS[name]
    ours, theirs = make_parameters(), make_parameters()
    optimizer, reference = ours_class(ours, **settings), theirs_class(theirs, **settings)
    gradients = make_gradients(6)
    train(optimizer, ours, gradients)
    train(reference, theirs, gradients)
    bound = allowed(theirs, 6, 1.0 if name == "adadelta" else settings["lr"])
    assert 0.0 < distance(ours, make_parameters())
    assert distance(ours, theirs) <= bound
    for p, q in zip(ours, theirs):
        names = [entry for entry in reference.state[q] if entry != "step" and reference.state[q][entry] is not None]
        for entry in names:
            assert distance([optimizer.state[p][entry]], [reference.state[q][entry]]) <= 64 * UNIT * max(1, reference.state[q][entry].abs().max().item()), entry
        assert set(optimizer.state[p]) == {"step", *names}
        assert optimizer.state[p]["step"] == 6


@pytest.mark.parametrize("name", PAIRS)
def test_arguments_are_those_of_torch(name):
    ours, theirs, _ = PAIRS[name]
    expected = inspect.signature(theirs).parameters
    for argument in inspect.signature(ours).parameters.values():
        if argument.name in ("max_norm", "amp_scaling") or argument.kind is inspect.Parameter.VAR_KEYWORD:
            continue
        assert argument.name in expected
        assert argument.default == expected[argument.name].default or argument.name == "params", argument.name
    for key, value in ours(make_parameters()).defaults.items():
        assert theirs(make_parameters()).defaults[key] == value


def test_lion_lamb_and_novograd_follow_their_papers():
    gradients = make_gradients(4)
    for make in (syclamp.torch.Lion, syclamp.torch.LAMB, syclamp.torch.NovoGrad):
        ours = make_parameters()
        optimizer = make(ours, lr=0.01, weight_decay=0.1)
        train(optimizer, ours, gradients)
        exact = [p.detach().double() for p in make_parameters()]
        m, v = [torch.zeros_like(w) for w in exact], [torch.zeros_like(w) for w in exact]
        b1, b2 = optimizer.defaults["betas"]
        for step, all_g in enumerate(gradients, 1):
            for i, g in enumerate(all_g):
                g, w = g.double(), exact[i]
                if make is syclamp.torch.Lion:
                    w -= 0.01 * (torch.sign(b1 * m[i] + (1 - b1) * g) + 0.1 * w)
                    m[i] = b2 * m[i] + (1 - b2) * g
                elif make is syclamp.torch.LAMB:
                    m[i], v[i] = b1 * m[i] + (1 - b1) * g, b2 * v[i] + (1 - b2) * g * g
                    update = (m[i] / (1 - b1**step)) / ((v[i] / (1 - b2**step)).sqrt() + 1e-6) + 0.1 * w
                    w -= 0.01 * (w.norm() / update.norm() if w.norm() > 0 and update.norm() > 0 else 1.0) * update
                else:
                    v[i] = g.square().sum() if step == 1 else b2 * v[i] + (1 - b2) * g.square().sum()
                    m[i] = b1 * m[i] + g / (v[i].sqrt() + 1e-8) + 0.1 * w
                    w -= 0.01 * m[i]
        assert distance(ours, exact) <= allowed(ours, 4, 0.05), make.__name__


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("make", ALL)
def test_16_bit_parameters_have_masters(make, dtype):
    parameters, plain = make_parameters(dtype), make_parameters(dtype)
    optimizer = make(parameters)
    reference_parameters = [torch.nn.Parameter(p.detach().float()) for p in plain]
    reference = make(reference_parameters)
    addresses = [p.data_ptr() for p in parameters]
    for gradients in make_gradients(3, dtype):
        set_gradients(parameters, gradients)
        set_gradients(reference_parameters, [g.float() for g in gradients])
        optimizer.step()
        reference.step()
    for p, q in zip(parameters, reference_parameters):
        master = optimizer.state[p]["master"]
        assert master.dtype is torch.float32
        assert torch.equal(master, q.detach())  # the same kernel in FP32
        assert torch.equal(p.detach(), master.to(dtype))
    assert [p.data_ptr() for p in parameters] == addresses


def test_learning_rates_are_read_on_every_step():
    ours, theirs = make_parameters(), make_parameters()
    rate = torch.tensor(0.1)
    optimizer, reference = syclamp.torch.SGD(ours, lr=rate), torch.optim.SGD(theirs, lr=0.1)
    for step, gradients in enumerate(make_gradients(4)):
        lr = 0.1 / (step + 1)
        rate.fill_(lr)
        reference.param_groups[0]["lr"] = rate.item()
        set_gradients(ours, gradients)
        set_gradients(theirs, gradients)
        optimizer.step()
        reference.step()
    assert distance(ours, theirs) <= allowed(theirs, 4, 0.1)
    optimizer.param_groups[0]["lr"] = 0.0
    before = [p.detach().clone() for p in ours]
    train(optimizer, ours, make_gradients(1))
    assert all(torch.equal(p, q) for p, q in zip(ours, before))


def test_groups_have_their_own_settings_and_can_be_added():
    ours, theirs = make_parameters(), make_parameters()
    results = []
    for parameters, make in ((ours, syclamp.torch.AdamW), (theirs, torch.optim.AdamW)):
        optimizer = make([{"params": parameters[:2], "lr": 0.1, "weight_decay": 0.3}, {"params": parameters[2:4], "betas": (0.5, 0.6)}], lr=0.01)
        gradients = make_gradients(4)
        for p, g in zip(parameters[:4], gradients[0]):
            p.grad = g.clone()
        optimizer.step()
        optimizer.add_param_group({"params": parameters[4:], "lr": 0.02})
        train(optimizer, parameters, gradients[1:])
        results.append(optimizer)
    # The new group counts its own steps in both.
    assert distance(ours, theirs) <= allowed(theirs, 4, 0.1)
    assert [results[0].applied_steps(i) for i in range(3)] == [4, 4, 3]


def test_frozen_parameters_and_missing_gradients():
    parameters = make_parameters()
    parameters[1].requires_grad_(False)
    before = [p.detach().clone() for p in parameters]
    optimizer = syclamp.torch.AdamW(parameters)
    gradients = make_gradients(2)
    gradients[0][1] = gradients[0][2] = None
    set_gradients(parameters, gradients[0])
    optimizer.step()
    changed = [not torch.equal(p.detach(), b) for p, b in zip(parameters, before)]
    assert changed == [True, False, False, True, True]
    assert parameters[1] not in optimizer.state or not optimizer.state[parameters[1]]
    parameters[1].requires_grad_(True)  # thawed
    set_gradients(parameters, gradients[1])
    optimizer.step()
    assert all(not torch.equal(p.detach(), b) for p, b in zip(parameters, before))
    optimizer.zero_grad(set_to_none=True)
    assert all(p.grad is None for p in parameters)
    count = optimizer.applied_steps()
    optimizer.step()  # without any gradient nothing happens, and nothing is counted
    assert optimizer.applied_steps() == count and not optimizer.last_step_was_applied()


def test_closure_is_called_with_gradients_enabled():
    p = torch.nn.Parameter(torch.ones(3))
    optimizer = syclamp.torch.SGD([p], lr=0.5)

    def closure():
        optimizer.zero_grad()
        loss = p.square().sum()
        loss.backward()
        return loss

    with torch.no_grad():
        assert optimizer.step(closure) == 3.0
    assert torch.equal(p.detach(), torch.zeros(3))


def test_max_norm_clips_as_clip_grad_norm_does():
    ours, theirs = make_parameters(), make_parameters()
    optimizer, reference = syclamp.torch.AdamW(ours, max_norm=0.5), torch.optim.AdamW(theirs)
    for gradients in make_gradients(4):
        set_gradients(ours, gradients)
        set_gradients(theirs, gradients)
        torch.nn.utils.clip_grad_norm_(theirs, 0.5)
        optimizer.step()
        reference.step()
    assert distance(ours, theirs) <= allowed(theirs, 4, 1e-3)
    assert torch.equal(ours[0].grad, gradients[0])  # gradients are not written
    ours[0].grad[0, 0] = math.nan
    before = [p.detach().clone() for p in ours]
    optimizer.step()
    assert all(torch.equal(p, q) for p, q in zip(ours, before))
    assert not optimizer.last_step_was_applied()
    with pytest.raises(ValueError, match="max_norm is -1"):
        syclamp.torch.AdamW(ours, max_norm=-1.0)


def layouts():
    torch.manual_seed(0)
    yield torch.nn.Parameter(torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)), torch.randn(2, 3, 4, 5)
    yield torch.nn.Parameter(torch.randn(6, 7)), torch.randn(7, 6).t()
    yield torch.nn.Parameter(torch.randn(6, 7)), torch.randn(7).expand(6, 7)
    yield torch.nn.Parameter(torch.randn(7, 6).t()), torch.randn(6, 7)


def test_gradients_of_any_layout():
    for p, gradient in layouts():
        q = torch.nn.Parameter(p.detach().clone())
        for parameter, make in ((p, syclamp.torch.SGD), (q, torch.optim.SGD)):
            parameter.grad = gradient
            make([parameter], lr=0.5).step()
        assert torch.equal(p, q)


@pytest.mark.parametrize("way", ["state_dict", "saved", "deepcopy", "pickle"])
@pytest.mark.parametrize("make", ALL)
def test_training_resumes_bit_identically(make, way):
    """FP16 parameters: PyTorch's own load_state_dict would round masters and moments to FP16."""
    parameters = make_parameters(torch.float16)
    gradients = make_gradients(5, torch.float16)
    optimizer = make(parameters, max_norm=0.5)
    train(optimizer, parameters, gradients[:3])
    if way == "deepcopy":
        others, other = copy.deepcopy((parameters, optimizer))
    elif way == "pickle":
        others, other = pickle.loads(pickle.dumps((parameters, optimizer)))
    else:
        others = [torch.nn.Parameter(p.detach().clone()) for p in parameters]
        other = make(others, max_norm=0.5)
        state = optimizer.state_dict()
        if way == "saved":
            file = io.BytesIO()
            torch.save(state, file)
            file.seek(0)
            state = torch.load(file, weights_only=True)
        other.load_state_dict(state)
    assert other._step_supports_amp_scaling is True
    for p, q in zip(parameters, others):
        for name, value in optimizer.state[p].items():
            assert other.state[q][name].dtype is torch.float32, name
            assert torch.equal(other.state[q][name], value), name
    train(optimizer, parameters, gradients[3:])
    train(other, others, gradients[3:])
    for p, q in zip(parameters, others):
        assert torch.equal(p, q)
        assert torch.equal(optimizer.state[p]["master"], other.state[q]["master"])
    assert other.applied_steps() == 5


@pytest.mark.parametrize("name", PAIRS)
def test_states_of_torch_can_be_loaded_and_the_other_way_round(name):
    ours_class, theirs_class, settings = PAIRS[name]
    gradients = make_gradients(5)
    ours, theirs = make_parameters(), make_parameters()
    first, second = ours_class(ours, **settings), theirs_class(theirs, **settings)
    train(first, ours, gradients[:2])
    train(second, theirs, gradients[:2])
    ours_next = [torch.nn.Parameter(p.detach().clone()) for p in theirs]
    theirs_next = [torch.nn.Parameter(p.detach().clone()) for p in ours]
    first_next, second_next = ours_class(ours_next, **settings), theirs_class(theirs_next, **settings)
    first_next.load_state_dict(second.state_dict())
    second_next.load_state_dict(copy.deepcopy(first.state_dict()))  # PyTorch's optimizers do not copy what they load
    for optimizer, parameters in ((first, ours), (second, theirs), (first_next, ours_next), (second_next, theirs_next)):
        train(optimizer, parameters, gradients[2:])
    bound = allowed(theirs, 5, 1.0 if name == "adadelta" else settings["lr"])
    assert distance(ours_next, theirs) <= bound
    assert distance(theirs_next, theirs) <= bound


def test_load_state_dict_hooks_see_tensors():
    parameters = make_parameters(torch.float16)
    optimizer = syclamp.torch.AdamW(parameters)
    train(optimizer, parameters, make_gradients(1, torch.float16))
    seen = []
    optimizer.register_load_state_dict_pre_hook(lambda _, state: seen.append(type(state["state"][0]["exp_avg"])))
    optimizer.register_load_state_dict_post_hook(lambda o: seen.append(o.state[parameters[0]]["exp_avg"].dtype))
    optimizer.load_state_dict(optimizer.state_dict())
    assert seen == [torch.Tensor, torch.float32]


def test_what_cannot_be_used_is_refused():
    embedding = torch.nn.Embedding(10, 3, sparse=True)
    embedding(torch.tensor([1, 2])).sum().backward()
    optimizer = syclamp.torch.SGD(embedding.parameters())
    with pytest.raises(TypeError, match="torch.sparse_coo.*sparse=False"):
        optimizer.step()
    double = torch.nn.Parameter(torch.ones(3, dtype=torch.float64))
    double.grad = torch.ones(3, dtype=torch.float64)
    with pytest.raises(TypeError, match="float64"):
        syclamp.torch.SGD([double]).step()
    elsewhere = torch.nn.Parameter(torch.ones(3, device="meta"))
    with pytest.raises(ValueError, match="meta"):
        syclamp.torch.SGD([elsewhere]).step()
    gap = torch.nn.Parameter(torch.ones(6)[::2])
    gap.grad = torch.ones(3)
    with pytest.raises(ValueError, match="gaps or overlaps"):
        syclamp.torch.SGD([gap]).step()
    with pytest.raises(ValueError, match="lr"):
        p = torch.nn.Parameter(torch.ones(3))
        p.grad = torch.ones(3)
        syclamp.torch.SGD([p], lr=-1.0).step()


def test_several_optimizers_do_not_disturb_each_other():
    first, second = make_parameters(seed=5), make_parameters(seed=6)
    copies = [torch.nn.Parameter(p.detach().clone()) for p in first + second]
    optimizers = syclamp.torch.AdamW(first), syclamp.torch.SGD(second, momentum=0.9)
    references = torch.optim.AdamW(copies[:5]), torch.optim.SGD(copies[5:], momentum=0.9)
    for gradients in make_gradients(3):
        set_gradients(first + second, gradients + gradients)
        set_gradients(copies, gradients + gradients)
        for optimizer in (*optimizers, *references):
            optimizer.step()
    assert distance(first + second, copies) <= allowed(copies, 3, 1e-3)


def test_step_is_not_compiled():
    model = torch.nn.Linear(3, 2)
    optimizer = syclamp.torch.AdamW(model.parameters())
    before = model.weight.detach().clone()

    @torch.compile(backend="eager")
    def iteration(x):
        optimizer.zero_grad()
        model(x).square().sum().backward()
        optimizer.step()

    for _ in range(2):
        iteration(torch.ones(5, 3))
    assert optimizer.applied_steps() == 2
    assert not torch.equal(model.weight, before)
