# SPDX-License-Identifier: Apache-2.0
"""Optimizers on NumPy arrays, compared with their formulas in double precision."""

import ml_dtypes
import numpy
import optimizer_oracle
import pytest

import syclamp

pytestmark = pytest.mark.usefixtures("engine")

CASES = [
    (syclamp.SGD, {"lr": 0.1}),
    (syclamp.SGD, {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01, "nesterov": True}),
    (syclamp.SGD, {"lr": 0.1, "momentum": 0.9, "dampening": 0.5}),
    (syclamp.Adam, {"lr": 0.01, "weight_decay": 0.1}),
    (syclamp.AdamW, {"lr": 0.01, "weight_decay": 0.1, "betas": (0.8, 0.95)}),
    (syclamp.Lion, {"lr": 0.01, "weight_decay": 0.1}),
    (syclamp.Adagrad, {"lr": 0.1, "lr_decay": 0.1, "initial_accumulator_value": 0.5}),
    (syclamp.RMSprop, {"lr": 0.01, "momentum": 0.5}),
    (syclamp.RMSprop, {"lr": 0.01, "centered": True, "eps": 0.1}),
    (syclamp.Adadelta, {"lr": 1.0, "weight_decay": 0.1}),
    (syclamp.LAMB, {"lr": 0.01}),
    (syclamp.NovoGrad, {"lr": 0.01, "weight_decay": 0.1}),
]


@pytest.mark.parametrize("dtype", [numpy.float16, ml_dtypes.bfloat16, numpy.float32])
@pytest.mark.parametrize(("kind", "settings"), CASES)
def test_steps_follow_the_formula(random, kind, settings, dtype):
    shapes = [(300,), (7, 11)]
    weights = [random.normal(size=shape).astype(dtype) for shape in shapes]
    exact = [values.astype(numpy.float64) for values in weights]
    states = [{} for _ in shapes]
    gradients = [numpy.zeros(shape, dtype) for shape in shapes]
    optimizer = kind(weights, gradients, **settings)
    rule = getattr(optimizer_oracle, kind.name)
    for step in range(1, 6):
        for index, gradient in enumerate(gradients):
            gradient[...] = random.normal(size=gradient.shape).astype(dtype)
            exact[index] = rule(exact[index], gradient.astype(numpy.float64), states[index], step, **settings)
        optimizer.step()
    for index, expected in enumerate(exact):
        master = numpy.array(optimizer.weights(index)).reshape(expected.shape)
        # Each of 5 steps rounds the weight once, and an update of at most 1 some 10 times: 5 * 11 * 2^-24 of values up
        # to 4. The oracle has no more than the rounding of the settings, which FP32 rounds, too.
        numpy.testing.assert_allclose(master, expected, rtol=64 * 2**-24, atol=256 * 2**-24)
        numpy.testing.assert_array_equal(weights[index], master.astype(dtype))  # the copy is the master, rounded
    assert optimizer.steps() == 5 and len(optimizer) == 2


def test_every_optimizer_of_the_library_is_here():
    kinds = {kind.name for kind in syclamp.Optimizer.__subclasses__()}
    with pytest.raises(ValueError, match="is not one of") as caught:
        type("Unknown", (syclamp.Optimizer,), {"name": "unknown"})(numpy.ones(1, numpy.float32), numpy.ones(1, numpy.float32))
    assert set(str(caught.value).split("one of ")[1].split(", ")) == kinds - {"unknown"}


def test_groups_have_settings_of_their_own():
    arrays = [numpy.ones(3, numpy.float32) for _ in range(4)]
    optimizer = syclamp.SGD(
        [{"weights": {"first": arrays[0]}, "gradients": [arrays[1]]},
         {"weights": [arrays[2]], "gradients": [arrays[3]], "lr": 0.25}],
        lr=0.5,
    )  # fmt: skip
    optimizer.step()
    assert list(arrays[0]) == [0.5] * 3 and list(arrays[2]) == [0.75] * 3
    optimizer.set(1, lr=0.125)
    assert (optimizer.settings(0)["lr"], optimizer.settings(1)["lr"]) == (0.5, 0.125)
    optimizer.lr = 1.0
    assert optimizer.settings(1)["lr"] == 1.0


def vectors(**numbers):
    return {name: numpy.full(2, number, numpy.float32) for name, number in numbers.items()}


def test_dictionaries_are_paired_by_key():
    weights, gradients, masters = vectors(a=0, b=0), vectors(b=100, a=1), vectors(b=20, a=10)
    syclamp.SGD(weights, gradients, lr=1.0).step()
    assert (weights["a"][0], weights["b"][0]) == (-1, -100)
    half = {name: numpy.zeros(2, numpy.float16) for name in ("a", "b")}
    optimizer = syclamp.SGD([{"weights": half, "gradients": gradients, "masters": masters}], lr=1.0)
    optimizer.step()
    assert (masters["a"][0], masters["b"][0]) == (9, -80)
    optimizer.set_gradients(vectors(b=0, a=2))
    optimizer.step()
    assert (half["a"][0], half["b"][0]) == (7, -80)
    named = [{"weights": list(weights.values()), "names": ["a", "b"], "gradients": gradients}]
    syclamp.SGD(named, lr=1.0).step()
    assert (weights["a"][0], weights["b"][0]) == (-2, -200)


