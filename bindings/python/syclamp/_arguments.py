# SPDX-License-Identifier: Apache-2.0
"""Arguments that many functions have in common."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, Union

from . import _core
from ._checks import as_count
from .engine import Engine, chosen_engine

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


def keys_of(arrays: Arrays) -> list[str]:
    """The names of arrays that have names; otherwise nothing."""
    if isinstance(arrays, Mapping):
        return [str(name) for name in arrays]
    return arrays.names if isinstance(arrays, _core.Tensors) else []


def in_order(arrays: Arrays, keys: Sequence[str], argument: str, partner: str) -> Arrays:
    """The arrays in the order of `keys`, the names of the argument `partner`. Arrays without names keep their order.

    Two dictionaries are paired by their keys, never by their positions.
    """
    own = keys_of(arrays)
    if not own or not keys or own == list(keys):
        return arrays
    if not isinstance(arrays, Mapping):
        if set(own) == set(keys):
            raise _core.InvalidArgumentError(
                f"{argument}: the arrays were prepared in the order {_listed(own)}, but {partner} has the order "
                f"{_listed(keys)}; prepare both in the same order"
            )
        return arrays  # names of prepared arrays may be mere labels
    if len(set(keys)) != len(keys):
        raise _core.InvalidArgumentError(f"{argument}: a name occurs twice in {partner}, so pass a list instead of a dictionary")
    missing, unknown = sorted(set(keys) - set(own)), sorted(set(own) - set(keys))
    if missing or unknown:
        found = [(missing, "missing"), (unknown, f"not in {partner}")]
        problems = " and ".join(f"{_listed(names)} {problem}" for names, problem in found if names)
        raise _core.InvalidArgumentError(f"{argument}: {problems}; use the keys of {partner}")
    by_name = dict(zip(own, arrays.values(), strict=True))
    return {key: by_name[key] for key in keys}


def _listed(keys: Sequence[str]) -> str:
    return ", ".join(f'"{key}"' for key in keys)


def as_partner(
    arrays: Arrays, argument: str, partner: Arrays, partner_argument: str, engine: Engine | None
) -> _core.Tensors:
    """The arrays as a list of tensors, in the order of the arrays that they are paired with."""
    return as_tensors(in_order(arrays, keys_of(partner), argument, partner_argument), argument, engine)


def as_tensors(arrays: Arrays, argument: str, engine: Engine | None = None) -> _core.Tensors:
    """The arrays as a list of tensors on an engine."""
    if isinstance(arrays, _core.Tensors):
        return arrays
    values, names = as_sequence(arrays)
    return _core.Tensors(chosen_engine(engine).native, values, names, [], argument)


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
    numbers = [as_count(f"groups[{index}]", group) for index, group in enumerate(groups)]
    return _core.Tensors(chosen_engine(engine).native, values, [str(name) for name in names] or found, numbers, "arrays")
