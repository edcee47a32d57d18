# SPDX-License-Identifier: Apache-2.0
"""Arrays of dpnp, in memory of a SYCL device. The package dpnp is the real one, on the same SYCL runtime."""

import contextlib
import gc
import subprocess
import sys
import weakref

import numpy
import pytest
from dlpack_producer import exchange_type

import syclamp  # first: it finds the CPU's driver for dpctl, too

dpctl = pytest.importorskip("dpctl")
dpnp = pytest.importorskip("dpnp")
ONE_API = 14  # the device type of DLPack for USM memory of SYCL


@pytest.fixture(scope="module", params=["in_order", "out_of_order"])
def queue(request):
    return dpctl.SyclQueue("cpu", property=["in_order"] if request.param == "in_order" else [])


@pytest.fixture(scope="module")
def on_queue(queue):
    return syclamp.Engine(queue=queue)


@pytest.mark.parametrize("kind", ["device", "shared", "host"])
def test_arrays_are_used_in_place(queue, on_queue, kind):
    values = dpnp.arange(70_000, dtype=dpnp.float32, usm_type=kind, sycl_queue=queue)
    imported = syclamp.Array(values)
    assert (imported.dtype, imported.shape, imported.is_host) == ("float32", (70_000,), False)
    syclamp.scale(values, 2.0, engine=on_queue)
    numpy.testing.assert_array_equal(dpnp.asnumpy(values), numpy.arange(70_000, dtype=numpy.float32) * 2)


def test_operations_do_not_wait_and_are_in_order(queue, on_queue):
    values = dpnp.ones(1 << 20, dtype=dpnp.float32, sycl_queue=queue)
    prepared = syclamp.tensors(values, engine=on_queue)
    before = on_queue.waits
    for _ in range(5):
        syclamp.scale(prepared, 2.0)  # after dpnp's addition of the round before, and before the next one
        values += 1
    assert on_queue.waits == before
    expected = 1
    for _ in range(5):
        expected = expected * 2 + 1
    assert (dpnp.asnumpy(values) == expected).all()


def test_training(queue, on_queue):
    weights = dpnp.ones(1000, dtype=dpnp.float16, sycl_queue=queue)
    gradients = dpnp.zeros(1000, dtype=dpnp.float16, sycl_queue=queue)
    optimizer = syclamp.SGD(weights, gradients, lr=0.5, engine=on_queue)
    scaler = syclamp.LossScaler(engine=on_queue)
    for value in (0.5, numpy.inf, 0.25):
        gradients[...] = value * scaler.begin_step()
        scaler.step(optimizer)
        scaler.update()
    assert scaler.get_scale() == 32768
    assert (dpnp.asnumpy(weights) == 1 - 0.25 - 0.125).all()


def test_memory_lives_until_the_work_is_done(queue, on_queue):
    out = dpnp.zeros(1 << 20, dtype=dpnp.float32, sycl_queue=queue)
    for value in range(10):
        gradients = dpnp.full(1 << 20, value, dtype=dpnp.float32, sycl_queue=queue)
        syclamp.unscale(gradients, 2.0, out=out, engine=on_queue)
        del gradients
        gc.collect()
        dpnp.full(1 << 20, 99, dtype=dpnp.float32, sycl_queue=queue)
    assert (dpnp.asnumpy(out) == 4.5).all()


def test_an_engine_outlives_its_work(queue):
    out = dpnp.zeros(1 << 22, dtype=dpnp.float32, sycl_queue=queue)
    engine = syclamp.Engine(queue=queue)
    syclamp.unscale(dpnp.full(1 << 22, 6, dtype=dpnp.float32, sycl_queue=queue), 2.0, out=out, engine=engine)
    del engine
    gc.collect()
    dpnp.full(1 << 22, 99, dtype=dpnp.float32, sycl_queue=queue)
    assert (dpnp.asnumpy(out) == 3).all()


def test_views(queue, on_queue):
    values = dpnp.arange(12, dtype=dpnp.float32, sycl_queue=queue).reshape(3, 4)
    assert syclamp.inspect(values[1:], engine=on_queue).amax == 11  # rows are contiguous, at an offset
    assert syclamp.inspect(values[:2], engine=on_queue).amax == 7
    with pytest.raises(ValueError, match="not contiguous"):
        syclamp.inspect(values[:, 1], engine=on_queue)


