# SPDX-License-Identifier: Apache-2.0
"""Operations on lists of arrays. None of them copies an array."""

from dataclasses import dataclass
from typing import Literal

from . import _core
from ._arguments import Arrays, as_pair, as_tensors
from ._checks import as_count, as_number, as_optional_number
from .engine import Engine


@dataclass(frozen=True)
class Inspection:
    """What an inspection found."""

    result: _core.InspectionResult  #: all arrays together
    tensors: list[_core.InspectionResult]  #: per array; empty with level "list"
    groups: list[_core.InspectionResult]  #: per group; empty with level "list"
    histogram: list[int]  #: number of elements per binary exponent, from -127 on; empty below level "histogram"

    @property
    def all_finite(self) -> bool:
        """True if no element is Inf or NaN."""
        return self.result.all_finite

    @property
    def amax(self) -> float:
        """The largest absolute value."""
        return self.result.amax

    def norm(self, kind: str = "l2") -> float:
        """The norm of all elements: l2, inf, or l1 with level "tensors"."""
        return self.result.norm(kind)


@dataclass(frozen=True)
class Clipped:
    """The result of clipping."""

    norm: float  #: norm before clipping
    coefficient: float  #: factor that all elements were multiplied by


def inspect(
    arrays: Arrays,
    *,
    scale: float | None = None,
    level: Literal["list", "tensors", "histogram"] = "list",
    engine: Engine | None = None,
) -> Inspection:
    """Inspects arrays for Inf, NaN, magnitudes and norms, without writing them. Waits.

    >>> import array, math, syclamp
    >>> found = syclamp.inspect([array.array("f", [3.0, -4.0]), array.array("f", [math.inf])], level="tensors")
    >>> found.all_finite, found.result.first_nonfinite_tensor, found.tensors[0].norm()
    (False, 1, 5.0)

    :param arrays: one array, a list of arrays, or a dictionary of arrays by name; of any format
    :param scale: the loss scale of the elements; elements that would overflow FP32 after unscaling count as Inf
    :param level: "tensors" adds results per array and sums of absolute values, "histogram" a histogram of exponents
    :param engine: default: an engine on the queue of the arrays if they have one, else `default_engine()`
    """
    inspector = _core.Inspector(as_tensors(arrays, "arrays", engine), level)
    inspector.run(as_optional_number("scale", scale))
    has_tensors = level != "list"
    return Inspection(
        inspector.result(),
        inspector.tensors() if has_tensors else [],
        inspector.groups() if has_tensors else [],
        inspector.histogram() if level == "histogram" else [],
    )


def unscale(arrays: Arrays, scale: float, *, out: Arrays | None = None, engine: Engine | None = None) -> Arrays:
    """Divides gradients by a loss scale, in FP32, and returns `out`.

    >>> import array, syclamp
    >>> syclamp.unscale(array.array("f", [8.0, 2.0]), 4.0)
    array('f', [2.0, 0.5])

    :param arrays: gradients of any format
    :param scale: the loss scale of the gradients
    :param out: FP32 arrays of the same sizes; default: FP32 gradients are written in place
    :param engine: default: an engine on the queue of the arrays if they have one, else `default_engine()`
    """
    gradients, target = as_pair(arrays, "arrays", out, "out", engine)
    _core.unscale(gradients, target, as_number("scale", scale))
    return arrays if out is None else out


def scale(arrays: Arrays, factor: float, *, out: Arrays | None = None, engine: Engine | None = None) -> Arrays:
    """Multiplies arrays by a factor and returns `out`, which may have another format. Default: in place.

    >>> import array, syclamp
    >>> syclamp.scale(array.array("f", [1.5]), 2.0)
    array('f', [3.0])

    :param arrays: arrays of any format
    :param factor: the factor
    :param out: arrays of the same sizes
    :param engine: default: an engine on the queue of the arrays if they have one, else `default_engine()`
    """
    source, target = as_pair(arrays, "arrays", out, "out", engine)
    _core.scale(source, target, as_number("factor", factor))
    return arrays if out is None else out


