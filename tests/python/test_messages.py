# SPDX-License-Identifier: Apache-2.0
"""Messages for wrong arguments name the argument, its value and what is needed."""

import ctypes
import math
import subprocess
import types

import numpy
import pytest
from dlpack_producer import WORK_STREAM, exchange_type

import syclamp

pytestmark = pytest.mark.usefixtures("engine")


def ones(dtype=numpy.float32):
    return numpy.ones(2, dtype)


def optimizer():
    return syclamp.SGD(ones(), ones())


def begun(**options):
    scaler = syclamp.LossScaler(**options)
    scaler.begin_step()
    return scaler


WRONG_TYPES = {
    "scale: a number is needed, not '2'": lambda: syclamp.unscale(ones(), "2"),
    "scale: a number is needed, not None": lambda: syclamp.accumulate(ones(), ones(), None),
    "factor: a number is needed, not ndarray": lambda: syclamp.scale(ones(), ones()),
    "max_norm: a number is needed, not '1'": lambda: syclamp.clip(ones(), "1"),
    "limit: a number is needed, not list": lambda: syclamp.clip_by_value(ones(), [1]),
    "seed: an integer is needed, not 0.5": lambda: syclamp.cast(ones(), ones(), seed=0.5),
    "new_scale: a number is needed, not 'x'": lambda: syclamp.LossScaler().update("x"),
    "max_norm: a number is needed, not 'x'": lambda: syclamp.LossScaler().step(optimizer(), max_norm="x"),
    "ledger: an integer is needed, not 'x'": lambda: syclamp.LossScaler(ledger="x"),
    "trace: a string is needed, not list": lambda: syclamp.simulate([True, False]),
    "records[0]: a StepRecord is needed, not 'a'": lambda: syclamp.replay("abc"),
    "Policy: 'a' cannot be used as the field init_scale": lambda: syclamp.Policy(init_scale="a"),
    "Policy: -1 cannot be used as the field hysteresis": lambda: syclamp.Policy(hysteresis=-1),
    "engine: a syclamp.Engine is needed, not 'cpu'; make one": lambda: syclamp.inspect(ones(), engine="cpu"),
    "engine: a syclamp.Engine is needed, not 'gpu'; make one": lambda: syclamp.tensors(ones(), engine="gpu"),
    "engine: a syclamp.Engine is needed, not 7; make one": lambda: syclamp.SGD(ones(), ones(), engine=7),
    "engine: a syclamp.Engine is needed, not False; make one": lambda: syclamp.LossScaler(engine=False),
    "engine: a syclamp.Engine is needed, not 'auto'; make one": lambda: syclamp.set_default_engine("auto"),
    "optimizer: a syclamp.Optimizer is needed, not ndarray": lambda: syclamp.LossScaler().step(ones()),
    "optimizer: a syclamp.Optimizer is needed, not None": lambda: syclamp.LossScaler().step(None),
    "optimizer: a syclamp.Optimizer is needed, not 'adam'": lambda: syclamp.LossScaler().step("adam"),
    "optimizer: a syclamp.Optimizer is needed, not list": lambda: syclamp.LossScaler().step_accumulated([optimizer()]),
    "optimizer: a syclamp.Optimizer is needed, not SimpleNamespace; for PyTorch use syclamp.torch.GradScaler":
        lambda: syclamp.LossScaler().step(types.SimpleNamespace(param_groups=[])),
    "gradients: arrays are needed, one per array of weights; for parameters of PyTorch use syclamp.torch.AdamW":
        lambda: syclamp.AdamW(iter([ones()])),
    "parameter: an integer is needed, not '0'": lambda: optimizer().weights("0"),
}  # fmt: skip

