# SPDX-License-Identifier: Apache-2.0
"""Operations on NumPy arrays, compared with NumPy."""

import math

import ml_dtypes
import numpy
import pytest

import syclamp

pytestmark = pytest.mark.usefixtures("engine")

GRADIENTS = [numpy.float16, ml_dtypes.bfloat16, numpy.float32]
SIZES = [0, 1, 7, 64, 65_535, 65_537]  # around packs and chunks of 65 536


def random_arrays(random, dtype, sizes=SIZES):
    return [random.normal(size=size).astype(dtype) for size in sizes]


@pytest.mark.parametrize("dtype", GRADIENTS)
def test_inspect(random, dtype):
    arrays = random_arrays(random, dtype)
    arrays[3][5], arrays[4][100], arrays[5][-1], arrays[5][0] = numpy.inf, numpy.nan, -numpy.inf, 0
    found = syclamp.inspect(arrays, level="histogram")
    wide = [values.astype(numpy.float64) for values in arrays]
    assert found.result.inf_count == sum(numpy.isinf(values).sum() for values in wide)
    assert found.result.nan_count == sum(numpy.isnan(values).sum() for values in wide)
    assert found.result.zero_count == sum((values == 0).sum() for values in wide)
    assert (found.result.first_nonfinite_tensor, found.result.first_nonfinite) == (3, 5)
    assert not found.all_finite and set(found.result.flags) == {"inf", "nan"}
    assert found.tensors[2].amax == numpy.abs(wide[2]).max()
    # A sum of n squares in FP32, in any order: relative error at most n * 2^-24 of the sum, half of it of its root.
    # The sums are over chunks, so a few hundred roundings are on the path of each element.
    assert found.tensors[2].norm() == pytest.approx(numpy.linalg.norm(wide[2]), rel=8 * 2**-24)
    assert found.tensors[2].norm("l1") == pytest.approx(numpy.abs(wide[2]).sum(), rel=8 * 2**-24)
    exponents = numpy.concatenate([numpy.frexp(values[numpy.isfinite(values) & (values != 0)])[1] - 1 for values in wide])
    assert found.histogram[127 - 3] == (exponents == -3).sum()


def test_inspection_names_what_overflows_when_unscaled():
    largest = numpy.array([3e38], numpy.float32)
    assert syclamp.inspect(largest).all_finite
    assert syclamp.inspect(largest, scale=0.5).result.flags == ("inf",)


@pytest.mark.parametrize("dtype", GRADIENTS)
def test_unscale_is_exact(random, dtype):
    arrays = random_arrays(random, dtype)
    out = [numpy.full(values.shape, 7, numpy.float32) for values in arrays]
    assert syclamp.unscale(arrays, 1024.0, out=out) is out
    for values, result in zip(arrays, out, strict=True):
        numpy.testing.assert_array_equal(result, values.astype(numpy.float32) / numpy.float32(1024))


def test_sixteen_bit_gradients_are_not_unscaled_in_place():
    with pytest.raises(ValueError, match="float16"):
        syclamp.unscale(numpy.ones(2, numpy.float16), 2.0)


@pytest.mark.parametrize(("norm", "order"), [("l2", 2), ("l1", 1), ("inf", numpy.inf)])
def test_clip(random, norm, order):
    arrays = random_arrays(random, numpy.float32)
    expected = numpy.linalg.norm(numpy.concatenate(arrays).astype(numpy.float64), order)
    before = [values.copy() for values in arrays]
    clipped = syclamp.clip(arrays, 2.0, norm=norm)
    assert clipped.norm == pytest.approx(expected, rel=8 * 2**-24)
    assert clipped.coefficient == pytest.approx(2.0 / (expected + 1e-6), rel=16 * 2**-24)
    for values, result in zip(before, arrays, strict=True):
        numpy.testing.assert_array_equal(result, values * numpy.float32(clipped.coefficient))
    assert syclamp.clip(arrays, 1e9, norm=norm).coefficient == 1.0


def test_clip_by_value():
    values = numpy.array([-3, -1, 0.5, 2, math.nan, math.inf], numpy.float32)
    syclamp.clip_by_value(values, 1.0)
    numpy.testing.assert_array_equal(values, numpy.array([-1, -1, 0.5, 1, math.nan, 1], numpy.float32))


@pytest.mark.parametrize("target", [numpy.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2])
def test_cast_rounds_as_numpy_does(random, target):
    values = numpy.concatenate([random.normal(size=70_000), [65504, 65520, 1e-8, -0.0, math.inf, math.nan]]).astype(numpy.float32)
    out = numpy.zeros(values.shape, target)
    assert syclamp.cast(values, out) is None
    with numpy.errstate(over="ignore"):
        expected = values.astype(target).astype(numpy.float32)
    numpy.testing.assert_array_equal(out.astype(numpy.float32), expected)


def test_stochastic_casts_repeat_and_are_unbiased():
    values = numpy.full(65_536, 1 + 2**-10, numpy.float32)  # an eighth between two BF16 numbers that are 2^-7 apart
    results = []
    for step in (0, 0, 1):
        out = numpy.zeros(values.shape, ml_dtypes.bfloat16)
        syclamp.cast(values, out, rounding="stochastic", seed=5, step=step)
        results.append(out.astype(numpy.float64))
    numpy.testing.assert_array_equal(results[0], results[1])
    assert (results[0] != results[2]).any()
    # Share of numbers rounded up: 1/8; its standard deviation is sqrt(1/8 * 7/8 / 65536) = 0.0013.
    assert (results[0] > 1).mean() == pytest.approx(1 / 8, abs=6 * 0.0013)


