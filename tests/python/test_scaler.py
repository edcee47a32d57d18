# SPDX-License-Identifier: Apache-2.0
"""The loss scaler on NumPy arrays."""

import copy
import json
import math
import pickle

import numpy
import pytest

import syclamp

pytestmark = pytest.mark.usefixtures("engine")


def make(dtype=numpy.float16, size=5, **settings):
    weights, gradients = numpy.ones(size, numpy.float32), numpy.zeros(size, dtype)
    return weights, gradients, syclamp.SGD(weights, gradients, **{"lr": 0.5, **settings})


def run_trace(scaler, optimizer, gradients, trace):
    """Steps with clean gradients, Inf or NaN, as letters say, and returns the scale after each step."""
    scales = []
    for letter in trace:
        scaler.begin_step()
        gradients[...] = {".": 0.0, "i": math.inf, "n": math.nan}[letter]
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
    return scales


@pytest.mark.parametrize("preset", [preset.name for preset in syclamp.presets()])
def test_the_device_and_the_simulation_agree(preset):
    trace = "..i...n.ii....i" * 2
    policy = syclamp.Policy(preset, growth_interval=3)
    _, gradients, optimizer = make()
    scaler = syclamp.LossScaler(policy)
    assert run_trace(scaler, optimizer, gradients, trace) == [step.scale_after for step in syclamp.simulate(trace, policy)]


def test_the_scale_of_pytorch_moves_as_its_documentation_says():
    policy = syclamp.Policy("pytorch", growth_interval=2)
    assert [step.scale_after for step in syclamp.simulate("...i..", policy)] == [
        65536, 131072, 131072, 65536, 65536, 131072,
    ]  # fmt: skip


def test_a_skipped_step_changes_nothing():
    weights, gradients, optimizer = make(momentum=0.9)
    scaler = syclamp.LossScaler()
    scale = scaler.begin_step()
    gradients[...] = 0.25 * scale
    scaler.step(optimizer)
    scaler.update()
    before, moment = weights.copy(), bytes(optimizer.moment(0, 0))
    run_trace(scaler, optimizer, gradients, "in")
    numpy.testing.assert_array_equal(weights, before)
    assert bytes(optimizer.moment(0, 0)) == moment
    progress = optimizer.progress()
    assert (progress.last_was_applied, progress.finished, progress.applied) == (False, 3, 1)
    assert not optimizer.last_step_was_applied()
    assert [record.outcome for record in scaler.ledger] == ["applied", "skipped_inf", "skipped_nan"]
    assert scaler.outcome().skips_in_a_row == 2


def test_clipping_inside_the_step():
    weights, gradients, optimizer = make(numpy.float32, size=4, lr=1.0)
    scaler = syclamp.LossScaler()
    gradients[...] = 3 * scaler.begin_step()
    scaler.step(optimizer, max_norm=1.0)
    scaler.update()
    # norm 6; the coefficient is 1 / (6 + 1e-6), and the result has 3 roundings
    numpy.testing.assert_allclose(weights, 1 - 3 / (6 + 1e-6), rtol=4 * 2**-24)
    assert scaler.outcome().norm == 6.0


def test_losses_are_scaled():
    scaler = syclamp.LossScaler(syclamp.Policy(init_scale=256.0))
    _, gradients, optimizer = make()
    assert scaler.scale(numpy.float32(0.5)) == 128
    scaler.step(optimizer)
    scaler.update()
    loss, out = numpy.array([2.0], numpy.float32), numpy.zeros(1, numpy.float16)
    assert scaler.scale(loss, out=out) is out
    assert (loss[0], out[0]) == (2, 512)
    scaler.step(optimizer)
    scaler.update()
    assert scaler.scale(loss) is loss
    assert loss[0] == 512


def test_unscale_then_step():
    weights, gradients, optimizer = make(numpy.float32, lr=1.0)
    scaler = syclamp.LossScaler()
    gradients[...] = 0.75 * scaler.begin_step()
    scaler.unscale(optimizer)
    assert list(gradients) == [0.75] * 5
    gradients[...] = 0.5  # clipped by hand
    scaler.step(optimizer)
    scaler.update()
    assert list(weights) == [0.5] * 5


def test_unscale_without_an_optimizer():
    scaler = syclamp.LossScaler(syclamp.Policy(init_scale=8.0))
    scaler.begin_step()
    half, out = numpy.full(3, 16, numpy.float16), numpy.zeros(3, numpy.float32)
    scaler.unscale(half, out=out)
    assert list(out) == [2] * 3
    scaler.update()


def test_misuse_says_what_to_call():
    _, _, optimizer = make()
    scaler = syclamp.LossScaler()
    with pytest.raises(syclamp.MisuseError, match="begin_step"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError):
        scaler.update()
    with pytest.raises(ValueError, match="at least one optimizer"):
        scaler.step([])