WRONG_VALUES = {
    "seed is -1; it must be at least 0 and below 2^64": lambda: syclamp.cast(ones(), ones(), seed=-1),
    "seed is -2; it must be at least 0": lambda: syclamp.SGD(ones(), ones(), seed=-2),
    "ledger is -1; it must be at least 0 and below 2^32": lambda: syclamp.LossScaler(ledger=-1),
    "parameter is -1; it must be at least 0": lambda: optimizer().weights(-1),
    "group is -1; it must be at least 0": lambda: optimizer().set(-1, lr=1.0),
    'groups[0]: the key "gradients" is missing': lambda: syclamp.SGD([{"weights": ones()}]),
    'groups[1]: the key "weights" is missing': lambda: syclamp.SGD([{"weights": ones(), "gradients": ones()}, {"lr": 1.0}]),
    "moments: \"float16\" is not one of float32, bfloat16": lambda: syclamp.Adam(ones(), ones(), moments="float16"),
    "arrays[0]: the array is float16, but float32 is needed; pass out=": lambda: syclamp.unscale(ones(numpy.float16), 2.0),
    "gradients[0]: the array is float16, but float32 is needed; unscale": lambda: syclamp.clip(ones(numpy.float16), 2.0),
    'gradients["w"]: the array is float16, but float32': lambda: syclamp.clip_by_value({"w": ones(numpy.float16)}, 2.0),
    "arrays[0]: the array is None; leave it out": lambda: syclamp.inspect(None),
    "arrays[0]: the dtype int64 is not": lambda: syclamp.inspect(ones(numpy.int64)),
    "arrays[0]: the dtype bool is not": lambda: syclamp.inspect(ones(numpy.bool_)),
    "arrays[0]: the dtype uint32 is not": lambda: syclamp.inspect(ones(numpy.uint32)),
    "set scales to": lambda: begun(scales=2).step(syclamp.SGD([{"weights": ones(), "gradients": ones()} for _ in range(3)])),
    "numpy.ascontiguousarray(array) or tensor.contiguous()": lambda: syclamp.inspect(numpy.ones(4, numpy.float32)[::2]),
}


@pytest.mark.parametrize("message", WRONG_TYPES)
def test_wrong_types(message):
    with pytest.raises(TypeError) as caught:
        WRONG_TYPES[message]()
    assert message in str(caught.value) and "incompatible" not in str(caught.value)


@pytest.mark.parametrize("message", WRONG_VALUES)
def test_wrong_values(message):
    with pytest.raises(syclamp.InvalidArgumentError) as caught:
        WRONG_VALUES[message]()
    assert message in str(caught.value) and "::" not in str(caught.value)


def test_options_have_their_names_in_python():
    with pytest.raises(syclamp.MisuseError, match="make the optimizer with unscaled_shadow = true"):
        begun().unscale(syclamp.SGD(ones(numpy.float16), ones(numpy.float16)))


def test_numbers_of_numpy_are_numbers():
    values = ones()
    syclamp.scale(values, numpy.float32(2))
    syclamp.unscale(values, numpy.array(4, numpy.int64))
    assert list(values) == [0.5, 0.5]
    assert len(optimizer().weights(numpy.int64(0))) == 2


def test_the_l1_norm_needs_the_sums():
    found = syclamp.inspect(ones())
    with pytest.raises(syclamp.MisuseError, match='inspect with level="tensors"'):
        found.norm("l1")
    assert syclamp.inspect(ones(), level="tensors").norm("l1") == 2
    assert math.isnan(syclamp.inspect(numpy.full(1, math.nan, numpy.float32), level="tensors").norm("l1"))


class Unreadable:
    """An array whose library fails, with the stack of its own below the message."""

    def __init__(self, problem):
        self.problem = problem

    def __dlpack__(self, **options):
        raise self.problem


def test_errors_of_array_libraries_name_the_argument():
    with pytest.raises(syclamp.InvalidArgumentError) as caught:
        syclamp.inspect([ones(), Unreadable(RuntimeError("no strides\nframe #0"))])
    assert str(caught.value) == "arrays[1]: pass a dense array that has memory; the array's library says: no strides"
    with pytest.raises(KeyboardInterrupt):
        syclamp.inspect(Unreadable(KeyboardInterrupt()))


def test_errors_about_the_queue_name_the_argument(tmp_path):
    """A function in C tells the queue, because ctypes prints the exceptions of Python's functions."""
    (tmp_path / "queue.c").write_text("""
extern struct object* PyExc_RuntimeError;
void PyErr_SetString(struct object* type, const char* text);
int tell_queue(int device_type, int device, void** queue) {
  PyErr_SetString(PyExc_RuntimeError, "no stream on this device");
  return -1;
}
""")
    library = tmp_path / "libqueue.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, tmp_path / "queue.c"], check=True)
    tell = WORK_STREAM(("tell_queue", ctypes.PyDLL(str(library))))
    values = exchange_type(1, tell=tell)(ones(), device_type=14)  # USM memory
    with pytest.raises(syclamp.InvalidArgumentError) as caught:
        syclamp.inspect([ones(), values])
    assert str(caught.value) == (
        "arrays[1]: pass an array of a device for which its library has a queue; the array's library says: no stream on this device"
    )