def queue_of_another_context(*properties):
    device = dpctl.SyclDevice("cpu")
    queue = dpctl.SyclQueue(dpctl.SyclContext([device]), device, property=list(properties))  # one device gets the usual context
    assert queue.sycl_context != dpctl.SyclQueue("cpu").sycl_context
    return queue


class Interface:
    """An array that has nothing but the interface of USM memory, with another `syclobj`."""

    def __init__(self, values, syclobj):
        self.values = values
        self.__sycl_usm_array_interface__ = {**values.__sycl_usm_array_interface__, "syclobj": syclobj}


def test_memory_of_another_context_is_refused_where_the_driver_can_tell(on_queue):
    other = queue_of_another_context()
    values = Interface(dpnp.ones(3, dtype=dpnp.float32, sycl_queue=other), other.sycl_context)  # tells no queue
    try:
        found = syclamp.inspect(values, engine=on_queue)
    except syclamp.InvalidArgumentError as problem:
        assert str(problem).startswith("arrays[0]: the array is in memory of another SYCL context")
    else:  # Intel's CPU driver accepts memory of every context
        assert found.amax == 1


ANOTHER_QUEUE = r"\[[01]\]: the array belongs to another queue than the engine's, .*syclamp.Engine\(queue=syclamp.Array\(array\).sycl_queue\)"


def test_arrays_of_another_queue_are_refused(queue, on_queue):
    """The two queues have one context, so the memory can be used. But nothing would order their commands."""
    other = dpctl.SyclQueue("cpu")
    assert other.sycl_context == queue.sycl_context
    own, values = (dpnp.ones(3, dtype=dpnp.float32, sycl_queue=each) for each in (queue, other))
    scaler, optimizer = syclamp.LossScaler(engine=on_queue), syclamp.SGD(own, own + 0, engine=on_queue)
    for call in (
        lambda: syclamp.inspect(values, engine=on_queue),
        lambda: syclamp.inspect(Interface(values, other._get_capsule()), engine=on_queue),
        lambda: syclamp.inspect(syclamp.Array(values), engine=on_queue),
        lambda: syclamp.scale(own, 2.0, out=values, engine=on_queue),
        lambda: syclamp.scale(own, 2.0, out=values),
        lambda: syclamp.SGD(own, values, engine=on_queue),
        lambda: optimizer.set_gradients([values]),
        lambda: scaler.unscale([own, values]),
    ):
        with pytest.raises(ValueError, match=ANOTHER_QUEUE):
            call()
    assert syclamp.inspect(dpnp.ones(0, dtype=dpnp.float32, sycl_queue=other), engine=on_queue).all_finite  # nothing to order


def test_arrays_choose_an_engine_on_their_queue(queue, on_queue):
    values, others = (dpnp.ones(3, dtype=dpnp.float32, sycl_queue=queue) for _ in range(2))
    chosen = syclamp.tensors(values).engine
    assert chosen.serves(queue) and chosen.serves(values) and not chosen.serves(dpctl.SyclQueue("cpu"))
    assert not chosen.serves(queue.sycl_context)
    assert syclamp.tensors([numpy.ones(3, numpy.float32), others]).engine is chosen
    assert syclamp.tensors(syclamp.Array(others)).engine is chosen
    assert syclamp.SGD(others, values).engine.native is chosen
    usual = syclamp.default_engine()
    assert syclamp.tensors(numpy.ones(3, numpy.float32)).engine is usual.native
    syclamp.set_default_engine(on_queue)
    try:
        assert syclamp.tensors(values).engine is on_queue.native  # it is on this queue, too
    finally:
        syclamp.set_default_engine(usual)


def test_operations_without_an_engine_are_in_order(queue):
    values = dpnp.ones(1 << 20, dtype=dpnp.float32, sycl_queue=queue)
    host = numpy.zeros(1 << 20, numpy.float32)
    expected = 1
    for _ in range(5):
        values += 1
        syclamp.scale(values, 2.0)
        expected = (expected + 1) * 2
        syclamp.scale(host, 1.0, out=values + 0)  # the engine is that of the second argument
    syclamp.scale(values, 1.0, out=host)
    assert (host == expected).all()


