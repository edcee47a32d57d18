# SPDX-License-Identifier: Apache-2.0
"""Arrays of other libraries: formats, memory, lifetimes, and messages that name the argument."""

import array
import ctypes
import gc
import weakref

import ml_dtypes
import numpy
import pytest

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


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


class ManagedVersioned(ctypes.Structure):
    pass


DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(ManagedVersioned))
ManagedVersioned._fields_ = [
    ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("deleter", DELETER),
    ("flags", ctypes.c_uint64), ("tensor", DLTensor),
]  # fmt: skip


class Handmade:
    """A DLPack producer whose every field the test sets."""

    def __init__(self, values, major=1, device_type=1, lanes=1, flags=0):
        self.values, self.deleted = values, 0
        self.shape = (ctypes.c_int64 * 1)(values.size)
        self.deleter = DELETER(self._delete)
        tensor = DLTensor(values.ctypes.data, device_type, 0, 1, 2, values.itemsize * 8, lanes, self.shape, None, 0)
        self.managed = ManagedVersioned(major, 3, None, self.deleter, flags, tensor)

    def _delete(self, _):
        self.deleted += 1

    def __dlpack__(self, max_version=None):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.managed), b"dltensor_versioned", None)


def test_the_deleter_is_called_once_after_the_last_use():
    producer = Handmade(numpy.ones(3, numpy.float32))
    imported = syclamp.Array(producer)
    prepared = syclamp.tensors([imported])
    del imported
    assert producer.deleted == 0
    del prepared
    gc.collect()
    syclamp.default_engine().wait()
    assert producer.deleted == 1


def test_a_newer_major_version_is_refused_and_deleted():
    producer = Handmade(numpy.ones(3, numpy.float32), major=2)
    with pytest.raises(ValueError, match=r"array: the array library speaks DLPack 2\.3"):
        syclamp.Array(producer)
    assert producer.deleted == 1


def test_memory_of_another_runtime_is_refused_and_deleted():
    producer = Handmade(numpy.ones(3, numpy.float32), device_type=2)
    with pytest.raises(ValueError, match=r"array: .*DLPack device type 2"):
        syclamp.Array(producer)
    assert producer.deleted == 1


def test_pinned_memory_is_host_memory_and_vectors_are_refused():
    assert syclamp.Array(Handmade(numpy.ones(3, numpy.float32), device_type=3)).is_host
    with pytest.raises(ValueError, match="4 lanes"):
        syclamp.Array(Handmade(numpy.ones(3, numpy.float32), lanes=4))


EXCHANGE = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.POINTER(ManagedVersioned)))


class ExchangeTable(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("previous", ctypes.c_void_p),
        ("allocator", ctypes.c_void_p), ("from_object", EXCHANGE), ("to_object", ctypes.c_void_p),
        ("tensor_from_object", ctypes.c_void_p), ("current_work_stream", ctypes.c_void_p),
    ]  # fmt: skip


def exchange_type(major):
    """A type with a table of functions, as DLPack 1.3 describes it."""

    def from_object(producer, out):
        producer.calls += 1
        out[0] = ctypes.pointer(producer.managed)
        return 0

    function = EXCHANGE(from_object)
    table = ExchangeTable(major, 3, None, None, function, None, None, None)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    capsule = new(ctypes.addressof(table), b"dlpack_exchange_api", None)
    fields = {"__dlpack_c_exchange_api__": capsule, "kept": (function, table), "calls": 0}
    return type("WithTable", (Handmade,), fields)


def test_the_exchange_table_of_the_type_is_used():
    producer = exchange_type(1)(numpy.ones(3, numpy.float32))
    imported = syclamp.Array(producer)
    assert (producer.calls, imported.size) == (1, 3)
    del imported
    gc.collect()
    assert producer.deleted == 1


def test_a_table_of_a_newer_major_version_is_not_used():
    producer = exchange_type(2)(numpy.ones(3, numpy.float32))
    assert syclamp.Array(producer).size == 3  # through __dlpack__
    assert producer.calls == 0


def test_objects_keep_their_arrays_alive():
    class Watched(numpy.ndarray):
        pass

    weights, gradients = (numpy.ones(4, numpy.float32).view(Watched) for _ in range(2))
    watches = [weakref.ref(weights), weakref.ref(gradients)]
    optimizer = syclamp.SGD(weights, gradients, lr=0.5)
    del weights, gradients
    gc.collect()
    assert all(watch() is not None for watch in watches)
    optimizer.step()
    assert list(optimizer.weights(0)) == [0.5] * 4
    optimizer.set_gradients([numpy.full(4, 2, numpy.float32)])
    optimizer.step()
    gc.collect()
    assert watches[1]() is None and list(watches[0]()) == [-0.5] * 4
    del optimizer
    gc.collect()
    assert watches[0]() is None


def test_a_resized_buffer_is_refused_while_it_is_used():
    values = bytearray(16)
    prepared = syclamp.tensors(memoryview(values).cast("f"))
    with pytest.raises(BufferError):
        values.extend(b"more")
    del prepared


def test_field_of_a_structured_array_is_refused():
    records = numpy.zeros(9, [("value", "f4"), ("flag", "u1")])  # 5 bytes from value to value
    with pytest.raises(ValueError, match="a stride of 5 bytes between elements of 4 bytes"):
        syclamp.inspect(records["value"])


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
