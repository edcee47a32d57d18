# SPDX-License-Identifier: Apache-2.0
"""syclamp.torch.GradScaler against torch.amp.GradScaler: the scenarios of PyTorch's documentation, with equal gradients on both sides.

Scales and growth trackers must be bit-identical. Weights must agree within the bound of `allowed`."""
import math
import pickle

import pytest
import torch
from torch_cases import UNIT, advance, allowed, distance, make_gradients, make_parameters, set_gradients

import syclamp.torch
from syclamp import _core

INFINITE = (2, 3, 7)  # steps with an Inf


def scaled(gradients, scale, step):
    result = [g * scale for g in gradients]
    if step in INFINITE:
        result[step % len(result)].view(-1)[0] = math.inf if step != 3 else math.nan
    return result


def both_scalers(**settings):
    ours, theirs = syclamp.torch.GradScaler(**settings), torch.amp.GradScaler("cpu", **settings)
    for scaler in (ours, theirs):
        scaler.scale(torch.ones(()))
    return ours, theirs


def same_numbers(ours, theirs):
    assert ours.get_scale() == theirs.get_scale()
    assert ours._get_growth_tracker() == theirs._get_growth_tracker()


@pytest.mark.parametrize("unscale", [False, True])
@pytest.mark.parametrize("make", ["fused", "torch", "torch fused"])
def test_steps_overflows_and_scales_are_those_of_torch(make, unscale):
    ours, theirs = make_parameters(), make_parameters()
    optimizer = {"fused": lambda: syclamp.torch.AdamW(ours), "torch": lambda: torch.optim.AdamW(ours),
                 "torch fused": lambda: torch.optim.AdamW(ours, fused=True)}[make]()
    reference = torch.optim.AdamW(theirs)
    scaler, reference_scaler = both_scalers(init_scale=1024.0, growth_factor=1.7, backoff_factor=0.3, growth_interval=2)
    for step, gradients in enumerate(make_gradients(9)):
        set_gradients(ours, scaled(gradients, scaler.get_scale(), step))
        set_gradients(theirs, scaled(gradients, reference_scaler.get_scale(), step))
        for s, o, parameters in ((scaler, optimizer, ours), (reference_scaler, reference, theirs)):
            if unscale:
                s.unscale_(o)
                if step not in INFINITE:
                    assert distance([p.grad for p in parameters], gradients) <= 8 * UNIT
            s.step(o)
            s.update()
        same_numbers(scaler, reference_scaler)
    assert distance(ours, theirs) <= allowed(theirs, 9, 1e-3)
    assert [record.outcome for record in scaler.ledger()] == [
        "applied" if i not in INFINITE else "skipped_nan" if i == 3 else "skipped_inf" for i in range(9)]


@pytest.mark.parametrize("preset", [preset.name for preset in syclamp.presets()])
def test_every_preset_moves_as_its_simulation(preset):
    trace = "..i...n.ii....i" * 2
    policy = syclamp.Policy(preset, growth_interval=3)
    scaler, parameter = syclamp.torch.GradScaler(policy=policy), torch.nn.Parameter(torch.ones(3))
    optimizer = syclamp.torch.SGD([parameter])
    scaler.scale(torch.ones(()))
    scales = []
    for step in trace:
        parameter.grad = torch.full((3,), {".": 0.0, "i": math.inf, "n": math.nan}[step])
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
    expected = syclamp.simulate(trace, policy)
    assert scales == [step.scale_after for step in expected]
    assert [record.outcome for record in scaler.ledger()] == [step.outcome for step in expected]


def test_a_step_takes_three_kernels_and_one_wait():
    parameters = make_parameters(torch.float16)
    optimizer, scaler = syclamp.torch.AdamW(parameters, max_norm=1.0), syclamp.torch.GradScaler(init_scale=8.0)
    scaler.scale(torch.ones(()))
    for step, gradients in enumerate(make_gradients(5, torch.float16)):
        set_gradients(parameters, gradients)
        waits, kernels = _core.torch_host_waits(), _core.torch_kernels()
        scaler.step(optimizer)
        scaler.update()
        applied = optimizer.last_step_was_applied(), optimizer.applied_steps()
        if step > 1:  # the first step makes the tables
            assert _core.torch_host_waits() - waits == 1
            assert _core.torch_kernels() - kernels == 3
        assert applied == (True, step + 1)


