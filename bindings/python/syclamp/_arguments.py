# SPDX-License-Identifier: Apache-2.0
"""Arguments that many functions have in common."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, Union

from . import _core
from .engine import Engine, default_engine

#: An array: of NumPy, dpnp, any library with DLPack, an object with the buffer protocol, or a `syclamp.Array`.
ArrayLike: TypeAlias = Any
#: One array, a sequence of arrays, arrays by name, or the result of `tensors`.
Arrays: TypeAlias = Union[ArrayLike, Sequence[ArrayLike], Mapping[str, ArrayLike], _core.Tensors]


def as_sequence(arrays: Arrays) -> tuple[list[ArrayLike], list[str]]:
    """The arrays as a list, and their names if they have names."""
    if isinstance(arrays, Mapping):
        return list(arrays.values()), [str(name) for name in arrays]
    if isinstance(arrays, (list, tuple)):
        return list(arrays), []
    return [arrays], []


def as_tensors(arrays: Arrays, argument: str, engine: Engine | None = None) -> _core.Tensors:
    """The arrays as a list of tensors on an engine."""
    if isinstance(arrays, _core.Tensors):
        return arrays
    values, names = as_sequence(arrays)
    return _core.Tensors((engine or default_engine()).native, values, names, [], argument)


def tensors(
    arrays: Arrays, *, names: Sequence[str] = (), groups: Sequence[int] = (), engine: Engine | None = None
) -> _core.Tensors:
    """Prepares arrays for repeated use: checks them once, and keeps them alive.

    Every function that takes arrays also takes the result. Sizes, formats and addresses are fixed.

    >>> import array, syclamp
    >>> prepared = syclamp.tensors([array.array("f", [1, 2, 3])])
    >>> len(prepared), prepared.elements
    (1, 3)

    :param arrays: one array, a list of arrays, or a dictionary of arrays by name
    :param names: names for messages and ledgers; default: those of a dictionary
    :param groups: the group of each array, from 0; default: one group
    :param engine: default: `default_engine()`
    """
    values, found = as_sequence(arrays)
    return _core.Tensors((engine or default_engine()).native, values, list(names) or found, list(groups), "arrays")