def test_prepared_arrays_bring_their_engine(queue, on_queue):
    prepared = syclamp.tensors(dpnp.ones(3, dtype=dpnp.float32, sycl_queue=queue), engine=on_queue)
    out = numpy.zeros(3, numpy.float32)
    syclamp.scale(prepared, 2.0, out=out)
    syclamp.scale(out, 2.0, out=prepared)
    syclamp.scale(prepared, 1.0, out=out)
    assert list(out) == [4] * 3


@pytest.mark.parametrize("way", ["step", "joint", "unscale"])
def test_scaler_and_optimizer_with_two_engines(queue, engine, way):
    """The scaler orders its work with the commands of the optimizer's queue, too."""
    weights, gradients, idle = (dpnp.zeros(1 << 20, dtype=dpnp.float32, sycl_queue=queue) for _ in range(3))
    optimizer, scaler = syclamp.SGD(weights, gradients, lr=1.0), syclamp.LossScaler(engine=engine)
    steps = [optimizer, syclamp.SGD(idle, idle + 0)] if way == "joint" else optimizer
    assert optimizer.engine is not engine
    for _ in range(4):
        scale = scaler.begin_step()
        gradients[...] = 0.25 * scale
        if way == "unscale":
            scaler.unscale(optimizer)
            gradients *= 2
        scaler.step(steps)
        gradients[...] = numpy.nan  # later than the step
        weights += 0.5
        scaler.update()
    assert scaler.outcome().outcome == "applied" and not scaler.ledger.skipped_steps
    assert (dpnp.asnumpy(weights) == (0 if way == "unscale" else 1)).all()


def test_operations_of_a_scaler_with_another_engine(queue, engine):
    """The engine of the arrays is not that of the scaler."""
    def full(value):
        return dpnp.full(1 << 20, value, dtype=dpnp.float32, sycl_queue=queue)

    scaler = syclamp.LossScaler(syclamp.Policy(init_scale=4.0), engine=engine)
    weights, sums, half = full(1), full(0), full(0)
    optimizer, prepared = syclamp.SGD(weights, sums, lr=1.0), syclamp.tensors(sums)
    for value in (0.25, 0.75):
        half += value
        scaler.scale(half)
        scaler.accumulate(half, prepared)
        half[...] = 0
        scaler.update()
    scaler.begin_step()
    scaler.step_accumulated(optimizer)
    weights += 1
    scaler.update()
    assert (dpnp.asnumpy(weights) == 1.5).all()  # 1 - (0.25 + 0.75) / 2 + 1
    scaler.begin_step()
    half += 8
    scaler.unscale(half)
    half += 1
    scaler.update()
    assert (dpnp.asnumpy(half) == 3).all()


@pytest.mark.parametrize("waits", [contextlib.nullcontext, syclamp.Engine.deferred], ids=["each step", "a deferral"])
def test_host_memory_of_another_context_is_complete_when_a_step_returns(engine, waits):
    other = syclamp.Engine(queue=queue_of_another_context("in_order"))
    weights, gradients = (numpy.ones(1 << 24, numpy.float32) for _ in range(2))
    optimizer, scaler = syclamp.SGD(weights, gradients, lr=0.5, engine=other), syclamp.LossScaler(engine=engine)
    for step in range(1, 7):
        gradients[...] = scaler.begin_step()
        with waits(engine):
            scaler.step(optimizer)
        assert weights[-1] == 1 - 0.5 * step
        scaler.update()


def two_queues():
    """Two queues in one context whose commands run at the same time, if the device has two parts."""
    device = dpctl.SyclDevice("cpu")
    parts = device.create_sub_devices(partition=[1, 1]) if device.max_compute_units > 1 else [device, device]
    context = dpctl.SyclContext(parts if parts[0] != parts[1] else parts[:1])
    return (dpctl.SyclQueue(context, part, property=["in_order"]) for part in parts)


