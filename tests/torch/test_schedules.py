# SPDX-License-Identifier: Apache-2.0
"""Every scheduler of torch.optim.lr_scheduler drives our optimizers as it drives PyTorch's; and schedules that count applied steps."""
import copy
import inspect
import math

import pytest
import torch
from torch.optim import lr_scheduler
from torch_cases import allowed, distance, make_gradients, make_parameters, set_gradients, train

import syclamp.torch

ARGUMENTS = {
    "ChainedScheduler": None, "SequentialLR": None,
    "ConstantLR": dict(factor=0.5, total_iters=3), "CosineAnnealingLR": dict(T_max=5), "CosineAnnealingWarmRestarts": dict(T_0=3),
    "CyclicLR": dict(base_lr=0.001, max_lr=0.1, step_size_up=2), "ExponentialLR": dict(gamma=0.7), "LambdaLR": dict(lr_lambda=lambda step: 1 / (step + 1)),
    "LinearLR": dict(total_iters=4), "MultiplicativeLR": dict(lr_lambda=lambda step: 0.9), "MultiStepLR": dict(milestones=[2, 4]),
    "OneCycleLR": dict(max_lr=0.1, total_steps=12), "PolynomialLR": dict(total_iters=6), "ReduceLROnPlateau": dict(patience=0), "StepLR": dict(step_size=2),
}
ABSTRACT = {"LRScheduler", "_LRScheduler"}


def make_scheduler(name, optimizer):
    if name == "ChainedScheduler":
        return lr_scheduler.ChainedScheduler([make_scheduler("ConstantLR", optimizer), make_scheduler("ExponentialLR", optimizer)])
    if name == "SequentialLR":
        return lr_scheduler.SequentialLR(optimizer, [make_scheduler("LinearLR", optimizer), make_scheduler("StepLR", optimizer)], milestones=[3])
    return getattr(lr_scheduler, name)(optimizer, **ARGUMENTS[name])


def test_no_scheduler_is_forgotten():
    existing = {name for name, value in vars(lr_scheduler).items()
                if inspect.isclass(value) and issubclass(value, lr_scheduler.LRScheduler) and not name.startswith("_")}
    assert existing - ABSTRACT == set(ARGUMENTS)


@pytest.mark.parametrize("optimizer", ["AdamW", "SGD"])
@pytest.mark.parametrize("name", ARGUMENTS)
def test_schedulers(name, optimizer):
    ours, theirs = make_parameters(), make_parameters()
    settings = dict(lr=0.02) | (dict(momentum=0.9) if optimizer == "SGD" else {})
    pairs = [(ours, getattr(syclamp.torch, optimizer)(ours, **settings)), (theirs, getattr(torch.optim, optimizer)(theirs, **settings))]
    schedulers = [make_scheduler(name, o) for _, o in pairs]
    rates = set()
    for gradients in make_gradients(8):
        for (parameters, o), scheduler in zip(pairs, schedulers):
            set_gradients(parameters, gradients)
            o.step()
            scheduler.step(*([1.0] if name == "ReduceLROnPlateau" else []))
        assert pairs[0][1].param_groups[0]["lr"] == pairs[1][1].param_groups[0]["lr"]
        rates.add(pairs[0][1].param_groups[0]["lr"])
    assert len(rates) > 1
    assert distance(ours, theirs) <= allowed(theirs, 8, 0.1)


@pytest.mark.parametrize("amp_scaling", [True, False])
@pytest.mark.parametrize("unscales", [True, False])
@pytest.mark.parametrize("scaler_class", [syclamp.torch.GradScaler, torch.amp.GradScaler])
def test_a_schedule_advances_on_applied_steps_only(scaler_class, unscales, amp_scaling):
    parameters = make_parameters()
    optimizer, scaler = syclamp.torch.AdamW(parameters, amp_scaling=amp_scaling), scaler_class("cpu")
    schedule = syclamp.torch.AppliedStepSchedule(lr_scheduler.StepLR(optimizer, 1, gamma=0.5))
    is_told = amp_scaling or scaler_class is syclamp.torch.GradScaler  # PyTorch's scaler would not tell the optimizer
    scaler.scale(torch.ones(()))
    for step, gradients in enumerate(make_gradients(6)):
        set_gradients(parameters, gradients)
        if step in (0, 3, 4):
            parameters[0].grad[0, 0] = math.inf
        if unscales:
            scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        schedule.step()
        if is_told:
            assert optimizer.last_step_was_applied() == (step not in (0, 3, 4))
    assert schedule.get_last_lr() == [1e-3 * 0.5**3]
    other = syclamp.torch.AppliedStepSchedule(lr_scheduler.StepLR(optimizer, 1, gamma=0.5))
    other.load_state_dict(schedule.state_dict())
    assert other.scheduler.last_epoch == 3
    with pytest.raises(TypeError, match="does not tell whether"):
        syclamp.torch.AppliedStepSchedule(lr_scheduler.StepLR(torch.optim.SGD(parameters), 1))


