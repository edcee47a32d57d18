# SPDX-License-Identifier: Apache-2.0
"""Engines and devices."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from . import _core
from ._checks import need


@dataclass(frozen=True)
class Device:
    """A SYCL device of this machine."""

    name: str  #: name of the device
    vendor: str  #: maker of the device
    driver: str  #: version of the driver
    platform: str  #: the runtime behind SYCL
    kind: str  #: cpu, gpu or accelerator
    compute_units: int  #: number of compute units
    memory_bytes: int  #: size of its memory
    has_fp64: bool  #: True if it supports FP64, which syclamp does not need
    has_fp16: bool  #: True if it supports FP16 arithmetic
    reads_host_memory: bool  #: True if it can use NumPy arrays


def devices() -> list[Device]:
    """All SYCL devices, in the order that `Engine` counts them.

    >>> import syclamp
    >>> {device.kind for device in syclamp.devices()} <= {"cpu", "gpu", "accelerator"}
    True
    """
    return [Device(**fields) for fields in _core.devices()]


def system_report() -> dict[str, Any]:
    """Describes this build and all devices, and runs the arithmetic self-test. Compiles kernels.

    >>> import syclamp
    >>> report = syclamp.system_report()
    >>> report["version"] == syclamp.__version__, len(report["devices"]) == len(syclamp.devices())
    (True, True)
    """
    return _core.system_report()


class Engine:
    """A device, its queue and the kernels for it.

    Without arguments, it is on the best available device: GPUs come before accelerators, and those before CPUs.

    An operation that writes host memory, such as a NumPy array, is complete when its call returns. To submit many
    operations and wait once, use `deferred`. Operations on memory of a device do not wait.

    >>> import syclamp
    >>> engine = syclamp.Engine("cpu")
    >>> engine.profile
    'cpu'

    :param device: gpu, cpu, accelerator, or an index of `devices()`
    :param queue: a `dpctl.SyclQueue` to submit all operations to, for arrays of dpnp
    :param profile: name of the tuning profile; default: the one that fits the device
    """

    def __init__(self, device: str | int | None = None, *, queue: Any = None, profile: str = "") -> None:
        name = None if device is None else str(device)
        self.native = _core.Engine(name, queue=queue, profile=profile)

    @property
    def device_name(self) -> str:
        """The name of the device."""
        return self.native.device_name

    @property
    def profile(self) -> str:
        """The name of the tuning profile."""
        return self.native.profile

    @property
    def reads_host_memory(self) -> bool:
        """True if the device can use NumPy arrays."""
        return self.native.reads_host_memory

    @property
    def kernels_submitted(self) -> int:
        """Number of kernels submitted so far."""
        return self.native.kernels_submitted

    @property
    def waits(self) -> int:
        """Number of times that the host has waited."""
        return self.native.waits

    def wait(self) -> None:
        """Waits until all submitted work is complete. Other threads of Python run meanwhile."""
        self.native.wait()

    def compile_all(self) -> None:
        """Compiles all kernels or loads them from the cache, so that no later call compiles."""
        self.native.compile_all()

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Operations inside the `with` block do not wait. The end of the block waits once.

        Do not read or change host arrays that an operation uses before the end of the block.

        >>> import array, syclamp
        >>> engine = syclamp.Engine("cpu")
        >>> gradients = array.array("f", [8.0])
        >>> with engine.deferred():
        ...     _ = syclamp.unscale(gradients, 2.0, engine=engine)
        ...     _ = syclamp.unscale(gradients, 2.0, engine=engine)
        >>> gradients[0]
        2.0
        """
        self.native.defer()
        try:
            yield
        finally:
            self.native.end_deferral()

    def __repr__(self) -> str:
        return f"Engine({self.device_name!r}, profile={self.profile!r})"


_default: Engine | None = None


def default_engine() -> Engine:
    """The engine that functions use if none is given. It is made at the first call.

    Operations on arrays that have a SYCL queue, such as those of dpnp, use an engine on that queue instead.

    >>> import syclamp
    >>> syclamp.default_engine() is syclamp.default_engine()
    True
    """
    global _default
    if _default is None:
        _default = Engine()
    return _default


def set_default_engine(engine: Engine) -> None:
    """Sets the engine that functions use if none is given.

    >>> import syclamp
    >>> usual, other = syclamp.default_engine(), syclamp.Engine("cpu")
    >>> syclamp.set_default_engine(other)
    >>> syclamp.LossScaler().engine is other
    True
    >>> syclamp.set_default_engine(usual)
    """
    global _default
    _default = chosen_engine(engine)


_engines_on_queues: tuple[Engine, ...] = ()  # the last used one first


def _engine_on(queue: Any) -> Engine:
    """An engine on a queue, the same one for every call with the same queue. A queue may have several Python objects."""
    global _engines_on_queues
    known = next((engine for engine in _engines_on_queues if engine.native.serves(queue)), None) or Engine(queue=queue)
    _engines_on_queues = (known, *(engine for engine in _engines_on_queues if engine is not known))[:8]
    return known


def engine_for(arrays: Iterable[Any], usual: Engine | None = None) -> Engine:
    """An engine on the queue of the arrays if they have a queue, else the usual one.

    :param usual: default: the default engine
    """
    usual = usual or _default
    queue = next((queue for array in arrays if (queue := getattr(array, "sycl_queue", None)) is not None), None)
    if queue is None or (usual is not None and usual.native.serves(queue)):
        return usual or default_engine()
    return _engine_on(queue)


def chosen_engine(engine: Engine | None, arrays: Iterable[Any] = ()) -> Engine:
    """The engine of an argument `engine`; None: the one for the arrays."""
    if engine is None:
        return engine_for(arrays)
    chosen: Engine = need("engine", engine, Engine, "a syclamp.Engine", '; make one, for example syclamp.Engine("cpu")')
    return chosen
