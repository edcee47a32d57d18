# SPDX-License-Identifier: Apache-2.0
"""Lifetimes: who keeps an array, until when, and under which locks it is released."""

import ctypes
import gc
import subprocess
import weakref

import ml_dtypes
import numpy
import pytest
from dlpack_producer import DELETER, Handmade, exchange_type

import syclamp

pytestmark = pytest.mark.usefixtures("engine")


class Watched(numpy.ndarray):
    """An array to which weak references are possible."""


def make_watched(dtype=numpy.float32):
    return numpy.ones(4, dtype).view(Watched)


def test_objects_keep_their_arrays_alive():
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


OPERATIONS = {
    "scale": lambda values: syclamp.scale(values, 2.0),
    "scale into another array": lambda values: syclamp.scale(values, 2.0, out=numpy.ones(4, numpy.float32)),
    "unscale into another array": lambda values: syclamp.unscale(values, 2.0, out=numpy.ones(4, numpy.float32)),
    "accumulate": lambda values: syclamp.accumulate(values, numpy.ones(4, numpy.float32), 2.0),
    "cast": lambda values: syclamp.cast(values, numpy.ones(4, numpy.float16)),
    "clear": lambda values: syclamp.clear(values),
    "step": lambda values: syclamp.SGD(values, numpy.ones(4, numpy.float32)).step(),
}


@pytest.mark.parametrize("dtype", [numpy.float32, ml_dtypes.bfloat16])  # by the buffer protocol, and by __array_interface__
@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_keeps_its_arrays_until_it_is_complete(engine, name, dtype):
    values = make_watched(dtype)
    watch = weakref.ref(values)
    with engine.deferred():
        OPERATIONS[name](values)
        del values
        gc.collect()
        assert watch() is not None  # nobody has asked whether the operation is complete
        engine.wait()
        assert watch() is None


@pytest.mark.parametrize("dtype", [numpy.float32, ml_dtypes.bfloat16])
def test_finalizers_run_python(engine, dtype):
    """The wait, in which no lock of Python is held, drops the last reference."""
    values, texts = make_watched(dtype), []
    weakref.finalize(values, lambda: texts.append(f"finalized with {len(OPERATIONS)} names in reach"))
    with engine.deferred():
        syclamp.scale(values, 2.0)
        del values
        engine.wait()
        assert len(texts) == 1


def test_finalizers_may_use_the_engine(engine):
    """The finalizer of the first array submits work on the second, while the engine releases what is complete."""
    first, second = make_watched(), make_watched()
    watch = weakref.ref(second)
    weakref.finalize(first, lambda values: syclamp.scale(values, 3.0), second)
    with engine.deferred():
        syclamp.scale(first, 2.0)
        del first, second
        engine.wait()
        gc.collect()
        assert watch() is not None  # the operation of the finalizer keeps it
        engine.wait()
    assert watch() is None


def test_finalizers_may_use_the_engine_while_work_is_submitted(engine):
    """The same, but the next operation notices that the one before is complete."""
    first, second, others = make_watched(), make_watched(), numpy.ones(4, numpy.float32)
    watch = weakref.ref(second)
    finalizer = weakref.finalize(first, lambda values: syclamp.scale(values, 3.0), second)
    with engine.deferred():
        syclamp.scale(first, 2.0)
        del first, second
        while finalizer.alive:  # ends as soon as the device has scaled four numbers
            syclamp.scale(others, 1.0)
    gc.collect()
    assert watch() is None


MANY = 1 << 24  # so many that the work is not complete when it has just been submitted


@pytest.fixture(scope="module")
def other():
    return syclamp.Engine("cpu")


def make_scaler():
    """A scaler on the default engine, in a step."""
    scaler = syclamp.LossScaler(syclamp.Policy(init_scale=1.0))
    scaler.begin_step()
    return scaler


OPERATIONS_OF_A_SCALER = {
    "scale": lambda scaler, values, out, engine: scaler.scale(syclamp.tensors(values, engine=engine), out=syclamp.tensors(out, engine=engine)),
    "unscale": lambda scaler, values, out, engine: scaler.unscale(syclamp.tensors(values, engine=engine), out=syclamp.tensors(out, engine=engine)),
    "accumulate": lambda scaler, values, out, engine: scaler.accumulate(syclamp.tensors(values, engine=engine), syclamp.tensors(out, engine=engine)),
    "step": lambda scaler, values, out, engine: scaler.step(syclamp.SGD(out, values, lr=1.0, engine=engine)),
}


@pytest.mark.parametrize("name", OPERATIONS_OF_A_SCALER)
def test_a_deferral_ends_after_work_on_another_engine(engine, other, name):
    """The scaler's engine is deferred, but the arrays are on another engine."""
    for _ in range(4):
        values, out = numpy.full(MANY, 2, numpy.float32), numpy.zeros(MANY, numpy.float32)
        scaler = make_scaler()
        with engine.deferred():
            OPERATIONS_OF_A_SCALER[name](scaler, values, out, other)
        assert (out[::4099] == (-2 if name == "step" else 2)).all()


def test_a_wait_keeps_arrays_of_another_engine(engine, other):
    """The memory of the gradients is released when the work on the other engine is complete."""
    values, sums = numpy.full(MANY, 2, numpy.float32).view(Watched), numpy.zeros(MANY, numpy.float32)
    seen = []
    weakref.finalize(values, lambda: seen.append(sums[-1]))
    scaler = make_scaler()
    with engine.deferred():
        OPERATIONS_OF_A_SCALER["accumulate"](scaler, values, sums, other)
        del values
        engine.wait()
        assert seen == [2]


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


def test_a_capsule_that_nobody_uses_deletes_its_tensor():
    """A check of the producer itself."""
    producer = Handmade(numpy.ones(3, numpy.float32))
    producer.__dlpack__()
    assert producer.deleted == 1


@pytest.fixture(scope="module")
def gil_recorder(tmp_path_factory):
    """A deleter in C, which records whether the calling thread holds the GIL. A deleter in Python could not: ctypes takes the GIL for it."""
    folder = tmp_path_factory.mktemp("deleter")
    (folder / "deleter.c").write_text("""
struct managed { unsigned major, minor; int* context; };
int PyGILState_Check(void);
void record_gil(struct managed* tensor) { *tensor->context = PyGILState_Check(); }
""")
    library = folder / "libdeleter.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, folder / "deleter.c"], check=True)
    return ctypes.CDLL(str(library))


def test_deleters_are_called_with_the_gil(engine, gil_recorder):
    held = ctypes.c_int(-1)
    producer = Handmade(numpy.ones(3, numpy.float32), deleter=ctypes.cast(gil_recorder.record_gil, DELETER), context=ctypes.addressof(held))
    with engine.deferred():
        syclamp.scale(producer, 2.0)
        assert held.value == -1
        engine.wait()
        assert held.value == 1


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


def test_a_resized_buffer_is_refused_while_it_is_used():
    values = bytearray(16)
    prepared = syclamp.tensors(memoryview(values).cast("f"))
    with pytest.raises(BufferError):
        values.extend(b"more")
    del prepared