def test_saturating_casts_count():
    out = numpy.zeros(3, numpy.float16)
    assert syclamp.cast(numpy.array([7e4, 1, -math.inf], numpy.float32), out, saturate=True, count_saturated=True) == 2
    assert list(out) == [65504, 1, -65504]


def test_accumulate_scale_and_clear():
    sums = numpy.ones(5, numpy.float32)
    syclamp.accumulate(numpy.full(5, 8, numpy.float16), sums, 4.0)
    assert list(sums) == [3] * 5
    half = numpy.zeros(5, numpy.float16)
    syclamp.scale(sums, 0.5, out=half)
    assert list(half) == [1.5] * 5
    syclamp.clear([sums, half])
    assert not sums.any() and not half.any()


def pair(first, second):
    return {name: numpy.full(2, number, numpy.float32) for name, number in (first, second)}


def write_pairs(source, target):
    """Every operation that reads `source` and writes `target`, with what a source of 2 and 8 becomes."""
    scaler = syclamp.LossScaler(syclamp.Policy(init_scale=2.0))
    yield "arrays", "out", lambda: syclamp.scale(source, 1.0, out=target), (2, 8)
    yield "arrays", "out", lambda: syclamp.unscale(source, 2.0, out=target), (1, 4)
    yield "arrays", "out", lambda: syclamp.cast(source, target), (2, 8)
    yield "arrays", "sums", lambda: syclamp.accumulate(source, target, 2.0), (3, 12)
    yield "loss", "out", lambda: scaler.scale(source, out=target), (4, 16)
    yield "gradients", "out", lambda: scaler.unscale(source, out=target), (1, 4)
    yield "gradients", "sums", lambda: scaler.begin_step() and scaler.accumulate(source, target), (2, 8)


def test_dictionaries_are_paired_by_key():
    source, target = pair(("a", 2), ("b", 8)), pair(("b", 0), ("a", 0))
    for _, _, write, expected in write_pairs(source, target):
        write()
        assert (target["a"][0], target["b"][0]) == expected
    for first in (source, syclamp.tensors(source)):
        for argument, written, write, _ in write_pairs(first, pair(("b", 0), ("c", 0))):
            with pytest.raises(ValueError, match=f'^{written}: "a" missing and "c" not in {argument}; use the keys of {argument}'):
                write()
    with pytest.raises(ValueError, match='out: the arrays were prepared in the order "b", "a", but arrays has the order "a", "b"'):
        syclamp.scale(source, 1.0, out=syclamp.tensors(target))
    syclamp.scale(source, 1.0, out=list(target.values()))  # a list has no keys
    assert target["b"][0] == 2


def test_messages_name_the_key():
    with pytest.raises(ValueError, match=r'gradients\["w"\]: the dtype'):
        syclamp.clip({"w": numpy.zeros(2, numpy.complex64)}, 1.0)
    frozen = numpy.zeros(2, numpy.float32)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match=r'gradients\["w"\]: the array is read-only'):
        syclamp.clip({"w": frozen}, 1.0)
    with pytest.raises(ValueError, match=r'weights\["w"\]: the array is read-only'):
        syclamp.SGD({"w": frozen}, {"w": numpy.zeros(2, numpy.float32)})


def test_results_can_be_read_when_a_call_returns(engine):
    values = numpy.ones(1 << 22, numpy.float32)
    prepared = syclamp.tensors(values)
    for factor in (2.0, 0.5, 4.0):
        before = engine.waits
        syclamp.scale(prepared, factor)
        assert engine.waits == before + 1
        assert (values == values[0]).all()
    assert values[0] == 4


def test_deferred_calls_wait_once(engine):
    values = numpy.ones(1 << 20, numpy.float32)
    prepared = syclamp.tensors(values)
    before = engine.waits
    with engine.deferred():
        for _ in range(10):
            syclamp.scale(prepared, 2.0)
        assert engine.waits == before
    assert engine.waits == before + 1
    assert (values == 1024).all()


def test_deferred_calls_keep_temporary_arrays_alive(engine):
    out = numpy.zeros(1 << 20, numpy.float32)
    with engine.deferred():
        syclamp.unscale(numpy.full(1 << 20, 6, numpy.float32), 2.0, out=out)  # nobody else holds the gradients
        numpy.full(1 << 20, 99, numpy.float32)  # would take their memory
    assert (out == 3).all()


def test_errors_of_the_library_are_of_both_kinds():
    with pytest.raises(syclamp.InvalidArgumentError) as caught:
        syclamp.unscale([numpy.ones(2, numpy.float32)], 2.0, out=[numpy.ones(3, numpy.float32)])
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, syclamp.Error)
    assert type(caught.value).__module__ == "syclamp"
    for kind, base in {
        syclamp.MisuseError: RuntimeError, syclamp.NoDeviceError: RuntimeError, syclamp.DeviceError: RuntimeError,
        syclamp.FileError: OSError, syclamp.OutOfMemoryError: MemoryError, syclamp.KernelBuildError: RuntimeError,
    }.items():  # fmt: skip
        assert issubclass(kind, syclamp.Error) and issubclass(kind, base)