def accumulate(arrays: Arrays, sums: Arrays, scale: float, *, engine: Engine | None = None) -> Arrays:
    """Adds unscaled gradients to FP32 sums: sums += arrays / scale. Returns the sums.

    >>> import array, syclamp
    >>> syclamp.accumulate(array.array("f", [4.0]), array.array("f", [1.0]), 2.0)
    array('f', [3.0])

    :param arrays: gradients of any format
    :param sums: FP32 arrays of the same sizes
    :param scale: the loss scale of the gradients
    :param engine: default: an engine on the queue of the arrays if they have one, else `default_engine()`
    """
    gradients, target = as_pair(arrays, "arrays", sums, "sums", engine)
    _core.accumulate(gradients, target, as_number("scale", scale))
    return sums


def clear(arrays: Arrays, *, engine: Engine | None = None) -> Arrays:
    """Sets every element to zero.

    >>> import array, syclamp
    >>> syclamp.clear(array.array("f", [1.0, 2.0]))
    array('f', [0.0, 0.0])

    :param arrays: arrays of any format
    :param engine: default: an engine on the queue of the arrays if they have one, else `default_engine()`
    """
    _core.clear(as_tensors(arrays, "arrays", engine))
    return arrays


def clip(
    gradients: Arrays, max_norm: float, *, norm: Literal["l2", "l1", "inf"] = "l2", engine: Engine | None = None
) -> Clipped:
    """Reduces the norm of unscaled FP32 gradients to `max_norm`, in place. Waits.

    The norm is over all arrays together. An optimizer clips faster, inside its step: `LossScaler.step(max_norm=…)`.

    >>> import array, syclamp
    >>> gradients = array.array("f", [3.0, 4.0])
    >>> syclamp.clip(gradients, 1.0).norm
    5.0
    >>> [round(value, 3) for value in gradients]
    [0.6, 0.8]

    :param gradients: FP32 arrays
    :param max_norm: the largest norm that stays as it is
    :param norm: kind of the norm
    :param engine: default: an engine on the queue of the arrays if they have one, else `default_engine()`
    """
    return Clipped(*_core.clip(as_tensors(gradients, "gradients", engine), as_number("max_norm", max_norm), norm))


def clip_by_value(gradients: Arrays, limit: float, *, engine: Engine | None = None) -> Arrays:
    """Clamps every element of unscaled FP32 gradients to [-limit, limit], in place. NaN stays NaN.

    >>> import array, syclamp
    >>> syclamp.clip_by_value(array.array("f", [-3.0, 0.5]), 1.0)
    array('f', [-1.0, 0.5])

    :param gradients: FP32 arrays
    :param limit: the largest absolute value that stays as it is
    :param engine: default: an engine on the queue of the arrays if they have one, else `default_engine()`
    """
    _core.clip_by_value(as_tensors(gradients, "gradients", engine), as_number("limit", limit))
    return gradients


def cast(
    arrays: Arrays,
    out: Arrays,
    *,
    rounding: Literal["nearest", "stochastic"] = "nearest",
    saturate: bool = False,
    seed: int = 0,
    step: int = 0,
    count_saturated: bool = False,
    engine: Engine | None = None,
) -> int | None:
    """Casts every element of `arrays` to the format of `out`.

    >>> import array, syclamp
    >>> bits = array.array("H", [0])
    >>> syclamp.cast(array.array("f", [1e39]), syclamp.Array(bits, "bfloat16"), saturate=True, count_saturated=True)
    1
    >>> hex(bits[0])  # the largest BF16 number
    '0x7f7f'

    :param arrays: arrays of any format
    :param out: arrays of the same sizes, of any format
    :param rounding: "stochastic" rounds up or down at random; the result depends only on seed, step and position
    :param saturate: clamps values outside the range to the largest finite value; default: they become Inf
    :param seed: for stochastic rounding
    :param step: number of the training step, for stochastic rounding: other steps round otherwise
    :param count_saturated: returns the number of values outside the range, which waits
    :param engine: default: an engine on the queue of the arrays if they have one, else `default_engine()`
    """
    source, target = as_pair(arrays, "arrays", out, "out", engine)
    return _core.cast(
        source,
        target,
        rounding,
        saturate,
        as_count("seed", seed, bits=64),
        as_count("step", step, bits=64),
        count_saturated,
    )