def test_clipping_of_unscaled_and_of_scaled_gradients():
    for place in ("constructor", "unscaled", "scaled"):
        ours, theirs = make_parameters(), make_parameters()
        optimizer, reference = syclamp.torch.SGD(ours, lr=0.1, max_norm=0.5 if place == "constructor" else None), torch.optim.SGD(theirs, lr=0.1)
        scaler, reference_scaler = both_scalers(init_scale=64.0, growth_interval=2)
        for step, gradients in enumerate(make_gradients(6)):
            for s, o, parameters in ((scaler, optimizer, ours), (reference_scaler, reference, theirs)):
                set_gradients(parameters, scaled(gradients, s.get_scale(), step))
                if place == "scaled":
                    torch.nn.utils.clip_grad_norm_(parameters, 0.5 * s.get_scale())
                elif place == "unscaled" or parameters is theirs:
                    s.unscale_(o)
                    torch.nn.utils.clip_grad_norm_(parameters, 0.5)
                s.step(o)
                s.update()
            same_numbers(scaler, reference_scaler)
        assert distance(ours, theirs) <= allowed(theirs, 6, 0.1), place


def test_16_bit_gradients():
    """PyTorch refuses to unscale FP16 gradients. Inside the step they are unscaled in FP32."""
    for dtype in (torch.float16, torch.bfloat16):
        parameters = make_parameters(dtype)
        optimizer, scaler = syclamp.torch.SGD(parameters, lr=1.0), syclamp.torch.GradScaler(init_scale=2.0**12)
        scaler.scale(torch.ones(()))
        gradient = 2.0**-25  # below the smallest FP16 number, but not after scaling
        set_gradients(parameters, [torch.full(p.shape, gradient * 2.0**12, dtype=dtype) for p in parameters])
        before = [p.detach().float() for p in parameters]
        scaler.step(optimizer)
        scaler.update()
        for p, old in zip(parameters, before):
            assert torch.equal(optimizer.state[p]["master"], old - gradient)
    set_gradients(parameters, [torch.ones(p.shape, dtype=dtype) for p in parameters])
    scaler.unscale_(optimizer)
    assert parameters[0].grad[0, 0] == 2.0**-12
    scaler.step(optimizer)
    scaler.update()
    assert distance([optimizer.state[parameters[0]]["master"]], [before[0] - gradient - 2.0**-12]) <= 8 * UNIT
    half = make_parameters(torch.float16)
    set_gradients(half, [torch.ones(p.shape, dtype=torch.float16) for p in half])
    with pytest.raises(ValueError, match="torch.float16.*max_norm"):
        scaler.unscale_(syclamp.torch.SGD(half))


def test_misuse_is_reported_as_by_torch():
    """The exceptions are those of PyTorch, the messages are not."""
    parameters = make_parameters()
    ours = {"no scale": "call scaler.scale", "nothing inspected": "no gradients were inspected", "unscaled": "already unscaled",
            "stepped": "step: this optimizer has already made its step", "too late": "call unscale_ before step"}
    theirs = {"no scale": "_scale is None", "nothing inspected": "No inf checks", "unscaled": "already been called",
              "stepped": "already been called", "too late": "after step"}
    for scaler, optimizer, messages in ((syclamp.torch.GradScaler(), syclamp.torch.SGD(parameters), ours),
                                        (torch.amp.GradScaler("cpu"), torch.optim.SGD(parameters), theirs)):
        for call in (lambda: scaler.step(optimizer), scaler.update, lambda: scaler.unscale_(optimizer)):
            with pytest.raises(AssertionError, match=messages["no scale"]):
                call()
        scaler.scale(torch.ones(()))
        with pytest.raises(AssertionError, match=messages["nothing inspected"]):
            scaler.update()
        set_gradients(parameters, make_gradients(1)[0])
        scaler.unscale_(optimizer)
        with pytest.raises(RuntimeError, match=messages["unscaled"]):
            scaler.unscale_(optimizer)
        scaler.step(optimizer)
        with pytest.raises(RuntimeError, match="already"):  # after unscale_, PyTorch's own code makes the step
            scaler.step(optimizer)
        with pytest.raises(RuntimeError, match=messages["too late"]):
            scaler.unscale_(optimizer)
        with pytest.raises(AssertionError, match="may only be pickled"):
            pickle.dumps(scaler)
        scaler.update()
        scaler.step(optimizer)
        with pytest.raises(RuntimeError, match=messages["stepped"]):
            scaler.step(optimizer)
        scaler.update()
        with pytest.raises(RuntimeError, match="[Cc]losure"):
            scaler.step(optimizer, closure=lambda: None)