def test_a_joint_step_applies_all_or_none():
    (first, first_gradients, one), (second, second_gradients, two) = make(), make()
    scaler = syclamp.LossScaler()
    scale = scaler.begin_step()
    first_gradients[...], second_gradients[...] = 0.5 * scale, math.inf
    scaler.step([one, two])
    scaler.update()
    assert list(first) == list(second) == [1] * 5
    assert scaler.outcome().outcome == "skipped_inf"


def test_micro_batches_are_accumulated():
    weights, sums = numpy.ones(3, numpy.float32), numpy.zeros(3, numpy.float32)
    optimizer = syclamp.SGD(weights, sums, lr=1.0)
    scaler = syclamp.LossScaler()
    prepared = syclamp.tensors(sums)
    half = numpy.zeros(3, numpy.float16)
    for value in (0.25, math.inf, 0.75):
        half[...] = value * scaler.begin_step()
        scaler.accumulate(half, prepared)
        scaler.update()
    scaler.begin_step()
    scaler.step_accumulated(optimizer)
    scaler.update()
    assert list(weights) == [0.5] * 3  # 1 - (0.25 + 0.75) / 2: the micro-batch with Inf was dropped


def test_the_caller_can_skip_a_step():
    weights, gradients, optimizer = make()
    scaler = syclamp.LossScaler()
    gradients[...] = scaler.begin_step() * 0.5
    scaler.skip_step()
    scaler.step(optimizer)
    scaler.update()
    assert scaler.outcome().outcome == "skipped_by_user" and scaler.get_scale() == 65536
    assert list(weights) == [1] * 5


def test_new_scales_are_checked():
    _, _, optimizer = make()
    scaler = syclamp.LossScaler()
    scaler.begin_step()
    scaler.step(optimizer)
    with pytest.raises(ValueError, match="power of two"):
        scaler.update(3.0)
    scaler.update(4.0)
    assert scaler.get_scale() == 4


def test_policies():
    policy = syclamp.Policy("megatron", hysteresis=4)
    assert policy.hysteresis == 4 and policy.replay.bounds
    with pytest.raises(TypeError, match='Policy has no field "growth"'):
        syclamp.Policy(growth=2.0)
    with pytest.raises(ValueError, match="growth_factor"):
        syclamp.Policy(growth_factor=0.5)
    with pytest.raises(ValueError, match="mode: \"off\" is not one of dynamic, fixed, disabled"):
        syclamp.Policy(mode="off")
    with pytest.raises(ValueError, match="pytorch"):
        syclamp.LossScaler("torch")
    with pytest.raises(TypeError, match="policy: "):
        syclamp.LossScaler(7)
    scaler = syclamp.LossScaler()
    scaler.policy = syclamp.Policy(growth_interval=5)
    assert scaler.policy.growth_interval == 5


def fields_of(policy):
    return {name: getattr(policy, name) for name in dir(policy) if not name.startswith("_") and not callable(getattr(policy, name))}


@pytest.mark.parametrize("copy_of", [copy.copy, copy.deepcopy, lambda policy: pickle.loads(pickle.dumps(policy))])
def test_policies_can_be_copied_and_pickled(copy_of):
    for preset in syclamp.presets():
        policy = syclamp.Policy(preset.name, init_scale=512.0, hysteresis=3, mode="fixed")
        policy.replay.one_step_late = not policy.replay.one_step_late
        copied = copy_of(policy)
        first, second = fields_of(policy), fields_of(copied)
        assert fields_of(first.pop("replay")) == fields_of(second.pop("replay"))
        assert first == second and first["hysteresis"] == 3 and first["mode"] == "fixed"
        copied.hysteresis = 5
        assert policy.hysteresis == 3


def make_groups():
    """An optimizer with two groups of one array each, its weights, and its gradients."""
    weights = [numpy.ones(5, numpy.float32) for _ in range(2)]
    gradients = [numpy.zeros(5, numpy.float16) for _ in range(2)]
    groups = [{"weights": w, "gradients": g} for w, g in zip(weights, gradients, strict=True)]
    return weights, gradients, syclamp.SGD(groups, lr=0.5)


def step_groups(scaler, optimizers, gradients, values):
    """One step. The gradients of a group are a value times the scale of the group."""
    scaler.begin_step()
    for group, (gradient, value) in enumerate(zip(gradients, values, strict=True)):
        gradient[...] = value * scaler.get_scale(group % scaler.scales)
    scaler.step(optimizers)
    scaler.update()