def test_names_that_occur_twice_cannot_be_keys():
    optimizer = syclamp.SGD([{"weights": vectors(a=0), "gradients": vectors(a=1)} for _ in range(2)])
    with pytest.raises(ValueError, match="gradients: a name occurs twice in weights, so pass a list"):
        optimizer.set_gradients(vectors(a=2))
    optimizer.set_gradients([*vectors(a=2).values(), *vectors(a=3).values()])


@pytest.mark.parametrize("argument", ["gradients", "masters"])
def test_keys_that_differ_are_named(argument):
    arguments = {"gradients": vectors(a=0, b=0), argument: vectors(a=0, c=0)}
    with pytest.raises(ValueError, match=f'{argument}: "b" missing and "c" not in weights'):
        syclamp.SGD({name: numpy.zeros(2, numpy.float16) for name in ("a", "b")}, **arguments)


def test_a_scaler_names_the_tensor_that_overflowed():
    weights = {"layer.weight": numpy.ones(3, numpy.float32), "layer.bias": numpy.ones(2, numpy.float32)}
    gradients = [numpy.ones(3, numpy.float16), numpy.array([1, numpy.inf], numpy.float16)]
    scaler = syclamp.LossScaler()
    scaler.begin_step()
    scaler.step(syclamp.AdamW(weights, gradients))
    scaler.update()
    syclamp.default_engine().wait()
    record = scaler.ledger[-1]
    assert (record.first_nonfinite_name, record.first_nonfinite) == ("layer.bias", 1)


def test_an_absent_gradient_leaves_its_weights():
    weights = [numpy.ones(3, numpy.float32), numpy.ones(3, numpy.float32)]
    gradients = [numpy.ones(3, numpy.float32), numpy.ones(3, numpy.float32)]
    optimizer = syclamp.SGD(weights, gradients, lr=0.5)
    optimizer.set_gradients([None, gradients[1]])
    optimizer.step()
    assert list(weights[0]) == [1] * 3 and list(weights[1]) == [0.5] * 3
    with pytest.raises(ValueError, match="there are 1 arrays for 2 parameters"):
        optimizer.set_gradients([None])
    with pytest.raises(ValueError, match=r"gradients\[1\]: the array has 4 elements of float32, but the parameter needs 3"):
        optimizer.set_gradients([None, numpy.ones(4, numpy.float32)])


def test_storage():
    weights, gradients = numpy.ones(1 << 16, ml_dtypes.bfloat16), numpy.full(1 << 16, 0.5, ml_dtypes.bfloat16)
    plain = syclamp.AdamW(weights.copy(), gradients)
    small = syclamp.AdamW(weights, gradients, moments="bfloat16", remainders=True, rounding="stochastic", seed=3)
    assert small.device_bytes < plain.device_bytes
    small.step()
    assert small.moment(0, 0).format == "H" and plain.moment(0, 0).format == "f"
    masters = numpy.zeros(8, numpy.float32)
    given = syclamp.SGD(numpy.ones(8, numpy.float16), gradients[:8], masters=masters, lr=1.0)
    given.step()
    assert list(masters) == [-0.5] * 8


def test_a_schedule_counts_applied_steps():
    weights, gradients = numpy.zeros(1, numpy.float32), numpy.ones(1, numpy.float32)
    optimizer = syclamp.SGD(weights, gradients, lr=1.0)
    optimizer.set_schedule("decay", steps=1, gamma=0.5)
    optimizer.step()
    optimizer.step()
    assert weights[0] == -1.5


def test_misuse():
    one = numpy.ones(1, numpy.float32)
    with pytest.raises(TypeError, match='sgd has no setting "betas"; it has lr,'):
        syclamp.SGD(one, one, betas=(0.9, 0.99))
    with pytest.raises(TypeError, match="gradients: arrays are needed"):
        syclamp.SGD(one)
    with pytest.raises(ValueError, match="gradients: there are 2 for 1 weights"):
        syclamp.SGD(one, [one, one.copy()])
    with pytest.raises(TypeError, match="lr: 'fast' cannot be used"):
        syclamp.SGD(one, one.copy(), lr="fast")
    with pytest.raises(ValueError, match="lr"):
        syclamp.SGD(one, one.copy(), lr=-1.0)
    with pytest.raises(ValueError, match="overlap"):
        syclamp.SGD(one, one)