def test_no_gradients_at_all():
    """PyTorch fails with an assertion. Here the step does nothing and the scale stays."""
    parameters = make_parameters()
    optimizer, scaler = syclamp.torch.AdamW(parameters), syclamp.torch.GradScaler(init_scale=4.0, growth_interval=1)
    scaler.scale(torch.ones(()))
    scaler.step(optimizer)
    scaler.update()
    assert (scaler.get_scale(), scaler._get_growth_tracker(), optimizer.applied_steps()) == (4.0, 0, 0)
    set_gradients(parameters, make_gradients(1)[0])
    scaler.step(optimizer)
    scaler.update()
    assert (scaler.get_scale(), optimizer.applied_steps()) == (8.0, 1)
    with pytest.raises(AssertionError, match="No inf checks"):  # PyTorch's own code
        scaler.step(torch.optim.SGD(make_parameters()))


def test_sparse_gradients():
    embedding = torch.nn.Embedding(10, 3, sparse=True)
    scaler = syclamp.torch.GradScaler(init_scale=4.0)
    for value, scale in ((1.0, 4.0), (math.inf, 2.0)):
        embedding.zero_grad()
        scaler.scale(value * embedding(torch.tensor([1, 2])).sum()).backward()
        with pytest.raises(TypeError, match="sparse=False"):
            scaler.step(syclamp.torch.SGD(embedding.parameters()))
        scaler = syclamp.torch.GradScaler(init_scale=4.0)
        scaler.scale(torch.ones(()))
        before = embedding.weight.detach().clone()
        scaler.step(torch.optim.SparseAdam(embedding.parameters()))  # an optimizer that takes them
        scaler.update()
        assert torch.equal(embedding.weight, before) == math.isinf(value)
        assert scaler.get_scale() == scale


def test_disabled_scaler_passes_everything_through():
    parameters, plain = make_parameters(), make_parameters()
    scaler = syclamp.torch.GradScaler(enabled=False)
    optimizer, reference = syclamp.torch.AdamW(parameters), syclamp.torch.AdamW(plain)
    loss = torch.ones(())
    assert scaler.scale(loss) is loss
    for gradients in make_gradients(2):
        set_gradients(parameters, gradients)
        set_gradients(plain, gradients)
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        reference.step()
    assert all(torch.equal(p, q) for p, q in zip(parameters, plain))
    assert (scaler.get_scale(), scaler.state_dict(), scaler.is_enabled(), len(scaler.ledger())) == (1.0, {}, False, 0)
    scaler.load_state_dict({"scale": 3.0})
    with pytest.raises(RuntimeError, match="a disabled GradScaler saves"):
        syclamp.torch.GradScaler().load_state_dict({})


def test_numbers_can_be_changed():
    scaler, reference = both_scalers(init_scale=8.0, growth_interval=3)
    for s in (scaler, reference):
        s.set_growth_factor(4.0)
        s.set_backoff_factor(0.125)
        s.set_growth_interval(2)
    assert advance(scaler, [False, False, True, False]) == advance(reference, [False, False, True, False])
    for new_scale in (48.0, torch.tensor(96.0)):
        for s in (scaler, reference):
            s.update(new_scale)
        same_numbers(scaler, reference)
    assert scaler.get_scale() == 96.0 and scaler._scale.dtype is torch.float32 and scaler._growth_tracker.dtype is torch.int32
    with pytest.raises(AssertionError, match="new_scale is a tensor of 2 elements"):
        scaler.update(torch.ones(2))
    with pytest.raises(ValueError, match='"cuda"'):
        syclamp.torch.GradScaler("cuda")


def test_other_code_may_raise_the_flag():
    """ShardedGradScaler and others write `found_inf_per_device` between `unscale_` and `step`."""
    scaler, reference = both_scalers(init_scale=8.0)
    for s, make in ((scaler, syclamp.torch.SGD), (reference, torch.optim.SGD)):
        parameters = make_parameters()
        before = [p.detach().clone() for p in parameters]
        optimizer = make(parameters)
        set_gradients(parameters, make_gradients(1)[0])
        s.unscale_(optimizer)
        for flag in s._per_optimizer_states[id(optimizer)]["found_inf_per_device"].values():
            flag.fill_(1.0)
        s.step(optimizer)
        s.update()
        assert all(torch.equal(p, q) for p, q in zip(parameters, before))
    same_numbers(scaler, reference)
    assert scaler.get_scale() == 4.0