@pytest.mark.parametrize("skip_together", [True, False])
def test_several_scales_move_on_their_own(skip_together):
    weights, gradients, optimizer = make_groups()
    policy = syclamp.Policy(init_scale=1024.0, growth_interval=2)
    scaler = syclamp.LossScaler(policy, scales=2, skip_together=skip_together)
    step_groups(scaler, optimizer, gradients, (1, 1))
    step_groups(scaler, optimizer, gradients, (1, math.inf))
    assert [scaler.get_scale(index) for index in range(2)] == [2048, 512]
    first, second = scaler.outcome(0), scaler.outcome(1)
    assert (first.scale_index, second.scale_index) == (0, 1)
    assert first.outcome == ("skipped_jointly" if skip_together else "applied") and second.outcome == "skipped_inf"
    assert first.flags == () and second.flags == ("inf",)
    progress = [optimizer.progress(group).last_was_applied for group in range(2)]
    assert progress == [not skip_together, False]
    step_groups(scaler, optimizer, gradients, (1, 1))
    applied = (2, 2) if skip_together else (3, 2)
    assert [w[0] for w in weights] == [1 - 0.5 * count for count in applied]
    for reading in (scaler.get_scale, scaler.outcome):
        with pytest.raises(ValueError, match="there is no scale 2; the scaler has 2 scales"):
            reading(2)


def test_states_with_several_scales():
    _, gradients, optimizer = make_groups()
    first, second = (syclamp.LossScaler(syclamp.Policy(init_scale=1024.0), scales=2) for _ in range(2))
    step_groups(first, optimizer, gradients, (1, math.inf))
    second.load_state_dict(first.state_dict())
    assert [second.get_scale(index) for index in range(2)] == [1024, 512]
    with pytest.raises(ValueError, match="2 scales"):
        syclamp.LossScaler().load_state_dict(first.state_dict())
    with pytest.raises(ValueError, match="pytorch: the snapshot has 2 scales"):
        first.to_framework("pytorch")


@pytest.mark.parametrize(("clip_separately", "expected"), [(False, (0.7, 0.6)), (True, (0.5, 0.5))])
def test_a_joint_step_clips_by_one_norm_or_by_one_per_optimizer(clip_separately, expected):
    (first, first_gradients, one), (second, second_gradients, two) = (make(numpy.float32, size=1) for _ in range(2))
    scaler = syclamp.LossScaler()
    scale = scaler.begin_step()
    first_gradients[...], second_gradients[...] = 3 * scale, 4 * scale  # norms 3 and 4, together 5
    scaler.step([one, two], max_norm=1.0, clip_separately=clip_separately)
    scaler.update()
    assert (first[0], second[0]) == pytest.approx(expected, rel=1e-6)
    assert scaler.outcome().norm == 5


def test_states_resume_and_travel():
    policy = syclamp.Policy("pytorch", growth_interval=3)
    _, gradients, optimizer = make()
    first = syclamp.LossScaler(policy)
    run_trace(first, optimizer, gradients, ".i..")
    state = json.loads(json.dumps(first.state_dict()))
    second = syclamp.LossScaler()
    second.load_state_dict(state)
    assert second.state_dict() == state
    assert run_trace(first, optimizer, gradients, "..i") == run_trace(second, optimizer, gradients, "..i")
    keys = first.to_framework("pytorch")
    assert set(keys) == {"scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker"}
    third = syclamp.LossScaler("pytorch")
    third.load_framework(keys, "pytorch")
    assert third.get_scale() == first.get_scale() and third.policy.growth_interval == 3
    with pytest.raises(ValueError, match="the key growth_factor is missing"):
        third.load_framework({}, "pytorch")


def test_states_in_files(tmp_path):
    scaler = syclamp.LossScaler(syclamp.Policy(init_scale=32.0))
    scaler.save(tmp_path / "scaler.json")
    other = syclamp.LossScaler()
    other.load(tmp_path / "scaler.json")
    assert other.get_scale() == 32
    with pytest.raises(syclamp.FileError, match="missing.json"):
        other.load(tmp_path / "missing.json")
    with pytest.raises(OSError):
        scaler.save(tmp_path / "no" / "folder.json")


def test_checkpoints_resume_bit_identically(tmp_path, random):
    def start():
        weights = numpy.linspace(-1, 1, 1000, dtype=numpy.float16)
        gradients = numpy.zeros(1000, numpy.float16)
        return weights, gradients, syclamp.AdamW(weights, gradients, lr=0.01), syclamp.LossScaler()

    def train(weights, gradients, optimizer, scaler, batches):
        for batch in batches:
            gradients[...] = batch * scaler.begin_step()
            scaler.step(optimizer, max_norm=1.0)
            scaler.update()

    batches = random.normal(size=(6, 1000)) * 1e-3
    batches[1, 7] = numpy.inf
    whole = start()
    train(*whole, batches)
    part = start()
    train(*part, batches[:3])
    file = tmp_path / "run.ckpt"
    syclamp.save_checkpoint(file, part[2], part[3], notes="step 3")
    resumed = start()
    assert syclamp.load_checkpoint(file, resumed[2], resumed[3]) == b"step 3"
    numpy.testing.assert_array_equal(resumed[0], part[0])
    train(*resumed, batches[3:])
    assert bytes(resumed[2].weights(0)) == bytes(whole[2].weights(0))
    assert resumed[3].get_scale() == whole[3].get_scale()
    file.write_bytes(file.read_bytes()[:-10])
    with pytest.raises(syclamp.FileError, match="run.ckpt"):
        syclamp.load_checkpoint(file, resumed[2], resumed[3])