@pytest.mark.parametrize("name", ARGUMENTS)
def test_every_scheduler_advances_on_applied_steps_only(name):
    """With skips, a wrapped scheduler equals the bare one after the applied steps alone. What ReduceLROnPlateau is told on a skipped step is lost."""
    parameters = make_parameters()
    optimizer, scaler = syclamp.torch.SGD(parameters, lr=0.02, momentum=0.9), syclamp.torch.GradScaler()
    reference = torch.optim.SGD(make_parameters(), lr=0.02, momentum=0.9)
    schedule, bare = syclamp.torch.AppliedStepSchedule(make_scheduler(name, optimizer)), make_scheduler(name, reference)
    scaler.scale(torch.ones(()))
    rates = set()
    for step, gradients in enumerate(make_gradients(10)):
        set_gradients(parameters, gradients)
        is_skipped = step in (0, 3, 4)
        if is_skipped:
            parameters[0].grad[0, 0] = math.inf
        scaler.step(optimizer)
        scaler.update()
        # Falls at first: then the rate depends on every single value.
        argument = [{3: -5.0, 4: -6.0}.get(step, 2.0 - step if step < 6 else 1.0)] if name == "ReduceLROnPlateau" else []
        schedule.step(*argument)
        if not is_skipped:
            reference.step()
            bare.step(*argument)
        for key in ("lr", "momentum"):  # OneCycleLR and CyclicLR move both
            assert optimizer.param_groups[0][key] == reference.param_groups[0][key]
        assert schedule.get_last_lr() == bare.get_last_lr()
        rates.add(optimizer.param_groups[0]["lr"])
    assert len(rates) > 1
    assert optimizer.applied_steps() == 7


def test_wrapped_optimizers_are_unwrapped():
    class Wrapper(torch.optim.Optimizer):
        def __init__(self, optimizer):
            self.optimizer, self.param_groups, self.defaults = optimizer, optimizer.param_groups, optimizer.defaults

        def step(self):
            self.optimizer.step()

    optimizer = syclamp.torch.SGD(make_parameters())
    assert syclamp.torch.AppliedStepSchedule(lr_scheduler.StepLR(Wrapper(Wrapper(optimizer)), 1)).optimizer is optimizer
    endless = Wrapper(optimizer)
    endless.optimizer = endless
    for wrapped, message in ((Wrapper(torch.optim.SGD(make_parameters())), "the optimizer is Wrapper around SGD, which"),
                             (endless, "Wrapper around Wrapper.*use an optimizer of syclamp.torch")):
        with pytest.raises(TypeError, match=message):
            syclamp.torch.AppliedStepSchedule(lr_scheduler.StepLR(wrapped, 1))
    with pytest.raises(TypeError, match="Parameter has no optimizer; pass a scheduler"):
        syclamp.torch.AppliedStepSchedule(torch.nn.Parameter(torch.ones(1)))


def test_a_schedule_may_be_called_for_every_micro_batch():
    parameters = make_parameters()
    optimizer, scaler = syclamp.torch.AdamW(parameters), syclamp.torch.GradScaler()
    schedule = syclamp.torch.AppliedStepSchedule(lr_scheduler.StepLR(optimizer, 1, gamma=0.5))
    scaler.scale(torch.ones(()))
    rates = []
    for index, gradients in enumerate(make_gradients(12)):
        if index % 3 == 0:
            set_gradients(parameters, gradients)
        if index % 3 == 2:
            if index == 5:
                parameters[0].grad[0, 0] = math.inf
            scaler.step(optimizer)
            scaler.update()
        schedule.step()
        schedule.step()
        rates.append(schedule.get_last_lr()[0] / 1e-3)
    assert rates == [1, 1, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.125]


def test_loading_a_state_does_not_advance_a_schedule():
    source, parameters = make_parameters(), make_parameters()
    saved = syclamp.torch.AdamW(source)
    train(saved, source, make_gradients(5))
    optimizer = syclamp.torch.AdamW(parameters)
    schedule = syclamp.torch.AppliedStepSchedule(lr_scheduler.StepLR(optimizer, 1, gamma=0.5))
    optimizer.load_state_dict(saved.state_dict())
    schedule.step()
    assert schedule.scheduler.last_epoch == 0 and optimizer.applied_steps() == 5
    train(optimizer, parameters, make_gradients(1))
    copied = copy.deepcopy(schedule)
    for each in (schedule, copied):
        each.step()
        each.step()
        assert each.scheduler.last_epoch == 1
