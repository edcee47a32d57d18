# SPDX-License-Identifier: Apache-2.0
"""Arrays of other libraries: formats, memory, and messages that name the argument."""

import array

import ml_dtypes
import numpy
import pytest
from dlpack_producer import Handmade, exchange_type

import syclamp

pytestmark = pytest.mark.usefixtures("engine")

FORMATS = [
    (numpy.float16, "float16"),
    (numpy.float32, "float32"),
    (numpy.float64, "float64"),
    (ml_dtypes.bfloat16, "bfloat16"),
    (ml_dtypes.float8_e4m3fn, "float8_e4m3"),
    (ml_dtypes.float8_e5m2, "float8_e5m2"),
]


class OnlyDLPack:
    """An array that has nothing but DLPack."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)


class OldDLPack(OnlyDLPack):
    """An array of a library older than DLPack 1.0."""

    def __dlpack__(self):
        return self.values.__dlpack__()


@pytest.mark.parametrize(("dtype", "name"), FORMATS)
def test_formats_of_numpy(dtype, name):
    values = numpy.ones((2, 3), dtype)
    imported = syclamp.Array(values)
    assert (imported.dtype, imported.shape, imported.size) == (name, (2, 3), 6)
    assert imported.is_host and not imported.is_read_only
    assert imported.address == values.ctypes.data  # no copy


@pytest.mark.parametrize("wrapper", [OnlyDLPack, OldDLPack])
def test_dlpack(wrapper):
    values = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
    imported = syclamp.Array(wrapper(values))
    assert (imported.dtype, imported.shape, imported.address) == ("float32", (2, 3), values.ctypes.data)


def test_dlpack_carries_the_read_only_flag():
    values = numpy.ones(3, numpy.float32)
    values.flags.writeable = False
    assert syclamp.Array(OnlyDLPack(values)).is_read_only


def test_buffers():
    assert syclamp.Array(array.array("f", [1, 2])).dtype == "float32"
    assert syclamp.Array(memoryview(bytes(8)).cast("d")).is_read_only


def test_sixteen_bit_integers_need_a_format():
    bits = numpy.array([0x3F80, 0x7F80], numpy.uint16)
    with pytest.raises(ValueError, match=r'arrays\[0\]: the array\'s dtype is uint16; .*dtype="bfloat16"'):
        syclamp.inspect(bits)
    found = syclamp.inspect(syclamp.Array(bits, "bfloat16"))
    assert found.result.inf_count == 1
    assert syclamp.Array(numpy.zeros(1, numpy.uint8), "float8_e5m2").dtype == "float8_e5m2"
    with pytest.raises(ValueError, match="not one of float16, bfloat16"):
        syclamp.Array(bits, "half")
    with pytest.raises(ValueError, match="uint16"):
        syclamp.Array(bits, "float32")
    with pytest.raises(ValueError, match="the array's dtype is .*but dtype says float16"):
        syclamp.Array(numpy.zeros(1, numpy.float32), "float16")


@pytest.mark.parametrize("dtype", [numpy.int32, numpy.int16, numpy.complex64, numpy.bool_, ">f4", "U3", object])
def test_other_formats_are_refused(dtype):
    with pytest.raises((ValueError, TypeError), match=r"arrays\[1\]: "):
        syclamp.inspect([numpy.zeros(2, numpy.float32), numpy.zeros(2, dtype)])


def test_messages_name_the_argument():
    good = numpy.zeros(4, numpy.float32)
    with pytest.raises(TypeError, match=r"gradients\[1\]: an array is needed, not "):
        syclamp.clip([good, "text"], 1.0)
    with pytest.raises(ValueError, match=r"out\[0\]: the array is not contiguous \(shape \[2\], strides \[2\]"):
        syclamp.unscale(good[:2], 2.0, out=good[::2])
    frozen = numpy.zeros(4, numpy.float32)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match=r"weights\[0\]: the array is read-only"):
        syclamp.SGD(frozen, good)
    with pytest.raises(ValueError, match=r"out\[0\]: the array is read-only"):
        syclamp.unscale(good, 2.0, out=frozen)
    assert syclamp.inspect(frozen).all_finite  # reading is allowed


def test_column_major_arrays_are_refused():
    with pytest.raises(ValueError, match="not contiguous"):
        syclamp.inspect(numpy.zeros((3, 2), numpy.float32, order="F"))
    assert syclamp.inspect(numpy.zeros((1, 5, 1), numpy.float32, order="F")).result.elements == 5


def test_empty_and_scalar_arrays():
    assert syclamp.inspect([numpy.zeros(0, numpy.float32), numpy.float32(3).reshape(())]).result.elements == 1


def test_pinned_memory_is_host_memory_and_vectors_are_refused():
    assert syclamp.Array(Handmade(numpy.ones(3, numpy.float32), device_type=3)).is_host
    with pytest.raises(ValueError, match="4 lanes"):
        syclamp.Array(Handmade(numpy.ones(3, numpy.float32), lanes=4))


@pytest.mark.parametrize(("dtype", "bytes"), [(numpy.float32, 4), (ml_dtypes.bfloat16, 2)])
def test_field_of_a_structured_array_is_refused(dtype, bytes):
    records = numpy.zeros(9, [("value", dtype), ("flag", "u1")])  # one byte more from value to value
    with pytest.raises(ValueError, match=f"a stride of {bytes + 1} bytes between elements of {bytes} bytes"):
        syclamp.inspect(records["value"])


@pytest.mark.parametrize(
    ("code", "bits", "stored", "name", "value"),
    [
        (2, 16, 0xC100, "float16", 2.5),
        (2, 32, 0xC0200000, "float32", 2.5),
        (2, 64, 0xC004000000000000, "float64", 2.5),
        (4, 16, 0xC020, "bfloat16", 2.5),
        (10, 8, 0xC2, "float8_e4m3", 2.5),
        (12, 8, 0xC1, "float8_e5m2", 2.5),
    ],
)
def test_codes_of_dlpack(code, bits, stored, name, value):
    """The codes of DLPack 1.3. No array library of this test has FP8 with DLPack, so the tensors are made by hand."""
    values = numpy.full(3, stored, f"uint{bits}")
    producer = Handmade(values, code=code, bits=bits)
    imported = syclamp.Array(producer)
    assert (imported.dtype, imported.address) == (name, values.ctypes.data)
    assert syclamp.inspect(imported).amax == value  # each format reads these bits in its own way


@pytest.mark.parametrize(
    ("code", "bits"),
    [(0, 32), (5, 64), (6, 8), (7, 8), (8, 8), (9, 8), (11, 8), (13, 8), (14, 8), (15, 8), (16, 8), (17, 4), (2, 8), (4, 32), (10, 16)],
)
def test_other_codes_of_dlpack_are_refused(code, bits):
    """Among them are 14, the scales E8M0 of MX formats, and 17, FP4. A known code with other bits is no known format."""
    producer = Handmade(numpy.ones(3, numpy.float32), code=code, bits=bits)
    with pytest.raises(ValueError, match="array: the dtype .* is not supported; use float16"):
        syclamp.Array(producer)
    assert producer.deleted == 1


def test_strides_of_dlpack():
    values = numpy.ones(6, numpy.float32)
    assert syclamp.Array(Handmade(values, stride=1)).size == 6
    with pytest.raises(ValueError, match=r"array: the array is not contiguous \(shape \[6\], strides \[2\]"):
        syclamp.Array(Handmade(values, stride=2))


READ_ONLY = 1  # a flag of DLPack 1.0


@pytest.mark.parametrize("way", ["buffer", "interface", "dlpack", "table"])
def test_read_only_arrays_are_read_but_not_written(way):
    values = numpy.full(4, 2, ml_dtypes.bfloat16 if way == "interface" else numpy.float32)
    if way in ("dlpack", "table"):
        frozen = (Handmade if way == "dlpack" else exchange_type(1))(values, flags=READ_ONLY)
    else:
        frozen = values.view()
        frozen.flags.writeable = False
    assert syclamp.inspect(frozen).amax == 2.0
    for write in (lambda: syclamp.scale(frozen, 2.0), lambda: syclamp.clear(frozen), lambda: syclamp.cast(numpy.ones(4, numpy.float32), frozen)):
        with pytest.raises(ValueError, match=r"\[0\]: the array is read-only"):
            write()
    assert (values == 2).all()


def test_read_only_gradients_are_not_written():
    weights, gradients = numpy.ones(4, numpy.float32), numpy.ones(4, numpy.float32)
    gradients.flags.writeable = False
    optimizer, scaler = syclamp.SGD(weights, gradients), syclamp.LossScaler()
    with pytest.raises(ValueError, match=r"gradients\[0\]: the array is read-only"):
        optimizer.zero_gradients()
    scaler.begin_step()
    with pytest.raises(ValueError, match=r"gradients\[0\]: the array is read-only"):
        scaler.unscale(optimizer)
    assert (gradients == 1).all()