@pytest.mark.parametrize("flags", [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)])
@pytest.mark.parametrize("make", [syclamp.torch.SGD, torch.optim.SGD])
def test_flags_of_two_devices(make, flags):
    """Any flag skips the step and lowers the scale. PyTorch has one device here, but keeps a flag for every name of a device.

    The flags (1, 1) add up to 2. PyTorch's SGD(fused=True) for the CPU applies that step: D2 in docs/frameworks.md is the same on GPUs."""
    scaler, reference = both_scalers(init_scale=8.0)
    weights = []
    for s, make_optimizer in ((scaler, make), (reference, torch.optim.SGD)):
        parameters = make_parameters()
        optimizer = make_optimizer(parameters)
        set_gradients(parameters, make_gradients(1)[0])
        s.unscale_(optimizer)
        s._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = {
            torch.device(name): torch.tensor(flag) for name, flag in zip(("cpu", "cpu:0"), flags)}
        s.step(optimizer)
        s.update()
        weights.append(parameters)
    same_numbers(scaler, reference)
    assert distance(*weights) <= allowed(weights[1], 1, 1e-3)
    assert (distance(weights[0], make_parameters()) == 0) == any(flags)
    assert scaler.get_scale() == (4.0 if any(flags) else 8.0)


def test_gradients_broken_after_unscale_are_applied():
    """Like PyTorch, which does not look at gradients twice."""
    parameters = make_parameters()
    optimizer, scaler = syclamp.torch.SGD(parameters), syclamp.torch.GradScaler()
    scaler.scale(torch.ones(()))
    set_gradients(parameters, make_gradients(1)[0])
    scaler.unscale_(optimizer)
    parameters[0].grad.fill_(math.inf)
    scaler.step(optimizer)
    scaler.update()
    assert not parameters[0].isfinite().any() and scaler.get_scale() == 65536.0


def test_hooks_that_change_gradients_run_before_the_inspection():
    parameters = make_parameters()
    optimizer, scaler = syclamp.torch.SGD(parameters), syclamp.torch.GradScaler(init_scale=2.0)
    optimizer.register_step_pre_hook(lambda o, args, kwargs: [p.grad.nan_to_num_(posinf=0.0) for p in parameters] and None)
    calls = []
    optimizer.register_step_post_hook(lambda o, args, kwargs: calls.append(1))
    scaler.scale(torch.ones(()))
    set_gradients(parameters, make_gradients(1)[0])
    scaler.step(optimizer)
    scaler.update()
    assert calls == [1] and optimizer.applied_steps() == 1


def test_is_a_real_subclass_and_has_a_ledger():
    scaler = syclamp.torch.GradScaler(ledger_size=2)
    assert isinstance(scaler, torch.amp.GradScaler)
    advance(scaler, [False, True, False])
    assert [(record.outcome, record.scale) for record in scaler.ledger()] == [("skipped_inf", 65536.0), ("applied", 32768.0)]
    assert scaler.ledger()[0].first_nonfinite_name == "parameter 0 of group 0"
    assert isinstance(scaler.ledger(), syclamp.Ledger) and scaler.ledger().skipped_steps == [2]


def test_records_reach_handlers_and_tensorboard(tmp_path):
    from syclamp.tensorboard import LedgerWriter
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    scaler, seen = syclamp.torch.GradScaler(), []
    with LedgerWriter(scaler, tmp_path):
        remove = scaler.on_step(lambda record: seen.append(record.outcome))
        advance(scaler, [False, True])
        scaler.engine.wait()
        scaler.report()
        remove()
        advance(scaler, [False])
    assert seen == ["applied", "skipped_inf"]
    events = EventAccumulator(str(tmp_path)).Reload()
    assert [event.value for event in events.Scalars("syclamp/scale")] == [65536.0, 65536.0, 32768.0]


def test_a_record_names_the_first_overflow_of_the_backward_pass():
    parameters = [torch.nn.Parameter(torch.ones(3)) for _ in range(3)]
    optimizer, scaler = syclamp.torch.SGD(parameters), syclamp.torch.GradScaler()
    scaler.scale(torch.zeros(()))
    for p, value in zip(parameters, (math.inf, math.inf, 0.0)):
        p.grad = torch.full((3,), value)
    scaler.step(optimizer)
    scaler.update()
    _core.torch_wait()
    assert scaler.ledger()[-1].first_nonfinite_name == "parameter 1 of group 0"
