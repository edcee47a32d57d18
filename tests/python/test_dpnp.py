# SPDX-License-Identifier: Apache-2.0
"""Arrays of dpnp, in memory of a SYCL device. The package dpnp is the real one, on the same SYCL runtime."""

import gc
import subprocess
import sys

import numpy
import pytest

import syclamp  # first: it finds the CPU's driver for dpctl, too

dpctl = pytest.importorskip("dpctl")
dpnp = pytest.importorskip("dpnp")


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


def test_memory_of_another_context_is_refused_where_the_driver_can_tell(on_queue):
    other = dpctl.SyclQueue(dpctl.SyclContext("cpu"), dpctl.SyclDevice("cpu"))
    values = dpnp.ones(3, dtype=dpnp.float32, sycl_queue=other)
    try:
        found = syclamp.inspect(values, engine=on_queue)
    except syclamp.InvalidArgumentError as problem:
        assert str(problem).startswith("arrays[0]: the array is in memory of another SYCL context")
    else:  # Intel's CPU driver accepts memory of every context
        assert found.amax == 1


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
