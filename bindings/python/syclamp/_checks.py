# SPDX-License-Identifier: Apache-2.0
"""Checks of arguments. A message names the argument, its value and what is needed."""

import operator
from typing import Any

from ._core import InvalidArgumentError


def as_number(argument: str, value: Any) -> float:
    """The argument as a number. NumPy's numbers are numbers. So are arrays and tensors of one element."""
    try:
        if not isinstance(value, (str, bytes, bytearray)):
            return float(value)
    except (TypeError, ValueError, RuntimeError):  # RuntimeError: a tensor of several elements
        pass
    raise TypeError(f"{argument}: a number is needed, not {_described(value)}")


def as_optional_number(argument: str, value: Any) -> float | None:
    """The argument as a number, or None."""
    return None if value is None else as_number(argument, value)


def as_count(argument: str, value: Any, bits: int = 32) -> int:
    """The argument as an integer that is not negative and has at most so many bits."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{argument}: an integer is needed, not {_described(value)}") from None
    if not 0 <= number < 1 << bits:
        raise InvalidArgumentError(f"{argument} is {number}; it must be at least 0 and below 2^{bits}")
    return number


def need(argument: str, value: Any, kind: type, described: str, advice: str = "") -> Any:
    """The argument, which must be of a class."""
    if not isinstance(value, kind):
        raise TypeError(f"{argument}: {described} is needed, not {_described(value)}{advice}")
    return value


def _described(value: Any) -> str:
    """Numbers and texts as they are, anything else by its class, because its text may be long."""
    return repr(value) if isinstance(value, (str, bytes, bool, int, float, type(None))) else type(value).__name__