class Watched(numpy.ndarray):
    """An array to which weak references are possible."""


def test_a_joint_step_keeps_the_arrays_of_every_engine():
    """The small optimizer, whose event is that of the step, is done long before the large one."""
    first, second = (syclamp.Engine(queue=queue) for queue in two_queues())
    few, weights = numpy.zeros(4, numpy.float32), numpy.zeros(1 << 24, numpy.float32)
    gradients, later = numpy.full(1 << 24, 2, numpy.float32).view(Watched), numpy.zeros(1 << 24, numpy.float32)
    large, small = syclamp.SGD(weights, gradients, lr=1.0, engine=first), syclamp.SGD(few, few + 2, lr=1.0, engine=second)
    prepared = [syclamp.tensors(numpy.zeros(4, numpy.float32), engine=engine) for engine in (first, second)]
    seen = []
    weakref.finalize(gradients, lambda: seen.append(weights[-1]))
    scaler = syclamp.LossScaler(syclamp.Policy(init_scale=1.0), engine=first)
    scaler.begin_step()
    syclamp.scale(prepared[0], 1.0), syclamp.scale(prepared[1], 1.0)  # compiles the kernels
    with first.deferred(), second.deferred():
        scaler.step([large, small])
        large.set_gradients([later])
        del gradients
        while few[0] == 0:
            pass
        for each in prepared * 50:  # each operation looks which of those before are complete
            syclamp.scale(each, 1.0)
    assert seen == [-2]


@pytest.mark.parametrize("told", ["its queue", "another queue", "none"])
def test_the_table_of_dlpack_tells_the_queue(queue, on_queue, told):
    shared = dpnp.ones(3, dtype=dpnp.float32, usm_type="shared", sycl_queue=queue)
    other = dpctl.SyclQueue("cpu")
    stream = {"its queue": queue.addressof_ref(), "another queue": other.addressof_ref(), "none": None}[told]
    values = exchange_type(1, stream)(numpy.asarray(memoryview(shared.get_array().usm_data)).view(numpy.float32), device_type=ONE_API)
    if told == "another queue":
        with pytest.raises(ValueError, match=ANOTHER_QUEUE):
            syclamp.inspect(values, engine=on_queue)
        own = syclamp.Engine(queue=syclamp.Array(values).sycl_queue)  # as the message says
        assert syclamp.inspect(values, engine=own).amax == 1
    else:
        assert syclamp.inspect(values, engine=on_queue).amax == 1


def test_an_imported_array_tells_its_queue(queue, on_queue):
    """As a capsule, which any library may use and rename. The engine on the queue is found by every capsule of it."""
    imported = syclamp.Array(dpnp.ones(3, dtype=dpnp.float32, sycl_queue=queue))
    assert syclamp.Array(numpy.ones(3, numpy.float32)).sycl_queue is None
    assert on_queue.native.serves(imported.sycl_queue) and not on_queue.native.serves(dpctl.SyclQueue("cpu"))
    assert dpctl.SyclQueue(imported.sycl_queue) == queue
    assert syclamp.tensors(imported).engine is syclamp.tensors(syclamp.Array(imported)).engine


def test_numpy_and_dpnp_in_one_list(queue, on_queue):
    host = numpy.ones(3, numpy.float32)
    syclamp.scale([host, dpnp.ones(3, dtype=dpnp.float32, sycl_queue=queue)], 3.0, engine=on_queue)
    assert list(host) == [3] * 3


HOST_TASK = """
import signal, syclamp, dpctl
queue = dpctl.SyclQueue("cpu", property=["in_order"])
engine = syclamp.Engine(queue=queue)
queue._submit_keep_args_alive(["an object"], [])  # a task that takes the GIL to drop a reference
signal.alarm(30)  # ends a process in which wait and task wait for each other
engine.wait()
print("complete")
"""


def test_a_wait_releases_the_gil():
    """The wait is for a task that needs the GIL. Neither of them would ever end if the waiting thread held it."""
    process = subprocess.run([sys.executable, "-c", HOST_TASK], capture_output=True, text=True)
    assert (process.returncode, process.stdout) == (0, "complete\n"), process.stderr
