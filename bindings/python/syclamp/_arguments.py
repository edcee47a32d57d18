# SPDX-License-Identifier: Apache-2.0
"""Arguments that many functions have in common."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, Union

from . import _core
from ._checks import as_count
from .engine import Engine, chosen_engine, engine_for

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


def as_pair(
    arrays: Arrays,
    argument: str,
    partners: Arrays | None,
    partner_argument: str,
    engine: Engine | None = None,
    usual: Engine | None = None,
) -> tuple[_core.Tensors, _core.Tensors]:
    """Two lists of tensors on one engine, the second in the order of the first. Without partners, both are the arrays.

    :param usual: the engine of arrays without a queue, if `engine` is None
    """
    partners = arrays if partners is None else in_order(partners, keys_of(arrays), partner_argument, argument)
    prepared = [each.engine for each in (arrays, partners) if isinstance(each, _core.Tensors)]
    values = as_sequence(arrays)[0] + as_sequence(partners)[0]
    native = prepared[0] if prepared else (engine_for(values, usual) if usual else chosen_engine(engine, values)).native
    first = _on_engine(arrays, argument, native)
    return first, first if partners is arrays else _on_engine(partners, partner_argument, native)


def as_tensors(arrays: Arrays, argument: str, engine: Engine | None = None) -> _core.Tensors:
    """The arrays as a list of tensors on an engine."""
    if isinstance(arrays, _core.Tensors):
        return arrays
    return _on_engine(arrays, argument, chosen_engine(engine, as_sequence(arrays)[0]).native)


def _on_engine(arrays: Arrays, argument: str, native: _core.Engine) -> _core.Tensors:
    if isinstance(arrays, _core.Tensors):
        return arrays
    values, names = as_sequence(arrays)
    return _core.Tensors(native, values, names, [], argument)


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
    :param engine: default: an engine on the queue of the arrays if they have one, else `default_engine()`
    """
    values, found = as_sequence(arrays)
    numbers = [as_count(f"groups[{index}]", group) for index, group in enumerate(groups)]
    native = chosen_engine(engine, values).native
    return _core.Tensors(native, values, [str(name) for name in names] or found, numbers, "arrays")
